"""The commands and their options. Each imports what it needs when it runs: start-up stays quick."""

from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.judge_commands import add_judge_commands
from warploom.cli.search_commands import add_search_commands
from warploom.cli.see_commands import add_see_commands
from warploom.cli.shared_parameters import (
    AsJson,
    Defines,
    Includes,
    LsaSize,
    Nccl,
    Ranks,
    Target,
    Unsafe,
)
from warploom.cli.synthesis_commands import add_synthesis_commands
from warploom.cli.transform_commands import add_transform_commands
from warploom.core.version import VERSION

app = typer.Typer(
    name="warploom",
    help="Turns slow, host-driven CUDA into fast, verified CUDA.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: warploom check program.cu --ranks 4",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"warploom {VERSION}")
        raise typer.Exit


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: warploom analyze examples/moe/moe.cu --json")
def analyze(
    target: Target,
    defines: Defines = None,
    includes: Includes = None,
    ranks: Ranks = None,
    lsa_size: LsaSize = None,
    nccl: Nccl = None,
    as_json: AsJson = False,
    for_llm: Annotated[
        bool, typer.Option("--llm", help="Print compact text for a language model.")
    ] = False,
    space: Annotated[
        bool,
        typer.Option(
            "--design-space", help="Print what is open to choose for each host collective instead."
        ),
    ] = False,
) -> int:
    """Say what a program communicates, allocates, launches and waits for, line by line."""
    from warploom.cli.analyze_command import run_analyze, run_design_space
    from warploom.cli.run_options import RunChoices

    if space:
        choices = RunChoices(
            ranks=ranks, defines=defines, includes=includes, lsa_size=lsa_size, nccl=nccl
        )
        return run_design_space(target, choices, as_json=as_json)
    return run_analyze(target, defines or [], includes or [], as_json=as_json, for_llm=for_llm)


add_judge_commands(app)
add_transform_commands(app)
add_search_commands(app)
add_synthesis_commands(app)
add_see_commands(app)


@app.command(epilog="Example: warploom explain missing_wait")
def explain(
    kind: Annotated[
        str | None,
        typer.Argument(help="A kind of finding. [default: list all]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what a kind of finding means: a program that shows it, the report, the cure."""
    from warploom.cli.explain_command import run_explain

    return run_explain(kind, as_json=as_json)


@app.command(epilog="Example: warploom doctor --fetch-nccl 2.30.7")
def doctor(
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch-nccl", metavar="VERSION", help="Download the NCCL headers of this version."
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology",
            metavar="NAME|FILE",
            help="Print the numbers of a topology profile and their sources instead.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what this machine has and lacks, and how to get it."""
    from warploom.cli.doctor_command import run_doctor, show_topology

    if topology is not None:
        return show_topology(topology, as_json=as_json)
    return run_doctor(fetch, as_json=as_json)


@app.command(epilog="Example: warploom init my-workload; warploom init program.cu")
def init(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE",
            help="A folder for a starter workload, or your program.",
            show_default=False,
        ),
    ],
) -> int:
    """Write a workload.toml: for your program, or with a small CUDA and NCCL program to start from.

    For a program it lies beside it, and holds what the text shows: what is read back, which macros
    can be set, whether it takes an argument.
    """
    from warploom.cli.init_command import run_init

    return run_init(folder)


@app.command(epilog="Example: claude mcp add warploom -- warploom mcp")
def mcp(
    skill: Annotated[
        bool, typer.Option("--skill", help="Print the SKILL.md for coding agents and end.")
    ] = False,
    unsafe: Unsafe = False,
) -> int:
    """Serve warploom's commands as tools to a coding agent (MCP, on standard input and output)."""
    from warploom.cli.mcp_command import run_mcp

    return run_mcp(skill=skill, unsafe=unsafe)
