"""`check` on a backend that steers nothing: several runs against what the emulator computes."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warploom.backends import NO_TIME, Backend, Machine, Order, Run
from warploom.core.errors import BadInputError, MissingToolError, UnsupportedError
from warploom.core.records import Finding, RunSpec, Verdict
from warploom.evaluation.check_report import TAIL, CheckReport
from warploom.evaluation.compare.difference import Difference
from warploom.evaluation.compare.outputs import Key, Sample, output_of
from warploom.evaluation.compare.reference import reference_for
from warploom.evaluation.merged_findings import merge
from warploom.evaluation.observed.runs import (
    differences,
    form_of,
    run_tools,
    samples_of,
    times_of,
    told,
)
from warploom.evaluation.records import summarize
from warploom.evaluation.runs.emulated import overall
from warploom.evaluation.runs.plan import Effort, Progress, ProgressCallback
from warploom.evaluation.runs.printed import printed_verdict
from warploom.evaluation.runs.record import record_of
from warploom.evaluation.survey import Survey, survey_built
from warploom.workload.outputs import Output
from warploom.workload.run_shape import ShapeChange
from warploom.workload.workload import Workload

_PLAIN_RUNS = {Effort.QUICK: 1, Effort.NORMAL: 3, Effort.THOROUGH: 10}
_NO_MORE = ("timeout", "unsupported")  # it would end so again, and under every tool
_SEED = 0


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the read-backs must be; `note` says why there is nothing to compare with."""

    samples: Mapping[Key, Sample]
    note: str = ""


def require_unsteered(
    backend: Backend,
    shape: ShapeChange,
    replay: RunSpec | None,
) -> None:
    """Refuse what only the emulator can.

    Raises:
        BadInputError: it is asked for.
    """
    asked = {
        "--processes": (shape.get("processes"), "each MPI rank is a process of its own"),
        "--lsa-size": (shape.get("lsa_size"), "it is what the machine has"),
        "--node-size": (shape.get("node_size"), "a machine is what it is"),
        "--replay": (replay, "no run can be repeated as it was"),
    }
    for name, (value, why) in asked.items():
        if value is not None:
            raise BadInputError(
                f"{name} is for the emulator: {backend.where} {why}",
                hint=f"leave out {name} or --backend {backend.name}",
            )


def check_observed(
    workload: Workload,
    backend: Backend,
    *,
    effort: Effort,
    tools: Sequence[str] | None,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> CheckReport:
    """Run a program as the machine runs it, plainly and under the machine's tools.

    Quick: one plain run. Normal: three, and one under each tool. Thorough: ten, and the tools. All
    take the inputs of seed 0. What each plain run reads back is compared with what the emulator
    computes; where the emulator does not run the program to a good end, with the first good run.

    Args:
        workload: the program and what it needs.
        backend: what runs it.
        effort: how many runs.
        tools: the tools to run under, in place of what the effort says.
        jobs: emulated runs at once.
        on_progress: told of each finished step.

    Raises:
        BadInputError: the compiler rejects the program, or it cannot be read.
        MissingToolError: something that the backend needs is missing.
        UnsupportedError: the program starts its ranks in a way that the backend cannot.
    """
    started = time.monotonic()
    facts = survey_built(workload)
    machine = backend.machine(workload, form_of(facts))
    if tools is None:
        tools = () if effort is Effort.QUICK else machine.tools
    if tools:
        backend.require_tools()
    on_progress(Progress("build", 0, 1))
    program = machine.build()
    on_progress(Progress("build", 1, 1))
    expected = _expected(workload, facts, jobs, on_progress)
    orders = [Order(_SEED, timing) for timing in machine.timings(_PLAIN_RUNS[effort])]
    runs: list[Run] = []
    for order in orders:
        on_progress(Progress(backend.name, len(runs), len(orders)))
        runs.append(machine.run(program, order))
        if runs[-1].state in _NO_MORE:
            break
    if tools and all(run.state not in _NO_MORE for run in runs):
        on_progress(Progress("tools", 0, len(tools)))
        runs += run_tools(machine, program, _SEED, tools)
    judged = _Judged(workload, facts, backend, machine, expected, tuple(runs))
    return judged.report(effort, started, program.seconds)


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


@dataclass(frozen=True, slots=True)
class _Judged:
    """Runs of a program, and what they are held against."""

    workload: Workload
    facts: Survey
    backend: Backend
    machine: Machine
    expected: _Expected
    runs: tuple[Run, ...]

    def report(self, effort: Effort, started: float, build_seconds: float) -> CheckReport:
        """Put together what the runs said."""
        task = self.workload
        plain = [run for run in self.runs if not run.order.tool]
        samples, compared, findings = self._compared(plain)
        shown = next((run for run in plain if not run.ok), plain[0])
        times = times_of(run for run in plain if run.ok and run.steady)
        return CheckReport(
            verdict=_verdict(self.runs, compared),
            effort=effort,
            findings=merge(findings),
            runs=tuple(map(record_of, self.runs)),
            planned=len(self.runs),
            program=task.program,
            ranks=task.shape.ranks,
            lsa_size=None,
            node_size=task.shape.node_size,
            nccl=self.machine.nccl,
            processes=self.facts.processes,
            defines=task.defines,
            args=task.args,
            printed_verdict=printed_verdict(shown.output),
            output=shown.output[-TAIL:],
            sandbox=shown.sandbox,
            build_seconds=build_seconds,
            seconds=time.monotonic() - started,
            backend=self.backend.name,
            devices=self.machine.devices,
            shared=self.machine.shared,
            own_network=self.machine.own_network,
            comparisons=summarize(compared, _outputs(samples, compared, task), {}),
            expected=self.expected.note or "emulator",
            times=times,
            time_source=self.machine.time_source if times else NO_TIME,
        )

    def _compared(
        self, plain: Sequence[Run]
    ) -> tuple[Mapping[Key, Sample], list[Difference], list[list[Finding]]]:
        """Compare the read-backs; returns what is expected, the comparisons and all findings."""
        samples, whose = self.expected.samples, "the emulator's"
        good = next((run for run in plain if run.ok), None)
        if not samples and good is not None:
            samples, whose = samples_of(good, self.facts, self.workload), "the first good run's"
        compared: list[Difference] = []
        findings: list[list[Finding]] = [list(self.facts.findings)]
        for run in self.runs:
            said = list(run.findings)
            if run.ok and samples and not run.order.tool:
                found = differences(samples, run, self.facts, self.workload)
                compared += found
                said += told(found, _SEED, self.backend.where, whose, strict=False)
            findings.append(said)
        return samples, compared, findings


def _outputs(
    samples: Mapping[Key, Sample], compared: Sequence[Difference], workload: Workload
) -> dict[str, Output]:
    outputs = {key.buffer: output_of(item, workload.outputs) for key, item in samples.items()}
    for item in compared:
        outputs.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
    return outputs


def _verdict(runs: Iterable[Run], compared: Sequence[Difference]) -> Verdict:
    differs = any(item.problem == "differs" for item in compared)
    return overall([*(run.verdict for run in runs), *([Verdict.DEFECT] if differs else [])])
