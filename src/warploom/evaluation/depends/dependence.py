"""Whether a candidate's outputs depend on communication as the reference's do: spoil runs.

Equal results do not show it: the host could compute them, and what kernels send could be thrown
away. So both programs run again while what moves between ranks is altered on its way. A secret key
and an element's own value choose what it becomes (behavior/spoil.h), whatever way it takes: two
programs that move the same data then return the same altered outputs ("values"). Where they add up
in another order, sums that cross the network differ; then the elements that change must be the same
("elements"), and each rank's data must reach whom it reaches in the reference.
"""

import copy
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, Spoil
from warploom.evaluation.compare.outputs import Key
from warploom.evaluation.depends.spoiler import SECONDS, Mask, Masks, Samples, Spoiler, any_marked
from warploom.evaluation.transform_rule import Traffic

KIND = "communication_unused"
_ENOUGH = 0.75  # of the elements that should be the same, or change
_MOST_EXTRA = 0.1  # of the elements that should not change
# Of a rank's elements: where fewer stay as they were, it is by chance, as alterations add up to
# nothing in a sum. Another order of the sum then shows other such elements.
_BY_CHANCE = 0.1
_SOURCES = 2  # ranks whose data is altered alone
_OTHER_KEYS = 4  # further alterations where the first may have changed nothing by chance
_SECONDS_IN_VAIN = 2.0  # of altered runs where one without an end proves nothing
_ROUGH = ("words", "bytes")  # layouts by which counts and places change as well


@dataclass(frozen=True, slots=True)
class Dependence:
    """What spoil runs showed: `form` is "values", "elements" or "" where nothing could be shown."""

    form: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Alteration:
    """What elements are taken for, and whether a program should end where they are altered."""

    layout: str
    how: Spoil
    gentle: bool


def judge_dependence(
    spoiler: Spoiler, outcomes: Mapping[RunSpec, EmulatorRun], seed: int
) -> Dependence:
    """Compare how outputs change when what ranks send each other is altered.

    `outcomes` are the candidate's verified runs. Those of `seed` on an eager network and in
    modelled time are repeated: a program could look at the clock to see which of them it is in.
    """
    reference = spoiler.reference
    specs = [
        spec
        for spec in (RunSpec(seed, Timing.EAGER), RunSpec(seed, Timing.MODELLED))
        if spec in outcomes
    ]
    if not specs or not _moves(reference.traffic[seed]):
        return _nothing_to_show("nothing moves between ranks in the reference")
    shown = _altered(spoiler, specs, outcomes)
    if isinstance(shown, str):
        return _nothing_to_show(shown)
    alteration, expected, marks = shown
    what = [f"{alteration.layout}:all"]
    runs = spoiler.run(spoiler.candidate, specs, what, alteration.how)
    values = spoiler.samples(expected, reference.facts)
    forms: list[str] = []
    findings: list[Finding] = []
    for spec, run in zip(specs, runs, strict=True):
        if alteration.gentle and run.state != "finished":
            findings.append(_no_end(spec, run))
            continue
        off = spoiler.changed(values, run, spoiler.candidate.facts)
        same = all(_share(off, marks, rank) <= 1 - _ENOUGH for rank in _ranks(marks))
        forms.append("values" if same and run.state == "finished" else "elements")
        if forms[-1] == "elements":
            findings += _elements(spoiler, spec, outcomes[spec], alteration)
    form = "" if findings else "elements" if "elements" in forms else "values"
    return Dependence(form, tuple(findings))


def _altered(
    spoiler: Spoiler, specs: Sequence[RunSpec], outcomes: Mapping[RunSpec, EmulatorRun]
) -> "tuple[Alteration, EmulatorRun, Masks] | str":
    """Return an alteration that shows in the reference, its run and what changes; or why none."""
    reference, seed = spoiler.reference, specs[0].seed
    why = "the reference's outputs do not depend on communication"
    for how in _moments(spoiler, specs, outcomes):
        for layout in spoiler.layouts():
            [expected] = spoiler.run_reference(specs[:1], [f"{layout}:all"], how)
            marks = spoiler.changed(reference.samples[seed], expected, reference.facts)
            ends = expected.state == "finished"
            if any_marked(marks):
                gentle = ends and layout not in _ROUGH
                return Alteration(layout, how, gentle), expected, marks
            if not ends:
                why = "the reference does not end when its communication is altered"
    return why


def _moments(
    spoiler: Spoiler, specs: Sequence[RunSpec], outcomes: Mapping[RunSpec, EmulatorRun]
) -> list[Spoil]:
    """Return from when on data is altered: from the part that the program times, or always.

    What is exchanged before it, such as copies of all ranks' inputs, is then as it should be: the
    results must depend on what is exchanged in that part.
    """
    stats = [spoiler.reference.stats[spec.seed] for spec in specs[:1]]
    stats += [outcomes[spec].stats for spec in specs]
    timed = all(
        one.get("records", 0) > 1 and (spoiler.meet or one.get("idle_at_0", 0)) for one in stats
    )
    return [Spoil(since=1), Spoil()] if timed else [Spoil()]


def _moves(traffic: Traffic) -> bool:
    return bool(traffic.put or traffic.peer or traffic.host or traffic.copied or traffic.mpi)


def _nothing_to_show(why: str) -> Dependence:
    warning = Finding(
        kind="communication_not_tested",
        severity=Severity.WARNING,
        message=f"{why}: whether the candidate communicates cannot be seen in its results",
    )
    return Dependence("", (warning,))


def _elements(
    spoiler: Spoiler, spec: RunSpec, outcome: EmulatorRun, alteration: Alteration
) -> list[Finding]:
    """Alter all that ranks send, each time and in any case, and what single ranks send.

    What a rank itself makes of its own data is left out: its own part takes no way at all in one
    program, and comes back to it in another.
    """
    layout, how, gentle = alteration.layout, alteration.how, alteration.gentle
    ranks = range(spoiler.reference.workload.shape.ranks)
    chosen = secrets.SystemRandom().sample(ranks, min(_SOURCES, len(ranks)))
    what = [f"{layout}+:all", *(f"{layout}+:{source}" for source in chosen)]
    expected = spoiler.run_reference([spec], what, how)
    least = SECONDS if gentle else _SECONDS_IN_VAIN
    runs = spoiler.run(spoiler.candidate, [spec], what, how, least)
    base, facts = spoiler.reference.samples[spec.seed], spoiler.candidate.facts
    own = spoiler.samples(outcome, facts)
    found: list[Finding] = []
    for source, wanted, run in zip([None, *chosen], expected, runs, strict=True):
        if wanted.state != "finished":
            continue
        if run.state != "finished":
            found += [_no_end(spec, run)] if gentle else []
            continue
        marks = spoiler.changed(base, wanted, spoiler.reference.facts)
        changed = spoiler.changed(own, run, facts)
        others = {key: mask for key, mask in marks.items() if key.rank != source}
        blamed = list(_against(spec, others, changed, source))
        if source is None and not blamed:
            same = spoiler.untouched(base, wanted, spoiler.reference.facts)
            blamed = list(_beyond(spec, same, changed))
        if source is None:
            ranks = [rank for rank in _ranks(marks) if any(one.rank == rank for one in blamed)]
            blamed = [f for rank in ranks for f in _by_others(spoiler, spec, alteration, own, rank)]
        found += blamed
    return found


def _by_others(
    spoiler: Spoiler, spec: RunSpec, alteration: Alteration, own: Samples, rank: int
) -> Iterator[Finding]:
    """Alter what all others send, and look at one rank that seems not to use it, or to use more.

    NCCL's reductions alter a rank's own part as well, which kernels take as it is: of a least or
    greatest value, other elements change then, and other alterations cancel out in a sum.
    """
    others = ",".join(str(r) for r in range(spoiler.reference.workload.shape.ranks) if r != rank)
    what, how = [f"{alteration.layout}+:{others}"], alteration.how
    [wanted] = spoiler.run_reference([spec], what, how)
    [run] = spoiler.run(spoiler.candidate, [spec], what, how)
    if wanted.state != "finished":
        return
    if run.state != "finished":
        yield _no_end(spec, run)
        return
    base, facts = spoiler.reference.samples[spec.seed], spoiler.reference.facts
    marks = {k: m for k, m in spoiler.changed(base, wanted, facts).items() if k.rank == rank}
    changed = spoiler.changed(own, run, spoiler.candidate.facts)
    yield from _against(spec, marks, changed)
    same = {k: m for k, m in spoiler.untouched(base, wanted, facts).items() if k.rank == rank}
    if any(_beyond(spec, same, changed)):
        yield from _beyond(spec, _independent(spoiler, spec, alteration, same), changed)


def _independent(
    spoiler: Spoiler, spec: RunSpec, alteration: Alteration, same: dict[Key, Mask]
) -> dict[Key, Mask]:
    """Return the elements of `same` that stay as they are whatever all ranks send.

    Where data has few values, many alterations cancel out in a sum: others with other keys.
    """
    for _ in range(_OTHER_KEYS):
        other = copy.copy(spoiler)
        other.key = secrets.randbits(62)
        [run] = other.run_reference([spec], [f"{alteration.layout}+:all"], alteration.how)
        if run.state == "finished":
            base, facts = spoiler.reference.samples[spec.seed], spoiler.reference.facts
            still = spoiler.untouched(base, run, facts)
            same = {key: mask & still[key] for key, mask in same.items() if key in still}
    return same


def _no_end(spec: RunSpec, run: EmulatorRun) -> Finding:
    return _finding(spec, None, f"the run does not end ({run.state}), and the reference's does")


def _ranks(marks: Mapping[Key, Mask]) -> list[int]:
    return sorted({key.rank for key in marks})


def _share(of: Mapping[Key, Mask], within: Mapping[Key, Mask], rank: int) -> float:
    """Return which share of the elements marked in `within` is marked in `of`, on one rank."""
    total = hit = 0
    for key, mask in within.items():
        if key.rank != rank:
            continue
        total += int(mask.sum())
        other = of.get(key)
        # What is not there, or has another size, is not as it should be.
        hit += int((mask & other).sum()) if other is not None and other.shape == mask.shape else (
            int(mask.sum()) if other is None else 0
        )  # fmt: skip
    return hit / total if total else 0.0


def _against(
    spec: RunSpec,
    marks: Mapping[Key, Mask],
    changed: Mapping[Key, Mask],
    source: int | None = None,
) -> Iterator[Finding]:
    for rank in _ranks(marks):
        wanted = sum(int(mask.sum()) for key, mask in marks.items() if key.rank == rank)
        whose = "other ranks" if source is None else f"rank {source}"
        share = _share(changed, marks, rank)
        if wanted and share < _ENOUGH:
            why = (
                f"{wanted} elements of its outputs depend on what {whose} send in the reference, "
                f"and {share:.0%} of them here"
            )
            yield _finding(spec, rank, why)


def _beyond(
    spec: RunSpec, untouched: Mapping[Key, Mask], changed: Mapping[Key, Mask]
) -> Iterator[Finding]:
    for rank in _ranks(untouched):
        masks = [mask for key, mask in untouched.items() if key.rank == rank]
        if sum(int(mask.sum()) for mask in masks) <= _BY_CHANCE * sum(mask.size for mask in masks):
            continue
        extra = _share(changed, untouched, rank)
        if extra > _MOST_EXTRA:
            why = f"{extra:.0%} of what depends on no communication in the reference does here"
            yield _finding(spec, rank, why)


def _finding(spec: RunSpec, rank: int | None, why: str) -> Finding:
    return Finding(
        kind=KIND,
        severity=Severity.ERROR,
        message="altering what moves between ranks does not change the outputs as it does in the "
        f"reference: {why}",
        hint="results must be computed from the data that the ranks send each other",
        rank=rank,
        seed=spec.seed,
        timing=spec.timing,
    )
