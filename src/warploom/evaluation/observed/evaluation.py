"""`eval` on a backend that steers nothing: a candidate beside the trusted program, values, time."""

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.backends import MEASURED, NO_TIME, Backend, Built, Machine, Order, Run
from warploom.core.errors import BadInputError, SourceError
from warploom.core.records import Finding, Severity
from warploom.evaluation.compare.difference import Difference
from warploom.evaluation.compare.differential import weak_outputs
from warploom.evaluation.compare.outputs import Key, Sample, output_of
from warploom.evaluation.levels import Prepared, prepare
from warploom.evaluation.merged_findings import merge
from warploom.evaluation.observed.runs import (
    differences,
    form_of,
    require_good,
    run_tools,
    samples_of,
    told,
    total_ms,
)
from warploom.evaluation.records import (
    LEVELS,
    VERIFY,
    Evaluation,
    OutputComparison,
    TakenTime,
    summarize,
)
from warploom.evaluation.runs.plan import Progress, ProgressCallback
from warploom.evaluation.runs.printed import printed_verdict
from warploom.evaluation.runs.record import record_of
from warploom.evaluation.survey import Survey, survey, survey_built
from warploom.source.regions import Program
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload

REPEATS = 3
"""Runs of each program for each input seed; the two take turns."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One run of the trusted program and the candidate's run after it."""

    seed: int
    trusted: Run
    candidate: Run


def require_observable(
    backend: Backend, candidate: Program | Path | str, level: int, special: Sequence[object]
) -> None:
    """Refuse what only the emulator can: modelled time, and programs that nobody has written down.

    Raises:
        BadInputError: it is asked for.
    """
    if level > VERIFY:
        raise BadInputError(
            f"levels 3 and 4 model time in the emulator: {backend.where} it is measured at level 2"
        )
    if isinstance(candidate, Program) or any(item is not None for item in special):
        raise BadInputError(
            f"{backend.where} a candidate is a file, judged by its workload alone",
            hint="leave out frame, rule and reference, or the backend",
        )


def evaluate_observed(
    candidate: Path,
    task: Workload,
    backend: Backend,
    *,
    level: int,
    seeds: Sequence[int],
    tools: Sequence[str] | None,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> Evaluation:
    """Judge a candidate by what it does on a backend's machine.

    Levels 0 and 1 are those of the emulator's evaluation, and the machine's own build. Level 2
    runs the trusted program and the candidate in turns, `REPEATS` times for each seed, compares all
    read-backs, and runs the candidate under the machine's tools, or those of `tools`.

    Raises:
        BadInputError: the trusted program fails on the machine.
        MissingToolError: something that the backend needs is missing.
        UnsupportedError: the program starts its ranks in a way that the backend cannot.
    """
    started = time.monotonic()
    facts = survey_built(task)
    machine = backend.machine(task, form_of(facts))
    chosen = machine.tools if tools is None else tuple(tools)
    if chosen and level >= VERIFY:
        backend.require_tools()
    with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
        legal = prepare(
            candidate, task, Path(folder), level=min(level, 1), jobs=jobs, on_progress=on_progress
        )
        kit = _Kit(backend, machine, machine.serving(legal.path) if legal.passed else machine)
        judge = _Judge(task, facts, kit, legal, candidate, tuple(seeds), started, on_progress)
        return judge.run(level, chosen)


@dataclass(frozen=True, slots=True)
class _Kit:
    """The machine of the trusted program, and the candidate's, which may need more of it."""

    backend: Backend
    machine: Machine
    own: Machine


class _Judge:
    """Runs level 2 and puts the evaluation together."""

    def __init__(
        self,
        task: Workload,
        facts: Survey,
        kit: _Kit,
        legal: Prepared,
        candidate: Path,
        seeds: Sequence[int],
        started: float,
        on_progress: ProgressCallback,
    ) -> None:
        self.task = task
        self.facts = facts
        self.kit = kit
        self.legal = legal
        self.candidate = candidate
        self.seeds = seeds
        self.started = started
        self.on_progress = on_progress
        self.findings: list[Sequence[Finding]] = [*legal.findings]

    def run(self, level: int, tools: Sequence[str]) -> Evaluation:
        """Run what `level` asks for."""
        if level < 1 or not self.legal.passed:
            return self._evaluation(min(level, 1), (), (), ())
        trusted = self._build(self.kit.machine, self.task.program)
        try:
            program = self._build(self.kit.own, self.legal.path)
        except SourceError as error:
            name = str(self.candidate) if error.file == str(self.legal.path) else error.file
            self.findings.append(
                [Finding("build", Severity.ERROR, error.message, error.hint, name, error.line)]
            )
            return self._evaluation(1, (), (), ())
        if level < VERIFY:
            return self._evaluation(1, (), (), ())
        pairs = self._pairs(trusted, program)
        good = all(pair.candidate.ok for pair in pairs)
        checked = self._under(tools, program) if tools and good else ()
        return self._evaluation(VERIFY, pairs, checked, self._compare(pairs))

    def _build(self, machine: Machine, path: Path) -> Built:
        self.on_progress(Progress("build", 0, 1))
        return machine.build(path)

    def _pairs(self, trusted: Built, program: Built) -> tuple[_Pair, ...]:
        pairs: list[_Pair] = []
        total = len(self.seeds) * REPEATS
        machine, own, backend = self.kit.machine, self.kit.own, self.kit.backend
        for seed in self.seeds:
            for timing in own.timings(REPEATS):
                self.on_progress(Progress(backend.name, len(pairs), total))
                first = machine.run(trusted, Order(seed, machine.steady))
                require_good(self.task, first, backend.where)
                pairs.append(_Pair(seed, first, own.run(program, Order(seed, timing))))
                if not pairs[-1].candidate.ok:
                    return tuple(pairs)
        return tuple(pairs)

    def _under(self, tools: Sequence[str], program: Built) -> list[Run]:
        self.on_progress(Progress("tools", 0, len(tools)))
        return run_tools(self.kit.own, program, self.seeds[0], tools)

    def _compare(self, pairs: Sequence[_Pair]) -> tuple[OutputComparison, ...]:
        outputs = self.task.outputs
        compared: list[Difference] = []
        expected: dict[int, Mapping[Key, Sample]] = {}
        for pair in pairs:
            samples = samples_of(pair.trusted, self.facts, self.task)
            first = expected.setdefault(pair.seed, samples)
            unsteady = differences(first, pair.trusted, self.facts, self.task)
            said = [
                Finding(
                    "reference_unsteady",
                    Severity.ERROR,
                    "the trusted program differs from itself between two runs of one seed: "
                    + item.describe(),
                    seed=pair.seed,
                )
                for item in unsteady
                if item.problem
            ][:1]
            if pair.candidate.ok:
                # The candidate's lines are its own: its copies are named by its own analysis.
                own = survey(self.task, program=self.legal.path)
                found = differences(first, pair.candidate, own, self.task)
                compared += found
                whose = "the trusted program's"
                said += told(found, pair.seed, self.kit.backend.where, whose, strict=True)
            self.findings.append([*pair.candidate.findings, *said])
        samples = list(expected.values())
        if not any(samples):
            where = self.kit.backend.where
            message = f"the trusted program reads nothing back {where}: nothing is proved"
            self.findings.append([Finding("no_evidence", Severity.ERROR, message)])
        known = {k.buffer: output_of(s, outputs) for found in samples for k, s in found.items()}
        for item in compared:
            known.setdefault(item.key.buffer, Output(item.key.buffer, item.dtype, 0.0))
        return summarize(compared, known, weak_outputs(samples, outputs))

    def _times(self, pairs: Sequence[_Pair]) -> TakenTime | None:
        """Return the candidate's time beside the trusted program's."""
        if not all(pair.candidate.ok for pair in pairs):
            return None
        both = [
            (total_ms(pair.trusted), total_ms(pair.candidate))
            for pair in pairs
            if pair.candidate.steady
        ]
        timed = [(old, new) for old, new in both if old is not None and new is not None and new > 0]
        if not timed:
            return None
        return TakenTime(
            time_ms=statistics.median(new for _, new in timed),
            baseline_ms=statistics.median(old for old, _ in timed),
            speedup=statistics.median(old / new for old, new in timed),
        )

    def _time_source(self) -> str:
        source = self.kit.own.time_source
        return "self-timed" if source == MEASURED and self.legal.frame != "kept" else source

    def _evaluation(
        self,
        level: int,
        pairs: Sequence[_Pair],
        tools: Sequence[Run],
        comparisons: tuple[OutputComparison, ...],
    ) -> Evaluation:
        self.findings += [run.findings for run in tools]
        merged = merge(self.findings)
        taken = self._times(pairs)
        shown = pairs[0].candidate if pairs else None
        machine = self.kit.machine
        runs = [*(pair.candidate for pair in pairs), *tools]
        assert level < len(LEVELS)
        return Evaluation(
            level_reached=level,
            passed=not any(item.finding.severity == Severity.ERROR for item in merged),
            findings=merged,
            comparisons=comparisons,
            printed_verdict=printed_verdict(shown.output) if shown else "",
            runs=tuple(map(record_of, runs)),
            builds=(),
            seconds=time.monotonic() - self.started,
            time_source=self._time_source() if taken else NO_TIME,
            frame=self.legal.frame,
            nccl=machine.nccl,
            ranks=self.task.shape.ranks,
            lsa_size=None,
            planned=len(self.seeds) * REPEATS + len(tools),
            seeds=tuple(self.seeds),
            dependence="",
            sandbox=shown.sandbox if shown else "",
            program=self.candidate,
            reference=self.task.program,
            node_size=self.task.shape.node_size,
            left_out=self.task.leave_out,
            backend=self.kit.backend.name,
            devices=machine.devices,
            shared=machine.shared,
            own_network=self.kit.own.own_network,
            taken=taken,
        )
