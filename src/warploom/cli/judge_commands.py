"""`warploom check`, `eval`: the work is imported when it runs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli import synthesize_parameters
from warploom.cli.judge_options import CheckChoices, EvalChoices, SuiteChoices
from warploom.cli.records_as_options import takes_records
from warploom.cli.run_options import RunChoices
from warploom.cli.shared_parameters import Sources, Target


def add_judge_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog="Example: warploom check main.cu kernels.cu -I include --effort quick -- --tokens 64"
    )(takes_records(check))
    app.command("eval", epilog="Example: warploom eval candidate.cu examples/moe --seeds 3")(
        takes_records(eval_command)
    )


def check(
    context: typer.Context,
    target: Target,
    more: Sources = None,
    *,
    run: RunChoices,
    choices: CheckChoices,
) -> int:
    """Run a program in the emulator under adverse schedules and report every defect.

    Every run has the happens-before check. Effort quick: one run with a lazy network. Normal: also
    an eager one, and a random one with 3 seeds. Thorough: then further random seeds, to 20, and
    lazy and eager runs with other contents of fresh memory, until two batches of them show nothing
    new. --seeds K sets the number of random seeds at any effort. With --backend cuda the program
    runs on this machine's GPUs instead: 1, 3 or 10 times, and under compute-sanitizer's tools, its
    read-backs compared with the emulator's. Exit code 0: no defect found and the program itself
    succeeded; 1: a defect, a failed program or a deadlock; 2: bad input; 3: not supported here.
    """
    from warploom.cli.check_command import run_check

    sources = [*(more or ()), *(run.sources or ())]
    return run_check(target, replace(run, sources=sources, args=context.obj), choices)


def eval_command(
    context: typer.Context,
    candidate: Annotated[
        Path | None, typer.Argument(help="The candidate program.", show_default=False)
    ] = None,
    target: synthesize_parameters.OptionalTarget = None,
    *,
    choices: EvalChoices,
    run: RunChoices,
    suite: SuiteChoices,
) -> int:
    """Judge a candidate against a trusted program: legality, build, verification, time.

    The time is modelled on a topology, for verified candidates only; the score is
    10000 / (1 + milliseconds). docs/time-model.md says what the model knows.

    With --suite it synthesizes a kernel for each reference of a suite instead, and prints a table.
    """
    from warploom.cli.suite_command import require_candidate, run_suite_command

    if suite.suite is not None:
        return run_suite_command(
            suite, nvcc=not choices.no_nvcc, jobs=run.jobs, as_json=choices.as_json
        )
    candidate, target = require_candidate(candidate, target)
    from warploom.cli.eval_command import run_eval

    return run_eval(candidate, target, replace(run, args=context.obj), choices)
