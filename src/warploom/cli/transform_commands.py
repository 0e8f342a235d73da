"""`warploom transform`: the work is imported when it runs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.records_as_options import takes_records
from warploom.cli.transform_options import TransformChoices


def add_transform_commands(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: warploom transform examples/moe --api gin --out moe-gin")(
        takes_records(transform)
    )


def transform(
    context: typer.Context,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE|WORKLOAD|DIR",
            help="A CUDA program with a main, a workload file or folder, or a build tree.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run; pays for nothing twice."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PROGRAM", help="Of a build tree: this program."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Of a build tree: all programs that communicate.")
    ] = False,
    *,
    choices: TransformChoices,
) -> int:
    """Make a host-driven program device-initiated, and prove that it still does the same.

    Writes the program, a diff and report.json. The rules need no model; with --model (or
    WARPLOOM_MODEL) a language model takes over where they refuse, and what it writes is judged by
    the same evaluator. Without one, a program beyond the rules is refused with every reason and
    line, and nothing is written. A folder with a compile_commands.json is a build tree: without
    --only or --all it is only said what would be done with each program. Exit code 0: transformed
    and verified; 1: not verified, or a cap was reached; 2: bad input or refused; 3: not supported
    here, or a provider fails.
    """
    from warploom.cli.transform_command import run_transform
    from warploom.cli.tree_command import run_transform_tree
    from warploom.transform.build_tree import is_build_tree

    asked = replace(choices, target=target, args=context.obj or None)
    if target is not None and is_build_tree(target):
        return run_transform_tree(asked, only or [], every=every)
    return run_transform(asked, resume)
