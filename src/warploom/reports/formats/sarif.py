"""A check as SARIF 2.1.0, which code hosts and editors show at the lines."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from warploom.core.ids import digest
from warploom.core.records import Finding, Json, Severity, SourceLocation, TraceEvent, Verdict
from warploom.core.version import VERSION
from warploom.reports.formats.checked import Checked, relative, who
from warploom.reports.queries.clean import clean, cleaned

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_HOME = "https://github.com/warploom/warploom"
_ROOT = "SRCROOT"


def sarif_of(report: Checked) -> dict[str, Json]:
    """Return the check as a SARIF log: a result per finding, a rule per kind."""
    kinds = list(dict.fromkeys(item.finding.kind for item in report.findings))
    rules: list[Json] = [
        {
            "id": clean(kind),
            "name": clean(kind),
            "shortDescription": {"text": clean(kind).replace("_", " ").replace("-", " ")},
            "helpUri": f"{_HOME}/blob/main/docs/findings/{quote(clean(kind), safe='')}.md",
        }
        for kind in kinds
    ]
    results = [
        _result(item.finding, item.runs, kinds.index(item.finding.kind), report.program)
        for item in report.findings
    ]
    if report.verdict not in (Verdict.OK, Verdict.UNSUPPORTED) and not results:
        results.append(_ending(report))
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "warploom",
                "version": VERSION,
                "semanticVersion": VERSION,
                "informationUri": _HOME,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{Path.cwd().as_uri()}/"}},
        "invocations": [
            {
                "executionSuccessful": report.verdict != Verdict.UNSUPPORTED,
                "exitCode": report.exit_code,
            }
        ],
        "results": list[Json](results),
    }
    return cleaned({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: Finding, runs: int, rule: int, program: Path) -> dict[str, Json]:
    text = finding.message if not finding.hint else f"{finding.message}\nhint: {finding.hint}"
    place = SourceLocation(finding.file or str(program), finding.line or 1)
    result: dict[str, Json] = {
        "ruleId": finding.kind,
        "ruleIndex": rule,
        "level": "error" if finding.severity == Severity.ERROR else "warning",
        "message": {"text": text},
        "locations": [_location(place)],
        "partialFingerprints": {"warploom/v1": _fingerprint(finding)},
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
        {**_location(at), "id": number, "message": {"text": words}}
        for number, (at, words) in enumerate(_others(finding), 1)
    ]
    if related:
        result["relatedLocations"] = related
    if finding.trace:
        steps: list[Json] = [{"location": _step(event)} for event in finding.trace]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    return result


def _others(finding: Finding) -> Iterator[tuple[SourceLocation, str]]:
    if finding.other is not None:
        yield finding.other, "the other side"
    if finding.cause is not None:
        yield finding.cause, "what it comes of"


def _location(at: SourceLocation) -> dict[str, Json]:
    file = clean(relative(at.file))
    artifact: dict[str, Json] = {"uri": quote(file)}
    if Path(file).is_absolute():
        artifact = {"uri": Path(file).as_uri()}
    else:
        artifact["uriBaseId"] = _ROOT
    found: dict[str, Json] = {
        "physicalLocation": {
            "artifactLocation": artifact,
            "region": {"startLine": max(1, at.line)},
        }
    }
    if at.function:
        found["logicalLocations"] = [{"fullyQualifiedName": at.function}]
    return found


def _step(event: TraceEvent) -> dict[str, Json]:
    name = who(event.rank, event.kernel, event.block, event.thread)
    text = f"{name}: {event.text}"
    if event.file is None:
        return {"message": {"text": text}}
    return {**_location(SourceLocation(event.file, event.line or 1)), "message": {"text": text}}


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same when lines move: kind, file and kernel, and words but numbers."""
    words = "".join("0" if char.isdigit() else char for char in finding.message)
    parts = (finding.kind, relative(finding.file or ""), finding.kernel or "", words)
    return digest(map(clean, parts))


def _ending(report: Checked) -> dict[str, Json]:
    """Return a result for a program that failed though nothing was found."""
    return {
        "ruleId": f"program-{report.verdict}",
        "level": "error",
        "message": {"text": f"the program itself did not succeed: {report.verdict}"},
        "locations": [_location(SourceLocation(str(report.program), 1))],
    }
