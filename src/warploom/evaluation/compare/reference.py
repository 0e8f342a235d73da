"""Runs the trusted program once per input seed: what it reads back says what is right.

Nothing of it is kept on disk, where a program could find the answers or leave others.
"""

import difflib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from warploom.backends.emulated import findings_of, run_options
from warploom.core.errors import BadInputError, UnsupportedError
from warploom.core.records import RunSpec, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, build
from warploom.evaluation.compare.outputs import Key, Sample, label, select
from warploom.evaluation.compare.unwritten import with_unwritten
from warploom.evaluation.runs.emulated import run_all
from warploom.evaluation.runs.other_versions import add_build_hint
from warploom.evaluation.runs.plan import ProgressCallback, counter
from warploom.evaluation.sites import Site
from warploom.evaluation.survey import Survey, as_built, survey
from warploom.evaluation.transform_rule import Traffic
from warploom.workload.workload import Workload

Samples = Mapping[Key, Sample]


@dataclass(frozen=True, slots=True)
class Reference:
    """What the trusted program says is right: its read-backs for each input seed.

    `traffic` is how its data went from rank to rank, for each seed; `stats` are all counters.
    """

    workload: Workload
    facts: Survey
    build: EmulatorBuild
    samples: Mapping[int, Samples]
    traffic: Mapping[int, Traffic]
    stats: Mapping[int, Mapping[str, float]]
    printed: Mapping[int, str] = field(default_factory=dict[int, str])


def reference_for(
    workload: Workload,
    seeds: Sequence[int],
    *,
    nccl: str | None = None,
    jobs: int | None = None,
    on_progress: ProgressCallback,
) -> Reference:
    """Return the trusted program's outputs for `seeds`, by running it.

    Each run is on an eager network without the race check: the reference is trusted, and what it
    computes does not depend on the network. `Standard` looks whether that holds.

    Raises:
        BadInputError: the trusted program itself fails, or reads nothing back.
    """
    facts = survey(workload, nccl=nccl)
    try:
        program = build(replace(workload.build_spec(facts.nccl), timed=True))
    except (BadInputError, UnsupportedError) as error:
        add_build_hint(error, workload, facts.nccl)
        raise
    facts = as_built(facts, program)
    found = _run(program, workload, facts, seeds, jobs, on_progress)
    samples = {seed: select(kept.samples, workload) for seed, kept in found.items()}
    traffic = {seed: kept.traffic for seed, kept in found.items()}
    _require_apart(workload, facts.sites)
    _require_known(workload, {s.key.buffer for kept in found.values() for s in kept.samples})
    _require_outputs(workload, samples)
    stats = {seed: kept.stats for seed, kept in found.items()}
    printed = {seed: kept.printed for seed, kept in found.items()}
    return Reference(workload, facts, program, samples, traffic, stats, printed)


@dataclass(frozen=True, slots=True)
class _Kept:
    """One run: its read-backs, its traffic, its counters and what it printed."""

    samples: tuple[Sample, ...]
    traffic: Traffic
    stats: Mapping[str, float]
    printed: str


def _run(
    program: EmulatorBuild,
    workload: Workload,
    facts: Survey,
    seeds: Sequence[int],
    jobs: int | None,
    on_progress: ProgressCallback,
) -> dict[int, _Kept]:
    options = [
        run_options(workload, RunSpec(seed, Timing.EAGER), facts.processes, race=False)
        for seed in seeds
    ]
    finished = counter("reference", len(options), on_progress)
    outcomes = run_all(program, options, jobs=jobs, on_done=finished)
    for seed, outcome in zip(seeds, outcomes, strict=True):
        _require_success(workload, outcome, seed)
    samples = [label(outcome.readbacks, facts.sites) for outcome in outcomes]
    samples = with_unwritten(program, outcomes, samples, jobs=jobs, on_progress=on_progress)
    return {
        seed: _Kept(found, Traffic.of(outcome.stats), outcome.stats, outcome.stdout)
        for seed, outcome, found in zip(seeds, outcomes, samples, strict=True)
    }


def _require_success(workload: Workload, outcome: EmulatorRun, seed: int) -> None:
    if outcome.verdict == Verdict.OK:
        return
    first = next(iter(findings_of(outcome)), None)
    why = first.message if first else f"exit codes {dict(outcome.exit_codes)}"
    raise BadInputError(
        f"the trusted program must succeed, but with seed {seed} it ended as "
        f"{outcome.verdict} ({outcome.state}): {why}",
        file=str(first.file if first and first.file else workload.program),
        line=first.line if first else None,
        hint="its own check may know the inputs: let it depend on what was uploaded, or leave "
        "vary_inputs out"
        if workload.vary_inputs
        else f"look at it with: warploom check {workload.program}",
    )


def _require_apart(workload: Workload, sites: Sequence[Site]) -> None:
    """Raise BadInputError where a copy that is left out shares its line with another one.

    Nobody could tell which of the two a run has made.
    """
    for site in sites:
        if site.buffer not in workload.leave_out:
            continue
        for other in sites:
            apart = other.last < site.first or site.last < other.first
            if other.file != site.file or apart or other.shared != site.shared:
                continue
            if other.buffer not in workload.leave_out:
                raise BadInputError(
                    f"{site.buffer!r} is left out, but {other.buffer!r} is read back on the same "
                    "line: nobody could tell the two apart",
                    file=site.file,
                    line=site.first,
                    hint="put each copy on a line of its own",
                )


def _require_known(workload: Workload, read: Set[str]) -> None:
    """Raise BadInputError where something is to be left out that nobody reads back."""
    for name in workload.leave_out:
        if name in read:
            continue
        near = difflib.get_close_matches(name, read, n=1, cutoff=0.0)
        raise BadInputError(
            f"what is left out must be read back by the trusted program, but {name!r} never was",
            file=str(workload.program),
            hint=f"did you mean {near[0]!r}? It reads back {', '.join(sorted(map(repr, read)))}"
            if near
            else "it reads nothing back",
        )


def _require_outputs(workload: Workload, samples: Mapping[int, Samples]) -> None:
    name = str(workload.program)
    if not any(samples.values()):
        raise BadInputError(
            "the trusted program must copy its results from device to host, but no such copy was "
            "made"
            + (" of the workload's outputs" if workload.outputs else "")
            + (" but of what is left out" if workload.leave_out else ""),
            file=name,
            hint="without a read-back there is nothing to compare a candidate with",
        )
    read = {key.buffer for found in samples.values() for key in found}
    for output in workload.outputs:
        if output.buffer not in read:
            raise BadInputError(
                f"every output must be read back, but {output.buffer!r} never was",
                file=name,
                hint="outputs.buffer is the device expression as written in the copy",
            )
