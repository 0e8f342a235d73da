"""Options of the commands that show things."""

from pathlib import Path
from typing import Annotated

import typer

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as one HTML page."),
]
SarifFile = Annotated[
    Path | None,
    typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0."),
]
JunitFile = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the result as JUnit XML."),
]
Github = Annotated[
    bool,
    typer.Option("--github", help="Print the findings as annotations of a GitHub workflow too."),
]
RunFolderArgument = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="The folder of a run, or its .db file.", show_default=False),
]
