"""A check as GitHub's workflow commands: annotations at the lines of a pull request."""

from warploom.core.records import Severity, Verdict
from warploom.reports.queries.checked import Checked
from warploom.reports.queries.clean import clean
from warploom.reports.queries.paths import relative, source_root


def annotations_of(report: Checked) -> list[str]:
    """Return a line per finding, and one for a program that failed with nothing found.

    GitHub wants paths from the root of the repository.
    """
    root, lines = source_root(report.program), list[str]()
    for item in report.findings:
        finding = item.finding
        level = "error" if finding.severity == Severity.ERROR else "warning"
        text = finding.message if not finding.hint else f"{finding.message}\nhint: {finding.hint}"
        file = finding.file or str(report.program)
        place = relative(file, root)
        lines.append(_line(level, place, finding.line or 1, f"warploom: {finding.kind}", text))
    if not lines and report.verdict not in (Verdict.OK,):
        text = f"the program itself did not succeed: {report.verdict}"
        lines.append(_line("error", relative(str(report.program), root), 1, "warploom", text))
    return lines


def _line(level: str, file: str, line: int, title: str, text: str) -> str:
    place = f"file={_property(file)},line={line},title={_property(title)}"
    return f"::{level} {place}::{_data(text)}"


def _data(text: str) -> str:
    safe = clean(text).replace("%", "%25")
    return safe.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
