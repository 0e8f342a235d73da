"""The one acceptance of every candidate, whoever wrote it and whatever for."""

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.backends.emulated import findings_of
from warploom.core.errors import BadInputError
from warploom.core.records import Finding, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, run_many
from warploom.evaluation.merged_findings import merge
from warploom.evaluation.runs.fresh_memory import judge_fresh_reads
from warploom.evaluation.runs.stale_reads import judge_stale_reads
from warploom.synthesis.correctness.allowed import OF_ONE_SIZE, at_ends, attempts
from warploom.synthesis.correctness.building import Builds, WatchedCandidate, nvcc_outcomes
from warploom.synthesis.correctness.cases import (
    CasePlan,
    are_equals_unordered,
    is_nan_unordered,
    plan_cases,
    tall_cases,
)
from warploom.synthesis.correctness.compare import compare
from warploom.synthesis.correctness.every_way import Shown, unshown_findings
from warploom.synthesis.correctness.expectations import PreparedCase, prepare_ranks
from warploom.synthesis.correctness.launches import launch_findings
from warploom.synthesis.correctness.running import (
    CaseResult,
    LaidCase,
    lay_out,
    options_for,
    results_of,
    write_cases,
)
from warploom.synthesis.correctness.trivial import weak_outputs
from warploom.synthesis.records import BuildOutcome, Check, CorrectnessReport, KernelSpec
from warploom.synthesis.reference.client import ReferenceProcess

CHECKS = (
    "legality", "build", "nvcc", "private-seeds", "odd-sizes", "even-sizes", "named-sizes",
    "sizes-of-zero", "sizes-of-one", "sizes-at-ends", "long", "accumulation", "magnitudes",
    "special-values", "ties", "misaligned", "aliasing", "inputs-unchanged",
    "surroundings-unchanged", "deterministic", "memory-and-races", "every-way", "launches",
)  # fmt: skip
"""All checks, in the order of reports."""
_SHOWN = 6
_PATIENCE = 2


@dataclass(frozen=True)
class Trial:
    """The cases of one acceptance with what is expected; made anew for each, from a secret seed."""

    seed: int
    cases: tuple[PreparedCase, ...]
    skipped: tuple[str, ...]
    tall: tuple[PreparedCase, ...] = ()


def prepare_trial(
    spec: KernelSpec, reference: ReferenceProcess, seed: int, folder: Path, text: str = ""
) -> Trial:
    """Draw the cases of a trial and have the reference judge them, in `folder`.

    `text` is the candidate's: sizes and values that it names are tried too. Of several ranks, a
    case is there once for each, one after the other.

    Raises:
        BadInputError: the reference fails on all cases of a check, or an output proves nothing:
            zeros, a constant or a copy of an input would pass.
        UnsupportedError: it does something else than its trace at sizes that are allowed.
    """
    cases: list[PreparedCase] = []
    skipped: list[str] = []
    missed: dict[str, str] = {}
    for plan in (*plan_cases(spec, seed, text), *at_ends(spec, seed)):
        found, why = _tried(spec, plan, reference, folder)
        cases += found
        if why:
            skipped.append(f"{plan.name}: {why}")
            if not plan.values:  # a kernel's own numbers may be equal ones, in no order
                missed.setdefault(plan.check, why)
    _require_all(cases, missed)
    if are_equals_unordered(spec):
        skipped.append("large, negative and special values: topk has no order among equals")
    if is_nan_unordered(spec):
        skipped.append("special values: gloo has no order between NaN and numbers")
    weak = weak_outputs(spec, cases)
    if weak:
        raise BadInputError(f"this task proves nothing: {weak[0]}")
    tall = tall_cases(spec, seed) if spec.ranks == 1 else ()
    launched = [case for plan in tall for case in _tried(spec, plan, reference, folder)[0]]
    return Trial(seed, tuple(cases), tuple(skipped), tuple(launched))


def _tried(
    spec: KernelSpec, plan: CasePlan, reference: ReferenceProcess, folder: Path
) -> tuple[tuple[PreparedCase, ...], str]:
    """Return a case on each rank; where the reference fails for all its sizes, why instead."""
    why = "" if plan.check in OF_ONE_SIZE else "no sizes meet the conditions and are small enough"
    for one in attempts(spec, plan):
        try:
            return prepare_ranks(spec, one, reference, folder), ""
        except BadInputError as error:
            if plan.check == "private-seeds":
                raise
            sizes = ", ".join(f"{name} = {size}" for name, size in one.symbols.items())
            why = f"the reference fails at {sizes}: {error.message}"
    return (), why


def _require_all(cases: Sequence[PreparedCase], missed: Mapping[str, str]) -> None:
    """Refuse a reference that fails on all cases of a check: nobody can say that a kernel passes.

    A size of zero, or of one, may be none that it is for.

    Raises:
        BadInputError: says at which sizes it fails.
    """
    done = {case.plan.check for case in cases} | OF_ONE_SIZE.keys()
    for check, why in missed.items():
        if check not in done:
            raise BadInputError(
                f"no case of {check} can be tried: {why}",
                hint="say in the reference how its sizes belong together "
                "(torch._check(b.shape[0] == a.shape[1])), fix sizes in it, or let "
                "example_inputs have the sizes that may vary",
            )


def accept(
    body: str,
    spec: KernelSpec,
    trial: Trial,
    *,
    architectures: Sequence[str] = (),
    seconds: float = 120.0,
    jobs: int | None = None,
    builds: Builds | None = None,
) -> CorrectnessReport:
    """Judge a candidate: `body` is its text, without includes.

    Args:
        body: the text of the candidate.
        spec: what it must do.
        trial: cases that it has never seen.
        architectures: for which nvcc must take it, where nvcc is at hand.
        seconds: of wall time for each run.
        jobs: runs at a time; None: one per processor.
        builds: where the candidate may have been built before.

    Raises:
        MissingToolError: there is no C++ compiler.
    """
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="warploom-"))
        if builds is None:
            builds = stack.enter_context(Builds(jobs, spec.ranks))
        judge = _Judge(body, spec, trial, Path(name), seconds, jobs)
        judge.run(builds, architectures)
        return judge.report(time.monotonic() - started)


class _Judge:
    """Gathers what there is to say of one candidate."""

    def __init__(
        self, body: str, spec: KernelSpec, trial: Trial, folder: Path, seconds: float,
        jobs: int | None,
    ) -> None:  # fmt: skip
        self.body, self.spec, self.trial = body, spec, trial
        self.folder, self.seconds, self.jobs = folder, seconds, jobs
        self.findings: list[Finding] = []
        self.builds: list[BuildOutcome] = []
        self.done: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        self.sandbox = ""
        self.runs = 0
        self.planned = 2

    def run(self, builds: Builds, architectures: Sequence[str]) -> None:
        """Build, run and compare, with nvcc meanwhile; stop where there is nothing to run."""
        built = builds.of(self.body)
        self.builds.append(built.outcome)
        self._tell(built.findings)
        refused = built.outcome.ok is None
        self.done["legality"] += 1
        if refused:
            self.failed["legality"] = _first(built.findings)
            return
        self.done["build"] += 1
        if built.program is None:
            self.failed["build"] = _first(built.findings)
            return
        with ThreadPoolExecutor(max_workers=1) as pool:
            asked = pool.submit(
                nvcc_outcomes, self.body, architectures, self.folder, self.spec.ranks
            )
            first = self._verify(built.program)
            if first is not None and not self.failed:
                self._watch(builds.watched(self.body), first)
            outcomes, found = asked.result()
        self.builds += outcomes
        self._tell(found)
        self.done["nvcc"] += sum(outcome.ok is not None for outcome in outcomes)
        if found:
            self.failed["nvcc"] = _first(found)

    def _verify(self, program: EmulatorBuild) -> Shown | None:
        """Run the cases twice and compare; returns what a right candidate came to."""
        laid = self._laid(self.trial.cases)
        cases = self.folder / "cases"
        write_cases(laid, cases)
        seeds = [self.trial.seed % 9973 + 1, self.trial.seed % 7919 + 20_000]
        schedules = [(seeds[0], Timing.EAGER), (seeds[1], Timing.RANDOM)]
        if self.spec.ranks > 1:  # when they meet is the network's choice
            schedules += [(seeds[0] + 1, Timing.LAZY), (seeds[1] + 1, Timing.RANDOM)]
        self.planned = len(schedules)
        options = [
            options_for(cases, seed, timing, self.seconds, ranks=self.spec.ranks)
            for seed, timing in schedules
        ]
        found = run_many(program, options, workers=self.jobs)
        runs = [
            self._again(program, one, how) for one, how in zip(found, options, strict=True)
            if one is not None
        ]  # fmt: skip
        runs = self._judged(program, runs, laid)
        self.sandbox = runs[0].sandbox
        parts = [self._results(one, laid) for one in runs]
        results = [part for part in parts if part is not None]
        if len(results) < len(parts):
            return None
        for other in results[1:]:
            self._same(results[0], other)
        return Shown(self.spec.inputs, options[0], laid, results[0])

    def _laid(self, cases: Sequence[PreparedCase]) -> list[LaidCase]:
        types = [tensor.dtype for tensor in self.spec.inputs]
        return [lay_out(case, types, case.plan.seed) for case in cases]

    def _watch(self, watched: WatchedCandidate, first: Shown) -> None:
        """Refuse a candidate that does what no case shows."""
        self.done["every-way"] += 1

        def run(program: EmulatorBuild, how: RunOptions) -> EmulatorRun | None:
            (one,) = run_many(program, [how], workers=1)
            return None if one is None else self._again(program, one, how)

        def is_right(result: CaseResult) -> bool:
            return not self._problems(result)

        found = unshown_findings(self.body, watched, first, run, is_right)
        for finding in found[:_SHOWN]:
            self._refuse("every-way", finding)
        if found or watched.program is None:
            return
        tall = self._laid(self.trial.tall)
        self.done["launches"] += len(tall)
        for finding in launch_findings(watched.program, first, tall, run)[:1]:
            self._refuse("launches", finding)

    def _refuse(self, check: str, finding: Finding) -> None:
        self.failed.setdefault(check, finding.message)
        self.findings.append(finding)

    def _again(self, program: EmulatorBuild, one: EmulatorRun, how: RunOptions) -> EmulatorRun:
        """Return a run; one that the wall clock ended is tried again, alone and for longer.

        A busy machine is no fault of the candidate.
        """
        if one.state != "timeout":
            return one
        longer = replace(how.limits, seconds=_PATIENCE * self.seconds)
        (second,) = run_many(program, [replace(how, limits=longer)], workers=1)
        return one if second is None else second

    def _judged(
        self, program: EmulatorBuild, runs: list[EmulatorRun], laid: Sequence[LaidCase]
    ) -> list[EmulatorRun]:
        """Return the runs with what reads of unwritten and of old memory mean for them."""

        def wrong(one: EmulatorRun) -> bool:
            got = results_of(one, laid)
            return got is None or any(self._problems(result) for result in got)

        return judge_stale_reads(program, judge_fresh_reads(program, runs, wrong), wrong)

    def _results(self, one: EmulatorRun, laid: Sequence[LaidCase]) -> list[CaseResult] | None:
        """Say what one run showed; returns its results where it came to its end."""
        self.runs += 1
        self.done["memory-and-races"] += 1
        told = findings_of(one)
        self._tell([replace(f, file=Path(f.file).name if f.file else None) for f in told])
        errors = [f for f in told if f.severity is Severity.ERROR]
        if errors:
            self.failed.setdefault("memory-and-races", errors[0].message)
        if (
            one.verdict is Verdict.UNSUPPORTED
            or one.state != "finished"
            or any(one.exit_codes.values())
        ):
            code = next((code for code in one.exit_codes.values() if code), 0)
            how = _ENDS.get(code, f"{one.state}, exit code {code}")
            if not code and errors:  # killed, for one, where the machine has no memory left
                how = errors[0].message
            self._fail("private-seeds", f"the candidate did not come to its end: {how}")
            return None
        results = results_of(one, laid)
        if results is None:
            self._fail("private-seeds", "what came back is not what the harness reads back")
            return None
        for result in results:
            self._compare(result)
        return results

    def _compare(self, result: CaseResult) -> None:
        plan = result.case.plan
        self.done[plan.check] += 1
        self.done["inputs-unchanged"] += 1
        words = _words(result.case)
        for problem in self._problems(result)[:1]:
            self._fail(plan.check, f"{words}: {problem}")
        if result.changed_inputs:
            name = self.spec.inputs[result.changed_inputs[0]].name
            self._fail("inputs-unchanged", f"{words}: the input {name} was changed")
        if result.changed_window:
            self._fail("surroundings-unchanged", f"{words}: memory behind the window was changed")
        if plan.guarded:
            self.done["surroundings-unchanged"] += 1
            if result.changed_around:
                name = self.spec.outputs[result.changed_around[0]].name
                self._fail("surroundings-unchanged",
                           f"{words}: memory around {name} was changed")  # fmt: skip

    def _problems(self, result: CaseResult) -> list[str]:
        """Return what is wrong with the outputs of a case."""
        found: list[str] = []
        pairs = zip(result.outputs, result.case.outputs, self.spec.outputs, strict=True)
        for at, (got, expected, tensor) in enumerate(pairs):
            answer = compare(got, expected, self.spec.tolerances[at])
            if not answer.passed:
                found.append(f"{tensor.name}: {answer.describe(expected.shape)}")
        return found

    def _same(self, first: list[CaseResult], second: list[CaseResult]) -> None:
        """Compare two runs under other schedules: a right kernel returns the same bits."""
        self.done["deterministic"] += 1
        for one, other in zip(first, second, strict=True):
            if one.outputs != other.outputs:
                words = f"{_words(one.case)}: another schedule gives other bits"
                self._fail("deterministic", words)
                return

    def _fail(self, check: str, message: str) -> None:
        if check not in self.failed:
            self.failed[check] = message
            kind = "not_deterministic" if check == "deterministic" else "wrong_result"
            self.findings.append(Finding(kind, Severity.ERROR, message))

    def _tell(self, findings: Sequence[Finding]) -> None:
        self.findings += findings

    def report(self, seconds: float) -> CorrectnessReport:
        """Return what was found."""
        checks = tuple(
            Check(name, name not in self.failed, self.done[name], self.failed.get(name, ""))
            for name in CHECKS
            if self.done[name] or name in self.failed
        )
        merged = [item.finding for item in merge([self.findings])]
        errors = [f for f in merged if f.severity is Severity.ERROR]
        compared = self.runs == self.planned and self.done["deterministic"] == self.planned - 1
        return CorrectnessReport(
            passed=not self.failed and not errors and compared,
            checks=checks,
            findings=tuple(merged[: _SHOWN * 4]),
            builds=tuple(self.builds),
            cases=len(self.trial.cases) // self.spec.ranks,
            skipped=self.trial.skipped,
            seed=self.trial.seed,
            sandbox=str(self.sandbox),
            seconds=seconds,
        )


_ENDS = {
    3: "warploom_forward returned an error",
    4: "a kernel failed",
    5: "a launch failed",
    6: "its results could not be copied",
    8: "the arrays that it was given were changed",
    7: "memory of cudaMallocAsync was not given back",
}


def _first(findings: Sequence[Finding]) -> str:
    errors = [f for f in findings if f.severity is Severity.ERROR]
    return errors[0].message if errors else ""


def _words(case: PreparedCase) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in case.plan.symbols.items())
    words = f"case {case.plan.name} ({sizes})" if sizes else f"case {case.plan.name}"
    return words if case.window is None else f"{words}, rank {case.rank}"
