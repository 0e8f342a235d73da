"""Level 2: runs a candidate under many schedules and compares what it read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from warploom.backends.emulated import findings_of, run_options
from warploom.core.records import Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import FAILURE_KINDS, EmulatorBuild, EmulatorRun, Topology
from warploom.evaluation.compare.difference import RESULT_CURES, Difference, kind_of_problem
from warploom.evaluation.compare.differential import weak_outputs
from warploom.evaluation.compare.readers import Frames
from warploom.evaluation.compare.reference import Reference
from warploom.evaluation.compare.reference_variation import Standard, all_same
from warploom.evaluation.records import OutputComparison, summarize
from warploom.evaluation.runs.emulated import ended, run_plan
from warploom.evaluation.runs.fresh_memory import judge_fresh_reads
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.evaluation.runs.stale_reads import judge_stale_reads
from warploom.evaluation.runs.unpromised import judge_unpromised
from warploom.evaluation.runs.unset_values import unset_findings
from warploom.evaluation.survey import Survey
from warploom.workload.outputs import Output

_SHOWN = 8  # differences that are told one by one
_VARY = 'let eval vary the numbers that it uploads (vary_inputs = "float32")'
_OTHERS = 1, 0x3FC03FC0  # a flag that is set, a number in every floating-point type


@dataclass(frozen=True, slots=True)
class Verification:
    """What the runs of a candidate showed.

    `wider` are outputs that were given room because the reference's own vary.
    """

    outcomes: tuple[EmulatorRun, ...]
    findings: tuple[tuple[Finding, ...], ...]
    comparisons: tuple[OutputComparison, ...]
    passed: bool
    wider: tuple[Output, ...] = ()


def verify(
    program: EmulatorBuild,
    facts: Survey,
    reference: Reference,
    plan: Sequence[RunSpec],
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
    machine: Topology | None = None,
    frames: Frames | None = None,
) -> Verification:
    """Run `program` to `plan` and compare each run with the reference of its seed.

    Where the first run is not good, no other is made. With a `machine` the runs model time on it.
    Who keeps the frame (`frames`) must read the results where the reference does.
    """
    standard = Standard(reference, frames)
    outcomes = _judged_runs(
        program, facts, plan, standard, jobs=jobs, on_progress=on_progress, machine=machine
    )
    told = _Told()
    for spec, outcome in zip(plan, outcomes, strict=False):
        told.add(spec, outcome, standard, facts)
    if machine is None:
        runs = list(zip(plan, told.findings, strict=False))
        told.findings = judge_unpromised(runs, standard.trusted_findings)
        unset = unset_findings(
            program,
            reference.build,
            outcomes[0],
            lambda outcome: _is_wrong(outcome, standard, facts),
        )
        told.findings.insert(0, tuple(unset))
    # What the trusted program does wrong itself is no fault of the candidate's.
    if told.failed is not None:
        told.findings.insert(0, tuple(standard.doubts(told.failed)))
    told.findings.append(tuple(standard.varying()))
    weak = weak_outputs(list(reference.samples.values()), reference.workload.outputs)
    told.findings.append(tuple(_evidence(reference, weak)))
    outputs = _outputs(reference, standard)
    for item in told.differences:
        outputs.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
    good = all(outcome.verdict == Verdict.OK for outcome in outcomes)
    serious = any(f.severity == Severity.ERROR for group in told.findings for f in group)
    return Verification(
        outcomes=tuple(outcomes),
        findings=tuple(told.findings),
        comparisons=summarize(told.differences, outputs, weak),
        passed=good and not serious and len(outcomes) == len(plan),
        wider=standard.wider(),
    )


def _judged_runs(
    program: EmulatorBuild,
    facts: Survey,
    plan: Sequence[RunSpec],
    standard: Standard,
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
    machine: Topology | None,
) -> list[EmulatorRun]:
    """Return the runs of a plan, with what reads of unwritten and of old values mean for them."""
    task = standard.reference.workload
    looking = Timing.LAZY if any(s.timing is Timing.LAZY for s in plan) else plan[0].timing
    options = [
        replace(
            run_options(task, spec, facts.processes, machine=machine), fresh=_fresh(spec, looking)
        )
        for spec in plan
    ]

    def is_wrong(outcome: EmulatorRun) -> bool:
        return _is_wrong(outcome, standard, facts)

    def good_so_far(first: EmulatorRun) -> bool:
        return first.verdict == Verdict.OK and not is_wrong(first)

    stage = "verify" if machine is None else "benchmark"
    outcomes = run_plan(
        program, options, good_so_far, stage=stage, jobs=jobs, on_progress=on_progress
    )
    outcomes = [
        outcome if outcome.options.fresh is None else replace(outcome, fresh_reads=())
        for outcome in outcomes
    ]
    return judge_stale_reads(program, judge_fresh_reads(program, outcomes, is_wrong), is_wrong)


def _is_wrong(outcome: EmulatorRun, standard: Standard, facts: Survey) -> bool:
    found = standard.compare(outcome, facts, outcome.options.run.seed)
    return any(item.problem for item in found)


@dataclass(slots=True)
class _Told:
    """What there is to say of the runs so far. `failed`: the first run with an error."""

    differences: list[Difference] = field(default_factory=list[Difference])
    findings: list[tuple[Finding, ...]] = field(default_factory=list[tuple[Finding, ...]])
    failed: RunSpec | None = None

    def add(self, spec: RunSpec, outcome: EmulatorRun, standard: Standard, facts: Survey) -> None:
        """Say what one run showed, causes first: a race, then wrong values, then the failure."""
        told = findings_of(outcome)
        if ended(outcome):
            found = standard.compare(outcome, facts, spec.seed)
            self.differences += found
            problems = [item for item in found if item.problem]
            if problems and outcome.verdict in (Verdict.OK, Verdict.FAILED):
                told += outcome.suspicions
            told += _differs(problems, spec)
        told.sort(key=_rank_of_cause)
        if any(item.severity == Severity.ERROR for item in told):
            self.failed = self.failed or spec
        self.findings.append(tuple(told))


def _fresh(spec: RunSpec, looking: Timing) -> int | None:
    """Return what memory that nobody has written holds; None where reads of it are looked for.

    That is in runs of one timing. In the others it is zero, as often on a GPU, with both clocks, or
    plausible. Who goes by it returns something else in one of these runs.
    """
    if spec.timing is looking and looking is not Timing.MODELLED:
        return None
    return _OTHERS[spec.seed % 2] if spec.timing is Timing.RANDOM else 0


def _rank_of_cause(finding: Finding) -> int:
    if finding.kind in FAILURE_KINDS:
        return 2
    return 1 if finding.kind.endswith("-result") else 0


def _outputs(reference: Reference, standard: Standard) -> dict[str, Output]:
    return {
        key.buffer: standard.output_of(sample, seed)
        for seed, samples in reference.samples.items()
        for key, sample in samples.items()
    }


def _differs(differences: Sequence[Difference], spec: RunSpec) -> list[Finding]:
    return [
        Finding(
            kind=(kind := kind_of_problem(item.problem)),
            hint=RESULT_CURES[kind],
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
            kind="weak_output",
            severity=Severity.WARNING,
            message=f"the reference's {buffer} is {reason} in every read-back: a wrong program "
            "cannot be distinguished by it",
            hint="" if reason != "constant" or reference.workload.vary_inputs else _VARY,
        )
        for buffer, reason in weak.items()
    ]
    buffers = {key.buffer for samples in reference.samples.values() for key in samples}
    if buffers <= {name for name, reason in weak.items() if reason != "constant"}:
        message = "every output of the reference is empty, all zero or all NaN: nothing is proved"
        found.append(Finding("no_evidence", Severity.ERROR, message))
    if not _inputs_vary(reference):
        found.append(
            Finding(
                kind="seed_ignored",
                severity=Severity.WARNING,
                message="the reference's outputs are the same for every seed: only one set of "
                "inputs was tried",
                hint='let the program take its input seed as an argument (args = ["{seed}"]), or '
                + _VARY,
            )
        )
    return found


def _inputs_vary(reference: Reference) -> bool:
    """Whether seeds change the results; one seed alone may, if the program is told of it."""
    task, seeds = reference.workload, list(reference.samples.values())
    if len(seeds) > 1:
        return not all_same(seeds)
    return bool(task.vary_inputs) or any("{seed}" in arg for arg in task.args)
