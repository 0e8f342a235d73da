"""`warploom report RUN`."""

from collections.abc import Mapping
from pathlib import Path

from warploom.cli.output import out, print_json, short_path
from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.reports.formats.files import require_place, write_text
from warploom.reports.formats.markdown import run_markdown
from warploom.reports.html.run_report import run_html, story_of
from warploom.reports.html.transform_report import transform_facts, transform_html
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.runs import one_run

_FORMS = {".html": run_html, ".htm": run_html, ".md": run_markdown}


def run_report(run: Path, output: Path | None, *, as_json: bool) -> int:
    """Write the report of a run; returns the exit code.

    Raises:
        BadInputError: there is no such run, or the file cannot be written.
    """
    facts = {} if (run / "run.json").is_file() else transform_facts(run)
    if facts:
        return _report_transform(run, facts, output, as_json=as_json)
    source = one_run(run)
    target = output or (source.folder or Path()) / "report.html"
    form = _FORMS.get(target.suffix.lower())
    if form is None:
        raise BadInputError(
            f"a report is written as .html or .md, got {target.suffix or 'no ending'!r}",
            file=str(target),
        )
    require_place(target)
    with OpenRun.open(source) as opened:
        story = story_of(opened)
    write_text(target, form(story))
    if as_json:
        print_json(
            {
                "report": str(target),
                "run": source.name,
                "attempts": story.overview.attempts,
                "champion": story.overview.champion,
                "speedup": story.overview.speedup,
            }
        )
    else:
        out(f"{short_path(target)}: {story.overview.attempts} attempts of {source.title}")
    return 0


def _report_transform(
    folder: Path, facts: Mapping[str, Json], output: Path | None, *, as_json: bool
) -> int:
    target = output or folder / "report.html"
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInputError(
            f"the report of a transform is written as .html, got {target.suffix!r}",
            file=str(target),
        )
    require_place(target)
    write_text(target, transform_html(folder, facts))
    if as_json:
        print_json({"report": str(target), "verified": facts.get("verified")})
    else:
        out(f"{short_path(target)}: the transform {folder.name}")
    return 0
