"""`check --backend cuda`: the same program on real GPUs, against what the emulator computes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import BadInputError, MissingToolError, UnsupportedError
from warploom.core.records import Finding, Json, Severity, Verdict, to_json
from warploom.evaluate.compare.differential import Difference
from warploom.evaluate.compare.outputs import Key, Sample, output_of
from warploom.evaluate.compare.reference import reference_for
from warploom.evaluate.evaluation import OutputComparison, summarize
from warploom.evaluate.findings import MergedFinding, merge
from warploom.evaluate.on_gpus.runs import (
    HardwareRecord,
    MeasuredTime,
    differences,
    record_of,
    samples_of,
    setup_for,
    times_of,
    told,
)
from warploom.evaluate.runs.plan import Effort, Progress, ProgressCallback, ignore_progress
from warploom.evaluate.runs.printed import printed_verdict
from warploom.evaluate.survey import Survey, survey_built
from warploom.hardware import (
    TOOLS,
    HardwareOptions,
    HardwareRun,
    Setup,
    build_executable,
    run_hardware,
    run_tools,
    timings,
)
from warploom.toolchain.nvcc import find_sanitizer
from warploom.workload.workload import Output, Workload, load_target

_PLAIN_RUNS = {Effort.QUICK: 1, Effort.NORMAL: 3, Effort.THOROUGH: 10}
_FAILURES = (
    "timeout",
    "crash",
    "exit_code",
    "memory_limit",
    "output_limit",
    "process_limit",
    "disk_limit",
)
_NO_MORE = ("timeout", "unsupported")  # it would end so again, and under every tool
_TAIL = 4000  # characters of the program's output that a report keeps
_SEED = 0


@dataclass(frozen=True, slots=True)
class HardwareReport:
    """What `check --backend cuda` concluded.

    `expected` says against what the read-backs were compared: "emulator", or why not. A clean
    verdict says that these runs, on these GPUs, showed nothing; the emulator's says more.
    `time_source` is "measured" where the program timed anything, "own-network" where what it sent
    went over a network of ours, whose speed says nothing of a card's, and "none" without times.
    """

    verdict: Verdict
    effort: Effort
    findings: tuple[MergedFinding, ...]
    runs: tuple[HardwareRecord, ...]
    comparisons: tuple[OutputComparison, ...]
    expected: str
    times: tuple[MeasuredTime, ...]
    time_source: str
    program: Path
    ranks: int
    gpus: tuple[str, ...]
    shared: bool
    own_network: bool
    nccl: str
    processes: str
    defines: Mapping[str, str]
    args: tuple[str, ...]
    printed_verdict: str
    output: str
    sandbox: str
    build_seconds: float
    seconds: float
    backend: str = "cuda"

    @property
    def exit_code(self) -> int:
        """0 nothing found and the program succeeded; 1 not good; 3 not supported here."""
        return {Verdict.OK: 0, Verdict.UNSUPPORTED: 3}.get(self.verdict, 1)

    def to_json(self) -> dict[str, Json]:
        """Return the report as plain JSON values; `findings` are flat objects."""
        data = to_json({name: getattr(self, name) for name in self.__slots__ if name != "findings"})
        assert isinstance(data, dict)
        return {**data, "findings": [item.to_json() for item in self.findings]}


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the read-backs must be; `note` says why there is nothing to compare with."""

    samples: Mapping[Key, Sample]
    note: str = ""


def check_hardware(
    target: Workload | Path | str,
    *,
    effort: Effort = Effort.NORMAL,
    tools: Sequence[str] | None = None,
    jobs: int | None = None,
    on_progress: ProgressCallback = ignore_progress,
) -> HardwareReport:
    """Run a program on this machine's GPUs, plainly and under compute-sanitizer.

    Quick: one plain run. Normal: three, and one under each tool. Thorough: ten, and the tools. All
    take the inputs of seed 0. What each plain run reads back is compared with what the emulator
    computes; where the emulator does not run the program to a good end, with the first good run.

    Args:
        target: a `.cu` program with a `main`, or a workload file or folder.
        effort: how many runs.
        tools: compute-sanitizer's tools, in place of what the effort says.
        jobs: emulated runs at once.
        on_progress: told of each finished step.

    Raises:
        BadInputError: nvcc rejects the program, or it cannot be read.
        MissingToolError: a GPU, nvcc, NCCL, MPI or compute-sanitizer is missing.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    started = time.monotonic()
    workload = target if isinstance(target, Workload) else load_target(target)
    facts = survey_built(workload)
    setup = setup_for(workload, facts)
    if tools is None:
        tools = () if effort is Effort.QUICK else TOOLS
    if tools:
        find_sanitizer()
    on_progress(Progress("build", 0, 1))
    program = build_executable(
        workload.build_spec(setup.nccl.version), setup.arch, setup.nccl, setup.mpi
    )
    on_progress(Progress("build", 1, 1))
    expected = _expected(workload, facts, jobs, on_progress)
    how = HardwareOptions(
        workload.args_for(_SEED),
        workload.limits,
        folder=workload.root,
        env=workload.env,
        stdin=workload.stdin,
    )
    options = [replace(how, timing=timing) for timing in timings(_PLAIN_RUNS[effort])]
    runs: list[HardwareRun] = []
    for option in options:
        on_progress(Progress("gpu", len(runs), len(options)))
        runs.append(run_hardware(program, setup, option))
        if runs[-1].state in _NO_MORE:
            break
    if all(run.state not in _NO_MORE for run in runs):
        on_progress(Progress("compute-sanitizer", 0, 1))
        runs += run_tools(program, setup, how, tools)
    return _report(workload, facts, setup, effort, expected, runs, started, program.seconds)


def _expected(
    workload: Workload, facts: Survey, jobs: int | None, on_progress: ProgressCallback
) -> _Expected:
    """Return what the emulator computes for the same inputs, on a network without surprises."""
    try:
        reference = reference_for(
            workload, [_SEED], nccl=facts.nccl, jobs=jobs, on_progress=on_progress
        )
    except (BadInputError, UnsupportedError, MissingToolError) as error:
        return _Expected({}, f"not the emulator: {error.message}")
    return _Expected(reference.samples[_SEED])


def _report(
    workload: Workload,
    facts: Survey,
    setup: Setup,
    effort: Effort,
    expected: _Expected,
    runs: Sequence[HardwareRun],
    started: float,
    build_seconds: float,
) -> HardwareReport:
    direct = [run for run in runs if run.sanitizer is None]
    samples, whose = expected.samples, "the emulator's"
    good = next((run for run in direct if run.ok), None)
    if not samples and good is not None:
        samples, whose = samples_of(good, facts, workload), "the first good run's"
    compared: list[Difference] = []
    findings: list[list[Finding]] = [list(facts.findings)]
    for run in runs:
        said = list(run.sanitizer.findings) if run.sanitizer else []
        if run.sanitizer is None:
            said += run.findings
            if run.ok and samples:
                found = differences(samples, run, facts, workload)
                compared += found
                said += told(found, _SEED, whose, strict=False)
        findings.append(said)
    shown = next((run for run in direct if not run.ok), direct[0])
    times = times_of(run for run in direct if run.ok and run.timed)
    merged = merge(findings)
    return HardwareReport(
        verdict=_verdict(merged),
        effort=effort,
        findings=merged,
        runs=tuple(record_of(_SEED, run) for run in runs),
        comparisons=summarize(compared, _outputs(samples, compared, workload), {}),
        expected=expected.note or "emulator",
        times=times,
        time_source=("own-network" if setup.network else "measured") if times else "none",
        program=workload.program,
        ranks=workload.ranks,
        gpus=tuple(gpu.describe() for gpu in setup.gpus),
        shared=setup.shared,
        own_network=setup.network is not None,
        nccl=setup.nccl.version,
        processes=facts.processes,
        defines=workload.defines,
        args=workload.args,
        printed_verdict=printed_verdict(shown.output),
        output=shown.output[-_TAIL:],
        sandbox=shown.sandbox,
        build_seconds=build_seconds,
        seconds=time.monotonic() - started,
    )


def _outputs(
    samples: Mapping[Key, Sample], compared: Sequence[Difference], workload: Workload
) -> dict[str, Output]:
    outputs = {key.buffer: output_of(item, workload.outputs) for key, item in samples.items()}
    for item in compared:
        outputs.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
    return outputs


def _verdict(findings: Sequence[MergedFinding]) -> Verdict:
    errors = {i.finding.kind for i in findings if i.finding.severity == Severity.ERROR}
    if "unsupported" in errors:
        return Verdict.UNSUPPORTED
    if errors - set(_FAILURES):
        return Verdict.DEFECT
    return Verdict.FAILED if errors else Verdict.OK
