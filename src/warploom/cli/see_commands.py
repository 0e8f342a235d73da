"""`warploom report`, `plot` and `visualize`: their options. Each imports its work when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.parameters import AsJson
from warploom.cli.see_parameters import RunFolderArgument


def add_see_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: warploom report moe-evolved -o report.html")(report)


def report(
    run: RunFolderArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="A .html or .md file. [default: report.html in the folder of the run]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Write one report of a search that can be read without warploom: HTML or Markdown.

    It works while the search goes on, too. The HTML page runs no script and loads nothing.
    """
    from warploom.cli.report_command import run_report

    return run_report(run, output, as_json=as_json)
