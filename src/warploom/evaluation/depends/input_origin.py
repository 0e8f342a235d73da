"""Whether what a rank knows of another's inputs has come from there: some ranks' are altered.

A candidate may draw all ranks' inputs on each of them, compute everything there, and send a little
for show. No alteration of what is sent tells that from work that is well shared out, as partial
sums are: both send less than the reference. So the inputs themselves are altered, on their way from
the host to the devices of some ranks only (behavior/inputs.h). The trusted program's run chooses
among the words that it uploads; the candidate's run alters the same ones. However a program works,
its results must be those of the trusted program with the altered inputs. On the other ranks, that
takes their data.
"""

import secrets
from collections.abc import Iterator, Mapping

from warploom.core.records import Finding, RunSpec, Severity, Timing
from warploom.emulator import EmulatorRun, Spoil
from warploom.evaluation.depends.dependence import KIND
from warploom.evaluation.depends.spoiler import Masks, Spoiler, wrong_by_rank

_WORDS = 768  # about as many of what is uploaded are altered
_LEAST = 4  # at most one of so many
_MOST_WRONG = 0.1  # elements of a rank, as a share of those that change in the reference


def origin_findings(
    spoiler: Spoiler, outcomes: Mapping[RunSpec, EmulatorRun], seed: int
) -> Iterator[Finding]:
    """Alter inputs of half of the ranks, and compare all ranks' outputs with the reference's."""
    specs = [RunSpec(seed, timing) for timing in (Timing.EAGER, Timing.MODELLED)]
    specs = [spec for spec in specs if spec in outcomes]
    if not specs:
        return
    spec = specs[-1]  # the clock that is scored, where there is one
    what = [f"{spoiler.layout()}:none"]
    for group in _groups(spoiler.reference.workload.shape.ranks):
        devices = ",".join(map(str, sorted(group)))
        how = Spoil(inputs=f"{devices}/{max(_LEAST, spoiler.words_uploaded(seed) // _WORDS)}")
        [expected] = spoiler.run_reference([spec], what, how)
        base = spoiler.reference.samples[seed]
        marks = spoiler.changed(base, expected, spoiler.reference.facts)
        if expected.state == "finished" and _reach_others(marks, group):
            break
    else:
        return
    how = Spoil(inputs=f"{devices}={','.join(expected.inputs)}")
    [run] = spoiler.run(spoiler.candidate, [spec], what, how)
    values = spoiler.samples(expected, spoiler.reference.facts)
    wrong = spoiler.changed(values, run, spoiler.candidate.facts)
    yield from _against(spec, devices, marks, wrong)


def _groups(ranks: int) -> Iterator[set[int]]:
    """Return groups of about half of the ranks; for any two there is one with the first alone."""
    numbers = list(range(ranks))
    secrets.SystemRandom().shuffle(numbers)
    for bit in range((ranks - 1).bit_length()):
        half = {rank for rank, number in enumerate(numbers) if number >> bit & 1}
        yield half
        yield set(range(ranks)) - half


def _reach_others(marks: Masks, group: set[int]) -> bool:
    return any(mask.any() for key, mask in marks.items() if key.rank not in group)


def _against(spec: RunSpec, devices: str, marks: Masks, wrong: Masks) -> Iterator[Finding]:
    for rank, changed, off in wrong_by_rank(marks, wrong):
        if not changed or off <= _MOST_WRONG * changed:
            continue
        yield Finding(
            kind=KIND,
            severity=Severity.ERROR,
            message=f"where inputs of other values are uploaded on rank {devices}, {changed} "
            f"elements of the outputs of rank {rank} change in the reference, and {off} are not "
            "as they are there",
            hint="each rank must upload its own inputs as they are, and get what it needs of the "
            "others' from these ranks",
            rank=rank,
            seed=spec.seed,
            timing=spec.timing,
        )
