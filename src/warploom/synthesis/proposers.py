"""Who writes candidates: the rules, models, or the user. All get the same acceptance."""

from dataclasses import replace
from typing import Protocol

from warploom.core.records import to_json
from warploom.llm import LLMError
from warploom.synthesis.bench import Bench, Candidate, now
from warploom.synthesis.codegen import BeyondRulesError, Generated, generate
from warploom.synthesis.models import ModelWriter, WrittenKernel
from warploom.synthesis.performance import settings
from warploom.synthesis.records import CorrectnessReport, PerformanceReport, Stage

_BETTER = 0.99  # of a time, below which another one is better


class Proposer(Protocol):
    """Who writes candidates."""

    def accepted(self) -> Candidate | None:
        """Return a candidate that passed acceptance; None where none did."""
        ...

    def faster(self, first: Candidate) -> Candidate:
        """Return the quickest candidate that passed acceptance: `first`, or a better one."""
        ...


def _as_candidate(generated: Generated) -> Candidate:
    values = to_json(generated.parameters)
    assert isinstance(values, dict)
    numbers = {key: value for key, value in values.items() if isinstance(value, int)}
    return Candidate(generated.text, "rules", numbers, generated.forms)


def _judged(bench: Bench, candidate: Candidate) -> Candidate | None:
    """Return a candidate that passes acceptance, which nobody can mend; None where it fails."""
    run, begin = bench.run, now()
    run.tell("correctness")
    report = bench.judge(candidate)
    run.trace(Stage.CORRECTNESS, "passed" if report.passed else "failed", begin,
              notes=(f"{report.cases} cases",))  # fmt: skip
    return candidate if report.passed else None


class RulesProposer:
    """Generates kernels, and searches over their parameters."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._first: Generated | None = None

    def accepted(self) -> Candidate | None:
        """Generate with the usual parameters, and judge.

        Raises:
            BeyondRulesError: an operation has no code.
        """
        run, begin = self._bench.run, now()
        run.tell("codegen: rules")
        try:
            self._first = generate(self._bench.found.graph)
        except BeyondRulesError:
            run.trace(Stage.CODEGEN, "refused", begin)
            raise
        run.trace(Stage.CODEGEN, "done", begin, notes=self._first.forms)
        return _judged(self._bench, _as_candidate(self._first))

    def faster(self, first: Candidate) -> Candidate:
        """Try other parameters; a better time counts only for who passes acceptance again."""
        run, begin = self._bench.run, now()
        if run.config.ranks > 1:
            notes = ("time of several ranks is neither modelled nor measured",)
            run.trace(Stage.PERFORMANCE, "no time", begin, notes=notes)
            return first
        assert self._first is not None
        best, time = first, self._bench.time(first)
        tried = 1
        for setting in list(settings(self._first, run.config.tune, run.seed_of(9000)))[1:]:
            tried += 1
            run.tell(f"performance: setting {tried} of {run.config.tune}")
            candidate = _as_candidate(generate(self._bench.found.graph, setting))
            best, time = _better(self._bench, best, time, candidate)
        _note(self._bench, begin, time, tried, 0.0)
        return best


class GivenProposer:
    """Has one kernel, which the user wrote."""

    def __init__(self, bench: Bench, text: str) -> None:
        self._bench = bench
        self._text = text

    def accepted(self) -> Candidate | None:
        """Judge the kernel."""
        return _judged(self._bench, Candidate(self._text, "given"))

    def faster(self, first: Candidate) -> Candidate:
        """Take its time; there is no other."""
        begin = now()
        _note(self._bench, begin, self._bench.time(first), 1, 0.0)
        return first


class ModelProposer:
    """Has kernels written and mended by models."""

    def __init__(self, bench: Bench, writer: ModelWriter) -> None:
        self._bench = bench
        self._writer = writer

    def accepted(self) -> Candidate | None:
        """Ask for a kernel, and to mend it, until one passes or the retries are spent."""
        run, begin = self._bench.run, now()
        retries = run.config.retries
        dollars = 0.0
        candidate: Candidate | None = None
        asked = 0
        while candidate is None and asked <= retries.codegen:
            run.tell(f"codegen: attempt {asked + 1}")
            reply = self._writer.first(asked)
            dollars += reply.dollars
            asked += 1
            candidate = _written(reply)
        run.trace(Stage.CODEGEN, "done" if candidate else "failed", begin, asked,
                  () if candidate else ("no reply had a block of code",), dollars)  # fmt: skip
        return None if candidate is None else self._mended(candidate)

    def _mended(self, candidate: Candidate) -> Candidate | None:
        run, begin = self._bench.run, now()
        dollars, attempt = 0.0, 0
        notes: list[str] = []
        while True:
            run.tell(f"correctness: attempt {attempt + 1}")
            report = self._bench.judge(candidate)
            if report.passed or attempt == run.config.retries.correctness:
                break
            notes.append(_failure(report))
            reply = self._writer.mended(attempt, candidate.text, report)
            dollars += reply.dollars
            attempt += 1
            candidate = _written(reply) or candidate
        status = "passed" if report.passed else "failed"
        run.trace(Stage.CORRECTNESS, status, begin, attempt + 1, tuple(notes), dollars)
        return candidate if report.passed else None

    def faster(self, first: Candidate) -> Candidate:
        """Ask for faster kernels; one that is wrong is never taken, however fast."""
        run, begin = self._bench.run, now()
        best, time = first, self._bench.time(first)
        dollars, asked, ended = 0.0, 0, ""
        while time is not None and asked < run.config.retries.performance:
            run.tell(f"performance: attempt {asked + 1}")
            try:
                reply = self._writer.faster(asked, best.text, time)
            except LLMError as error:  # what has passed is not lost for want of something faster
                ended = f"no model was asked further: {error.message}"
                run.tell(ended)
                break
            dollars += reply.dollars
            asked += 1
            candidate = _written(reply)
            if candidate is not None:
                best, time = _judged_better(self._bench, best, time, candidate)
        _note(self._bench, begin, time, asked + 1, dollars, ended)
        return best


def _written(reply: WrittenKernel) -> Candidate | None:
    return None if reply.body is None else Candidate(reply.body, reply.model)


def _failure(report: CorrectnessReport) -> str:
    failed = [check for check in report.checks if not check.passed]
    return failed[0].name if failed else "findings"


Timed = tuple[Candidate, PerformanceReport | None]


def _better(
    bench: Bench, best: Candidate, time: PerformanceReport | None, candidate: Candidate
) -> Timed:
    """Return the better of two: first by time, then only what passes acceptance."""
    found = bench.time(candidate)
    if found is None or (time is not None and found.time_ms >= time.time_ms * _BETTER):
        return best, time
    return (candidate, found) if bench.judge(candidate).passed else (best, time)


def _judged_better(
    bench: Bench, best: Candidate, time: PerformanceReport, candidate: Candidate
) -> Timed:
    """Return the better of two; what a model wrote is judged before it is run to be timed."""
    before = bench.run.result
    if not bench.judge(candidate).passed:
        return best, time
    found = bench.time(candidate)
    if found is not None and found.time_ms < time.time_ms * _BETTER:
        return candidate, found
    bench.run.result = before  # accepted, and not better: the kernel of the result stays
    return best, time


def _note(
    bench: Bench, begin: float, time: PerformanceReport | None, tried: int, dollars: float,
    ended: str = "",
) -> None:  # fmt: skip
    run = bench.run
    if time is not None:
        run.result = replace(run.result, performance=replace(time, tried=tried))
    modelled = time is not None and time.time_source == "modelled"
    notes = ("no GPU was asked: time is modelled",) if modelled else ()
    notes += (ended,) if ended else ()
    run.trace(Stage.PERFORMANCE, "done" if time else "no time", begin, tried, notes, dollars)
