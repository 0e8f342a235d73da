"""`warploom evolve`, `optimize`, `inspect`: their options; the work is imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.shared_parameters import (
    AsJson,
    ConfigFile,
    Overrides,
    ResumeRun,
    RunOut,
    RunSeed,
    Target,
)


def add_search_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog="Example: warploom evolve examples/moe evolution.num_generations=18 "
        "database.num_islands=2 --seed 1",
    )(evolve)
    app.command(epilog="Example: warploom optimize examples/moe --seed 1 --out moe-fast")(optimize)
    app.command("inspect", epilog="Example: warploom inspect moe-evolved --json")(inspect_command)


def evolve(
    target: Target,
    overrides: Overrides = None,
    seed: RunSeed = None,
    folder: RunOut = None,
    resume: ResumeRun = False,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> int:
    """Search for a faster program, from its device-initiated forms; every one is verified.

    A host-driven program is transformed first. The rules change its directives (blocks, chunks,
    streams and the like); each new program is judged against the original, and timed by the model,
    or with evaluation.backend=cuda on this machine's GPUs.
    The folder holds the best program, its diff, a report, and all that was tried. Exit code 0: a
    verified program is faster than the host-driven one; 1: none is; 2: bad input; 3: not supported
    here; 130: interrupted, --resume goes on.
    """
    from warploom.cli.evolve_command import run_evolve

    return run_evolve(
        target, overrides or [], command="evolve", seed=seed, folder=folder, resume=resume,
        config_file=config_file, as_json=as_json,
    )  # fmt: skip


def optimize(
    target: Target,
    overrides: Overrides = None,
    seed: RunSeed = None,
    folder: RunOut = None,
    resume: ResumeRun = False,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> int:
    """Make a program fast in one command: transform, then a quick search, then a report.

    It is evolve with the budget of a coffee break (evolution=quick). Exit codes are those of
    evolve.
    """
    from warploom.cli.evolve_command import run_evolve

    chosen = ["evolution=quick", *(overrides or [])] if not resume else overrides or []
    return run_evolve(
        target, chosen, command="optimize", seed=seed, folder=folder, resume=resume,
        config_file=config_file, as_json=as_json,
    )  # fmt: skip


def inspect_command(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)
    ],
    as_json: AsJson = False,
) -> int:
    """Say what a run has tried: its best programs, islands, operators and failures.

    Of a synthesis: its report.
    """
    from warploom.cli.inspect_command import run_inspect
    from warploom.cli.synthesis_report import is_synthesis, show_report

    if is_synthesis(run):
        return show_report(run, as_json=as_json)

    return run_inspect(run, as_json=as_json)
