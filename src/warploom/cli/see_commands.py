"""`warploom report`, `plot` and `visualize`: their options. Each imports its work when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.see_parameters import RunFolderArgument
from warploom.cli.shared_parameters import AsJson
from warploom.core.errors import BadInputError


def add_see_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: warploom report moe-evolved -o report.html")(report)
    app.command(epilog="Example: warploom plot lineage moe-evolved -o lineage.svg")(plot)
    app.command(epilog="Example: warploom visualize moe-evolved --open")(visualize)


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|show|latest",
            help="The folder of a run; or show RUN, latest [DIR]: print a synthesis's report.",
            show_default=False,
        ),
    ],
    which: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|DIR",
            help="Behind show: the folder of a synthesis; behind latest: where to look.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="A .html or .md file. [default: report.html in the folder of the run]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Write one report of a search, or of a transform, for people: HTML or Markdown.

    It works while the search goes on, too. The HTML page runs no script and loads nothing. Of a
    synthesis, whose report is written with it, `show` prints that, `latest` the newest, and -o
    writes HTML.
    """
    from warploom.cli.report_command import run_report
    from warploom.cli.synthesis_report import (
        is_synthesis,
        show_latest,
        show_report,
        write_report,
    )

    if run == "latest":
        return show_latest(which, as_json=as_json)
    if run == "show" and which is None:
        raise BadInputError("report show needs the folder of a synthesis")
    folder = which if run == "show" and which is not None else Path(run)
    if run == "show" or is_synthesis(folder):
        if output is not None:
            return write_report(folder, output, as_json=as_json)
        return show_report(folder, as_json=as_json)
    return run_report(folder, output, as_json=as_json)


def plot(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="improvement, lineage, islands, pareto, similarity, cost, timeline, roofline; "
            "replay: what each rank did before a finding; path: a page, GIF or MP4 that plays the "
            "steps to the best.",
            show_default=False,
        ),
    ],
    run: RunFolderArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE",
            help="A .svg, .png or .pdf file; .html, .gif or .mp4 for path. [default: KIND.svg]",
        ),
    ] = None,
    program: Annotated[
        int | None,
        typer.Option(
            "--program", metavar="N", min=1, max=2**31 - 1,
            help="Whose timeline, or replay. [default: the champion's; the newest with a finding]",
            show_default=False,
        ),
    ] = None,
    finding: Annotated[
        int | None,
        typer.Option(
            "--finding", metavar="N", min=1, max=2**31 - 1,
            help="Of which of its findings the replay is. [default: the first that a run showed]",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Draw a picture of a search for print or screen.

    A timeline or a replay that the run's folder does not hold yet is run in the emulator once, and
    kept there for warploom visualize.
    """
    from warploom.cli.plot_command import run_plot

    return run_plot(kind, run, output, number=program, finding=finding, as_json=as_json)


def visualize(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="The folder of a run, one that holds several, or a .db file. [default: here]",
            show_default=False,
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="URL", help="Show the runs of this database instead."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, show_default=False,
            help="Listen at this port. [default: 8321, or a free one]",
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS",
            help="Listen there; other machines get in with a --token only.",
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token", metavar="WORD", envvar="WARPLOOM_TOKEN",
            help="Answer only to who brings this secret.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:  # fmt: skip
    """Show searches in a browser, also while they go on. docs/see.md shows the views.

    The pages are served to this machine only, load nothing from elsewhere, and write nothing.
    Ctrl-C ends the server.
    """
    from warploom.cli.visualize_command import run_visualize

    return run_visualize(
        path, url=db, host=host, port=port, token=token, open_page=open_page, as_json=as_json
    )
