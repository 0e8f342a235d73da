"""A check as SARIF 2.1.0, which code hosts and editors show at the lines."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from warploom.core.ids import digest
from warploom.core.records import Finding, Json, Severity, SourceLocation, TraceEvent, Verdict
from warploom.core.version import VERSION
from warploom.reports.formats.line_hash import line_hashes
from warploom.reports.formats.rules import HOME, rule_of
from warploom.reports.queries.checked import NOT_BUILT, Checked, who
from warploom.reports.queries.clean import clean, cleaned
from warploom.reports.queries.paths import relative, source_root

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "SRCROOT"
_MOST_SOURCE = 4_000_000  # bytes of a file whose lines are hashed


@dataclass(frozen=True, slots=True)
class _Places:
    """Where files are in the repository, and the hashes of their lines."""

    root: Path
    known: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def location(self, at: SourceLocation) -> dict[str, Json]:
        """Return a place, relative to the repository's root where it lies below that."""
        file = clean(relative(at.file, self.root))
        artifact: dict[str, Json] = {"uri": quote(file), "uriBaseId": _ROOT}
        if Path(file).is_absolute():
            artifact = {"uri": Path(file).as_uri()}
        found: dict[str, Json] = {
            "physicalLocation": {
                "artifactLocation": artifact,
                "region": {"startLine": max(1, at.line)},
            }
        }
        if at.function:
            found["logicalLocations"] = [{"fullyQualifiedName": at.function}]
        return found

    def line_hash(self, at: SourceLocation) -> str | None:
        """Return GitHub's hash of a line; None where the file is gone or has no such line."""
        if at.file not in self.known:
            self.known[at.file] = _hashes(Path(at.file))
        hashes = self.known[at.file]
        return hashes[at.line - 1] if 1 <= at.line <= len(hashes) else None


def sarif_of(report: Checked) -> dict[str, Json]:
    """Return the check as a SARIF log: a result per finding, a rule per kind."""
    places = _Places(source_root(report.program))
    found = [item.finding for item in report.findings]
    results = [_result(item.finding, item.runs, report.program, places) for item in report.findings]
    levels = {finding.kind: str(finding.severity) for finding in reversed(found)}
    if report.verdict not in (Verdict.OK, Verdict.UNSUPPORTED) and not results:
        results.append(_ending(report, places))
        levels[_ended(report)] = Severity.ERROR
    kinds = sorted(levels)
    for result in results:
        result["ruleIndex"] = kinds.index(str(result["ruleId"]))
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "warploom",
                "version": VERSION,
                "semanticVersion": VERSION,
                "informationUri": HOME,
                "rules": [rule_of(kind, levels[kind]) for kind in kinds],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{places.root.as_uri().rstrip('/')}/"}},
        "invocations": [
            {
                "executionSuccessful": report.verdict not in (Verdict.UNSUPPORTED, NOT_BUILT),
                "exitCode": report.exit_code,
            }
        ],
        "results": list[Json](results),
    }
    return cleaned({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: Finding, runs: int, program: Path, places: _Places) -> dict[str, Json]:
    text = finding.message if not finding.hint else f"{finding.message}\nhint: {finding.hint}"
    place = SourceLocation(finding.file or str(program), finding.line or 1)
    result: dict[str, Json] = {
        "ruleId": finding.kind,
        "level": "error" if finding.severity == Severity.ERROR else "warning",
        "message": {"text": text},
        "locations": [places.location(place)],
        "partialFingerprints": _fingerprints(finding, place, places),
        "properties": {
            "rank": finding.rank,
            "kernel": finding.kernel,
            "block": None if finding.block is None else list(finding.block),
            "thread": None if finding.thread is None else list(finding.thread),
            "seenInRuns": runs,
            "replay": f"{finding.seed}:{finding.timing}" if finding.timing else None,
        },
    }
    related: list[Json] = [
        {**places.location(at), "id": number, "message": {"text": words}}
        for number, (at, words) in enumerate(_others(finding), 1)
    ]
    if related:
        result["relatedLocations"] = related
    if finding.trace:
        steps: list[Json] = [{"location": _step(event, places)} for event in finding.trace]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _others(finding: Finding) -> Iterator[tuple[SourceLocation, str]]:
    if finding.other is not None:
        yield finding.other, "the other side"
    if finding.cause is not None:
        yield finding.cause, "what it comes of"


def _step(event: TraceEvent, places: _Places) -> dict[str, Json]:
    name = who(event.rank, event.kernel, event.block, event.thread)
    text = f"{name}: {event.text}"
    if event.file is None:
        return {"message": {"text": text}}
    at = SourceLocation(event.file, event.line or 1)
    return {**places.location(at), "message": {"text": text}}


def _fingerprints(finding: Finding, at: SourceLocation, places: _Places) -> dict[str, Json]:
    """Return GitHub's hash of the line, and ours, which stays the same when the line changes.

    Ours is of kind, file and kernel, and of the words but numbers.
    """
    words = "".join("0" if char.isdigit() else char for char in finding.message)
    file = relative(finding.file, places.root) if finding.file else ""
    parts = (finding.kind, file, finding.kernel or "", words)
    ours: dict[str, Json] = {"warploom/v1": digest(map(clean, parts))}
    line = places.line_hash(at)
    return ours if line is None else {"primaryLocationLineHash": line, **ours}


def _hashes(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _MOST_SOURCE:
            return []
        with path.open(encoding="utf-8", errors="replace", newline="") as source:
            return line_hashes(source.read())
    except OSError:
        return []


def _ended(report: Checked) -> str:
    return f"program-{report.verdict}"


def _ending(report: Checked, places: _Places) -> dict[str, Json]:
    """Return a result for a program that failed though nothing was found."""
    at = SourceLocation(str(report.program), 1)
    line = places.line_hash(at)
    return {
        "ruleId": _ended(report),
        "level": "error",
        "message": {"text": f"the program itself did not succeed: {report.verdict}"},
        "locations": [places.location(at)],
        "partialFingerprints": {} if line is None else {"primaryLocationLineHash": line},
    }
