"""`warploom report`, `export`, and `inspect` of a synthesis: they read its folder."""

import json
from pathlib import Path

from warploom.cli.output import out, print_json, short_path
from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.reports.formats.files import require_place, write_text
from warploom.reports.html.synthesis_report import synthesis_html
from warploom.reports.queries.staged import StagedSource, staged_run, staged_text

_REPORT = "report.json"


def is_synthesis(folder: Path) -> bool:
    """Whether a folder is that of a synthesis."""
    try:
        report = json.loads((folder / _REPORT).read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(report, dict) and {"spec", "kernel"} <= report.keys()


def _report(folder: Path) -> dict[str, Json]:
    if not is_synthesis(folder):
        raise BadInputError(
            "the folder must be that of a synthesis, but has no report of one",
            file=str(folder),
            hint="warploom synthesize ... --out DIR writes one, whatever happens",
        )
    return json.loads((folder / _REPORT).read_text())


def show_report(folder: Path, *, as_json: bool) -> int:
    """Print the report of a synthesis; returns 0.

    Raises:
        BadInputError: the folder holds none.
    """
    data = _report(folder)
    if as_json:
        print_json(data)
    else:
        out((folder / "report.md").read_text())
    return 0


def write_report(folder: Path, target: Path, *, as_json: bool) -> int:
    """Write the report of a synthesis as one HTML page; returns 0.

    Raises:
        BadInputError: the folder holds none, or the file cannot be written.
    """
    data = _report(folder)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInputError(
            f"the report of a synthesis is written as .html, got {target.suffix!r}",
            file=str(target), hint="without -o it is printed, as Markdown",
        )  # fmt: skip
    require_place(target)
    source = StagedSource("synthesis", folder.absolute())
    kernel = staged_text(source, "kernel.cu") or ""
    write_text(target, synthesis_html(staged_run(source), kernel))
    if as_json:
        print_json({"report": str(target), "verified": data.get("verified")})
    else:
        out(f"{short_path(target)}: the synthesis {folder.name}")
    return 0


def show_latest(folder: Path | None, *, as_json: bool) -> int:
    """Print the report of the latest synthesis below a folder; returns 0.

    Raises:
        BadInputError: there is none.
    """
    top = folder or Path()
    found = [p.parent for p in top.glob(f"**/{_REPORT}") if is_synthesis(p.parent)]
    if not found:
        raise BadInputError("there is no report of a synthesis below it", file=str(top))
    latest = max(found, key=lambda place: (place / _REPORT).stat().st_mtime)
    return show_report(latest, as_json=as_json)


def run_export(run: Path, folder: Path, *, as_json: bool) -> int:
    """Copy the package of a verified kernel; returns 0.

    Raises:
        BadInputError: the run verified no kernel, or the folder is not empty.
    """
    from warploom.synthesis.export.copying import export_package

    _report(run)
    files = export_package(run, folder)
    if as_json:
        print_json({"folder": str(folder), "files": [str(path) for path in files]})
    else:
        out(f"{len(files)} files in {folder}; VERIFICATION.md says what was verified")
    return 0
