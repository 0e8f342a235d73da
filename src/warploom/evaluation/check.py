"""`check`: runs any CUDA and NCCL program under adverse conditions and says what went wrong."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from warploom.backends import EMULATOR, Backend, find_backend
from warploom.backends.emulated import findings_of, run_options
from warploom.core.errors import BadInputError, UnsupportedError
from warploom.core.records import Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, build
from warploom.evaluation.check_report import TAIL, CheckReport
from warploom.evaluation.merged_findings import merge
from warploom.evaluation.runs.emulated import overall, run_batches
from warploom.evaluation.runs.fresh_memory import judge_fresh_reads
from warploom.evaluation.runs.ignored_errors import with_ignored_errors
from warploom.evaluation.runs.other_versions import add_build_hint, with_run_hints
from warploom.evaluation.runs.plan import (
    Batches,
    Effort,
    Progress,
    ProgressCallback,
    check_plan,
    ignore_progress,
)
from warploom.evaluation.runs.printed import printed_verdict
from warploom.evaluation.runs.record import record
from warploom.evaluation.runs.stale_reads import judge_stale_reads
from warploom.evaluation.runs.suspicions import with_suspicions
from warploom.evaluation.survey import Survey, as_built, survey
from warploom.workload.run_shape import ShapeChange
from warploom.workload.workload import Workload, load_target

_TRACE = 4096  # events of each rank that a replay keeps, of which a finding shows the last


def check(
    target: Workload | Path | str,
    *,
    sources: Sequence[Path | str] = (),
    defines: Mapping[str, str] | None = None,
    include_dirs: Sequence[Path | str] = (),
    seeds: int | None = None,
    effort: Effort | None = None,
    replay: RunSpec | None = None,
    args: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    jobs: int | None = None,
    backend: Backend | str = EMULATOR,
    tools: Sequence[str] | None = None,
    on_progress: ProgressCallback = ignore_progress,
    **shape: Unpack[ShapeChange],
) -> CheckReport:
    """Run a program in the emulator under several schedules and report every defect seen.

    A backend that steers nothing runs it as `check_observed` says. All runs in the emulator have
    the happens-before check; `evaluate.runs.plan.check_plan` says which there are. Where the first
    cannot end (it crashes, or meets a limit) no other is made.

    Args:
        target: a `.cu` program with a `main`, or a workload file or folder.
        sources: further files of the program, added to the workload's.
        defines: macros by name, added to the workload's.
        include_dirs: further include folders.
        seeds: seeds of the random network, whatever the effort; default: none for a quick check,
            the workload's or 3 for a normal and at least 20 for a thorough one.
        effort: how much to run; default: normal.
        replay: make only this run, with a trace of what led to each finding.
        args: the program's arguments; `{seed}` is replaced by each run's seed.
        env: environment variables of the program, added to the workload's.
        jobs: runs at once; default: one per core.
        backend: what runs the program: "emulator", "cuda", or a backend of your own.
        tools: tools of another backend, in place of those that the effort says.
        on_progress: told of each finished step.
        shape: what is to be another `RunShape` than the workload's, by name: `ranks=2`.

    Raises:
        BadInputError: the program or an argument is wrong, a process would have devices of two
            machines, `replay` comes with `effort` or `seeds`, or something is asked for that only
            the emulator can.
        MissingToolError: there is no C++ compiler, or something that the backend needs is missing.
        UnsupportedError: the program starts its ranks in a way that the backend cannot.
    """
    workload = target if isinstance(target, Workload) else load_target(target)
    runner = find_backend(backend)
    workload = replace(workload, vary_inputs="").with_overrides(
        sources=sources, defines=defines, include_dirs=include_dirs, args=args, seeds=seeds,
        env=env, **shape,
    )  # fmt: skip
    if not runner.steers:
        # Loads what compares results, which a check in the emulator does not need.
        from warploom.evaluation.observed.check import check_observed, require_unsteered

        require_unsteered(runner, shape, replay)
        return check_observed(
            workload, runner, effort=effort or Effort.NORMAL, tools=tools, jobs=jobs,
            on_progress=on_progress,
        )  # fmt: skip
    effort, batches = _planned(workload, effort, seeds, replay)
    return _check_emulated(workload, effort, batches, replay, jobs, on_progress)


def _check_emulated(
    workload: Workload,
    effort: Effort | None,
    batches: Batches,
    replay: RunSpec | None,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> CheckReport:
    """Build the program, make the runs, and judge them together."""
    started = time.monotonic()
    facts = survey(workload, outputs=False)  # it compares none
    try:
        on_progress(Progress("build", 0, 1))
        modelled = replay is not None and replay.timing is Timing.MODELLED
        program = build(replace(workload.build_spec(facts.nccl), timed=modelled))
        on_progress(Progress("build", 1, 1))
    except BadInputError as error:
        add_build_hint(error, workload, facts.nccl)
        raise
    except UnsupportedError as error:
        add_build_hint(error, workload, facts.nccl)
        extra = _unsupported(error)
        return _report(workload, facts, effort, batches, [], started, 0.0, extra=extra)
    build_seconds = time.monotonic() - started
    facts = as_built(facts, program)
    if workload.shape.processes is not None:
        facts = replace(facts, processes=str(workload.shape.processes))
    trace = _TRACE if replay else 0
    options = [
        [
            run_options(workload, spec, facts.processes, trace=trace, folder=workload.root)
            for spec in batch
        ]
        for batch in batches
    ]
    runs = run_batches(program, options, jobs=jobs, on_progress=on_progress)
    runs = judge_stale_reads(program, judge_fresh_reads(program, runs))
    runs = with_suspicions(with_ignored_errors(runs, facts))
    runs = with_run_hints(runs, workload, facts.nccl)
    found = (*_unseen(program, workload.program), *_warned(program))
    facts = replace(facts, findings=(*facts.findings, *found))
    return _report(workload, facts, effort, batches, runs, started, build_seconds)


def _planned(
    workload: Workload, effort: Effort | None, seeds: int | None, replay: RunSpec | None
) -> tuple[Effort | None, Batches]:
    """Return the effort, None for a replay, and the runs."""
    if replay is None:
        effort = effort or Effort.NORMAL
        return effort, check_plan(effort, workload.seeds, seeds)
    if effort is None and seeds is None:
        return None, ((replay,),)
    raise BadInputError("a replay makes one run: leave out the effort and the seeds")


def _unseen(program: EmulatorBuild, file: Path) -> list[Finding]:
    """Say which calls of the program no check looks into: a limit of the verdict, no defect."""
    places: dict[tuple[str, int | None], list[str]] = {}
    for name, at in sorted(program.unseen.items()):
        places.setdefault(at or (str(file), None), []).append(f"'{name}'")
    return [
        Finding(
            kind="unseen_call",
            severity=Severity.WARNING,
            message=f"no check looks into {', '.join(names)}: what a library reads and writes "
            "there through pointers is not seen",
            hint="races, bounds and foreign memory are not checked there; they are in code of the "
            "program's own",
            file=where,
            line=line,
        )
        for (where, line), names in places.items()
    ]


def _warned(program: EmulatorBuild) -> list[Finding]:
    """Say what the compiler is sure of: it follows values, whether they matter or not."""
    return [one.finding(Severity.WARNING) for one in program.warned]


def _unsupported(error: UnsupportedError) -> Finding:
    return Finding(
        kind="unsupported",
        severity=Severity.ERROR,
        message=error.message,
        hint=error.hint,
        file=error.file,
        line=error.line,
    )


def _report(
    workload: Workload,
    facts: Survey,
    effort: Effort | None,
    batches: Batches,
    runs: Sequence[EmulatorRun],
    started: float,
    build_seconds: float,
    extra: Finding | None = None,
) -> CheckReport:
    plan = [spec for batch in batches for spec in batch]
    by_run = [[*facts.findings, *([extra] if extra else [])], *map(findings_of, runs)]
    shown = next((r for r in runs if r.verdict != Verdict.OK), runs[0] if runs else None)
    return CheckReport(
        verdict=Verdict.UNSUPPORTED if extra else overall(run.verdict for run in runs),
        effort=effort,
        findings=merge(by_run),
        runs=tuple(record(spec, outcome) for spec, outcome in zip(plan, runs, strict=False)),
        planned=len(plan),
        program=workload.program,
        ranks=workload.shape.ranks,
        lsa_size=workload.shape.lsa_size,
        node_size=workload.shape.node_size,
        nccl=facts.nccl,
        processes=facts.processes,
        defines=workload.defines,
        args=workload.args,
        printed_verdict=printed_verdict(shown.stdout) if shown else "",
        output=(shown.stdout + shown.stderr)[-TAIL:] if shown else "",
        sandbox=shown.sandbox if shown else "",
        build_seconds=build_seconds,
        seconds=time.monotonic() - started,
    )
