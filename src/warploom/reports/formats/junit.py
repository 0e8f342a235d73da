"""A check as JUnit XML, which CI systems show as tests."""

from pathlib import Path
from xml.etree import ElementTree as ET

from warploom.core.records import Severity, Verdict
from warploom.evaluation.merged_findings import MergedFinding
from warploom.reports.queries.checked import Checked, problem_of, run_name, seen_in, who
from warploom.reports.queries.clean import clean
from warploom.reports.queries.paths import relative, source_root


def junit_of(report: Checked) -> str:
    """Return XML with a test for the verdict, one per run, and a failed one per error found.

    A run fails that did not end well, or showed an error. Warnings are passed tests whose output
    tells them.
    """
    root = source_root(report.program)
    name = relative(str(report.program), root)
    suite = ET.Element("testsuite", name=clean(f"warploom check {name}"))
    _add_verdict(suite, report, name)
    for at, run in enumerate(report.runs, 1):
        case = _case(suite, name, f"run {run_name(run, at)} ({run.state})", run.seconds)
        if problem := problem_of(run):
            ET.SubElement(case, "failure", message=f"this run: {problem}", type=problem.split()[0])
    for item in report.findings:
        _add_finding(suite, item, report, root)
    failures = len(suite.findall("testcase/failure"))
    errors = len(suite.findall("testcase/error"))
    counts = {"tests": len(suite), "failures": failures, "errors": errors}
    whole = ET.Element("testsuites", name="warploom", time=f"{report.seconds:.3f}")
    for element in (whole, suite):
        for key, value in counts.items():
            element.set(key, str(value))
    suite.set("time", f"{report.seconds:.3f}")
    whole.append(suite)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def _add_verdict(suite: ET.Element, report: Checked, name: str) -> None:
    case = _case(suite, name, "verdict", report.seconds)
    if report.verdict == Verdict.OK:
        return
    kind = "error" if report.verdict == Verdict.UNSUPPORTED else "failure"
    ET.SubElement(case, kind, message=f"verdict: {report.verdict}", type=str(report.verdict))
    if report.output:
        ET.SubElement(case, "system-out").text = clean(report.output)


def _add_finding(suite: ET.Element, item: MergedFinding, report: Checked, root: Path) -> None:
    finding = item.finding
    file = relative(finding.file or str(report.program), root)
    place = f"{file}:{finding.line or 1}"
    case = _case(suite, file, f"{finding.kind} at {place}", 0.0)
    case.set("file", clean(file))
    case.set("line", str(finding.line or 1))
    other = finding.other
    lines = [
        f"{place}: {finding.severity}: {finding.message} [{finding.kind}]",
        (about := who(finding.rank, finding.kernel, finding.block, finding.thread))
        and f"at {about}",
        "" if other is None else f"other side: {relative(other.file, root)}:{other.line}",
        finding.hint and f"hint: {finding.hint}",
        seen_in(item, report),
    ]
    if finding.severity == Severity.ERROR:
        told = ET.SubElement(
            case, "failure", message=clean(finding.message), type=clean(finding.kind)
        )
    else:
        told = ET.SubElement(case, "system-out")
    told.text = clean("\n".join(filter(None, lines)))


def _case(suite: ET.Element, group: str, name: str, seconds: float) -> ET.Element:
    return ET.SubElement(
        suite, "testcase", classname=clean(group), name=clean(name), time=f"{seconds:.3f}"
    )
