"""Level 2: runs a candidate under many schedules and compares what it read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.core.records import Finding, RunSpec, Severity, Verdict
from warploom.emulator import FAILURE_KINDS, EmulatorBuild, EmulatorRun, Topology
from warploom.evaluate.differential import Difference, compare, weak_outputs
from warploom.evaluate.evaluation import OutputComparison, summarize
from warploom.evaluate.fresh_memory import judge_fresh_reads
from warploom.evaluate.outputs import Key, Sample, label, output_of, select
from warploom.evaluate.plan import ProgressCallback
from warploom.evaluate.reference import Reference, recheck
from warploom.evaluate.runs import ended, findings_of, run_options, run_plan
from warploom.evaluate.stale_reads import judge_stale_reads
from warploom.evaluate.survey import Survey
from warploom.evaluate.workload import Output

_SHOWN = 8  # differences that are told one by one


@dataclass(frozen=True, slots=True)
class Verification:
    """What the runs of a candidate showed."""

    outcomes: tuple[EmulatorRun, ...]
    findings: tuple[tuple[Finding, ...], ...]
    comparisons: tuple[OutputComparison, ...]
    passed: bool


def verify(
    program: EmulatorBuild,
    facts: Survey,
    reference: Reference,
    plan: Sequence[RunSpec],
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
    machine: Topology | None = None,
) -> Verification:
    """Run `program` to `plan` and compare each run with the reference of its seed.

    Where the first run is not good, no other is made. With a `machine` the runs model time on it.
    """
    options = [
        run_options(reference.workload, spec, facts.processes, machine=machine) for spec in plan
    ]
    stage = "verify" if machine is None else "benchmark"

    def good_so_far(first: EmulatorRun) -> bool:
        found = _compare(first, facts, reference, plan[0].seed)
        return first.verdict == Verdict.OK and not any(item.problem for item in found)

    seed_of = {option.args: spec.seed for option, spec in zip(options, plan, strict=True)}

    def is_wrong(outcome: EmulatorRun) -> bool:
        found = _compare(outcome, facts, reference, seed_of[outcome.options.args])
        return any(item.problem for item in found)

    outcomes = run_plan(
        program, options, good_so_far, stage=stage, jobs=jobs, on_progress=on_progress
    )
    outcomes = judge_fresh_reads(program, outcomes)
    outcomes = judge_stale_reads(program, outcomes, is_wrong)
    differences: list[Difference] = []
    findings: list[tuple[Finding, ...]] = []
    outputs: dict[str, Output] = _outputs(reference)
    for spec, outcome in zip(plan, outcomes, strict=False):
        told = findings_of(outcome)
        if ended(outcome):
            found = _compare(outcome, facts, reference, spec.seed)
            differences += found
            for item in found:
                outputs.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
            told += _differs([item for item in found if item.problem], spec)
        # Causes first: a race, then the wrong values, then that the program failed.
        told.sort(key=_rank_of_cause)
        findings.append(tuple(told))
    weak = weak_outputs(list(reference.samples.values()), reference.workload.outputs)
    findings.append(tuple(_evidence(reference, weak)))
    findings.append(tuple(_doubt(reference, plan, differences)))
    good = all(outcome.verdict == Verdict.OK for outcome in outcomes)
    serious = any(f.severity == Severity.ERROR for group in findings for f in group)
    return Verification(
        outcomes=tuple(outcomes),
        findings=tuple(findings),
        comparisons=summarize(differences, outputs, weak),
        passed=good and not serious and len(outcomes) == len(plan),
    )


def _rank_of_cause(finding: Finding) -> int:
    if finding.kind in FAILURE_KINDS:
        return 2
    return 1 if finding.kind.endswith("-result") else 0


def _samples(outcome: EmulatorRun, facts: Survey, outputs: Sequence[Output]) -> dict[Key, Sample]:
    return select(label(outcome.readbacks, facts.sites), outputs)


def _compare(
    outcome: EmulatorRun, facts: Survey, reference: Reference, seed: int
) -> tuple[Difference, ...]:
    outputs = reference.workload.outputs
    return compare(reference.samples[seed], _samples(outcome, facts, outputs), outputs)


def _outputs(reference: Reference) -> dict[str, Output]:
    return {
        key.buffer: output_of(sample, reference.workload.outputs)
        for samples in reference.samples.values()
        for key, sample in samples.items()
    }


def _differs(differences: Sequence[Difference], spec: RunSpec) -> list[Finding]:
    return [
        Finding(
            kind="wrong-result" if item.problem == "differs" else f"{item.problem}-result",
            severity=Severity.ERROR,
            message=item.describe(),
            file=item.file,
            line=item.line,
            rank=item.key.rank,
            seed=spec.seed,
            timing=spec.timing,
        )
        for item in differences[:_SHOWN]
    ]


def _evidence(reference: Reference, weak: Mapping[str, str]) -> list[Finding]:
    """Return what makes a match mean less than it seems."""
    found = [
        Finding(
            kind="weak-output",
            severity=Severity.WARNING,
            message=f"the reference's {buffer} is {reason} in every read-back: a wrong program "
            "cannot be distinguished by it",
        )
        for buffer, reason in weak.items()
    ]
    buffers = {key.buffer for samples in reference.samples.values() for key in samples}
    if buffers <= {name for name, reason in weak.items() if reason != "constant"}:
        message = "every output of the reference is empty, all zero or all NaN: nothing is proved"
        found.append(Finding("no-evidence", Severity.ERROR, message))
    seeds = list(reference.samples.values())
    if len(seeds) > 1 and all(_same(seeds[0], other) for other in seeds[1:]):
        found.append(
            Finding(
                kind="seed-ignored",
                severity=Severity.WARNING,
                message="the reference's outputs are the same for every seed: only one set of "
                "inputs was tried",
                hint='let the program take its input seed as an argument: args = ["{seed}"]',
            )
        )
    return found


def _same(one: Mapping[Key, Sample], other: Mapping[Key, Sample]) -> bool:
    return one.keys() == other.keys() and all(one[k].data == other[k].data for k in one)


def _doubt(
    reference: Reference, plan: Sequence[RunSpec], differences: Sequence[Difference]
) -> list[Finding]:
    """Where a candidate differs, see whether the reference agrees with itself."""
    if not any(item.problem for item in differences):
        return []
    seed = plan[0].seed
    again = recheck(reference, seed)
    found = compare(reference.samples[seed], again, reference.workload.outputs)
    bad = next((item for item in found if item.problem), None)
    if bad is None:
        return []
    finding = Finding(
        kind="reference-unsteady",
        severity=Severity.ERROR,
        message="the reference differs from itself between two runs of one seed: " + bad.describe(),
        file=bad.file,
        line=bad.line,
        hint="its outputs must depend on the seed alone; check it with warploom check",
    )
    return [replace(finding, seed=seed)]
