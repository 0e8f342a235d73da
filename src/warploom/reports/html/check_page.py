"""One page on a check: the verdict, each finding at its lines, what led there."""

from importlib.resources import files
from pathlib import Path

from warploom.core.records import Finding, Severity, TraceEvent, Verdict
from warploom.core.version import VERSION
from warploom.evaluation.merged_findings import MergedFinding
from warploom.reports.html.charts import lanes_chart
from warploom.reports.html.code import excerpt
from warploom.reports.html.markup import Child, Markup, page, tag
from warploom.reports.queries.checked import NOT_BUILT, Checked, problem_of, run_name, seen_in, who
from warploom.reports.queries.paths import relative, source_root

_MOST_SOURCE = 4_000_000  # bytes of a file that excerpts are cut from


def check_html(report: Checked) -> str:
    """Return the check as one HTML page without script."""
    style = files("warploom.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    root = source_root(report.program)
    name = relative(str(report.program), root)
    good = report.verdict == Verdict.OK
    built = report.verdict != NOT_BUILT
    errors = sum(item.finding.severity == Severity.ERROR for item in report.findings)
    facts = [
        (str(report.verdict), "verdict", "good" if good else "bad"),
        (str(errors), "errors", None),
        (str(len(report.findings) - errors), "warnings", None),
    ]
    if built:
        facts += [
            (str(len(report.runs)), "runs", None),
            (str(report.ranks), "ranks", None),
            (f"{report.seconds:.1f} s", "wall time", None),
        ]
    return page(
        f"{name}: {report.verdict}" if built else f"{name} does not compile",
        style,
        tag("h1", name if built else f"{name} does not compile"),
        tag("p", f"Checked by warploom {VERSION}, NCCL {report.nccl} rules." if built else
            f"Nothing was run: warploom {VERSION} could not build it.", class_="dim"),
        tag("div", *(tag("div", tag("b", value, class_=kind), tag("span", what), class_="card")
                     for value, what, kind in facts), class_="cards"),
        tag("h2", "Findings" if built else "What the compiler says"),
        *([] if report.findings else [tag("p", "No defect was found in these runs.")]),
        *(_finding(item, report, root) for item in report.findings),
        *([tag("h2", "Runs"), _runs(report)] if report.runs else []),
        *_output(report),
    )  # fmt: skip


def _finding(item: MergedFinding, report: Checked, root: Path) -> Markup:
    finding = item.finding
    about = who(finding.rank, finding.kernel, finding.block, finding.thread)
    first = f"first with --replay {finding.seed}:{finding.timing}" if finding.timing else ""
    seen = ", ".join(filter(None, (seen_in(item, report), first)))
    level = "bad" if finding.severity == Severity.ERROR else "warn"
    body: list[Child] = [
        tag("h3", tag("span", finding.kind, class_=f"kind {level}"), f" {finding.message}"),
        tag("p", "; ".join(filter(None, (about, seen))), class_="dim"),
        _place("here", finding.file, finding.line, root),
    ]  # fmt: skip
    if finding.other is not None:
        body.append(_place("the other side", finding.other.file, finding.other.line, root))
    if finding.cause is not None:
        body.append(_place("what it comes of", finding.cause.file, finding.cause.line, root))
    if finding.hint:
        body.append(tag("p", tag("strong", "What would mend it: "), finding.hint))
    body += _trace(finding, root)
    return tag("div", *body, class_=f"finding {finding.severity}")


def _place(what: str, file: str | None, line: int | None, root: Path) -> Markup | None:
    if file is None or line is None:
        return None
    label = tag("p", f"{what}: ", tag("code", f"{relative(file, root)}:{line}"))
    try:
        with Path(file).open("rb") as source:
            text = source.read(_MOST_SOURCE).decode("utf-8", "replace")
    except OSError:
        return label
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        return label
    return tag("div", label, excerpt(lines, line, (line,)))


def _trace(finding: Finding, root: Path) -> list[Child]:
    if not finding.trace:
        return []
    ranks = sorted({event.rank for event in finding.trace})
    itself = (finding.trace[-1].seq + 1, f"this finding: {finding.message}", True)
    lanes = [
        (f"rank {rank}", [*((event.seq, _told(event), _is_here(event, finding))
                            for event in finding.trace if event.rank == rank),
                          *([itself] if rank == finding.rank else [])])
        for rank in ranks
    ]  # fmt: skip
    rows = [
        tag("tr", tag("td", event.seq, class_="num"),
            tag("td", who(event.rank, event.kernel, event.block, event.thread)),
            tag("td", event.text),
            tag("td", _where(event, root)))
        for event in finding.trace
    ]  # fmt: skip
    heads = tag("tr", *(tag("th", name, scope="col") for name in ("#", "who", "what", "where")))
    return [
        tag("h3", "What led there"),
        tag(
            "figure",
            lanes_chart(lanes),
            tag(
                "figcaption",
                "Each dot is an event, in the order in which they happened; red is "
                "what happened at the finding's own line, at last the finding itself.",
            ),
        ),
        tag("table", tag("thead", heads), tag("tbody", *rows)),
    ]


def _where(event: TraceEvent, root: Path) -> str:
    return "" if event.file is None else f"{relative(event.file, root)}:{event.line or 1}"


def _is_here(event: TraceEvent, finding: Finding) -> bool:
    return event.file == finding.file and event.line == finding.line


def _told(event: TraceEvent) -> str:
    return f"{event.seq}: {who(event.rank, event.kernel, event.block, event.thread)}: {event.text}"


def _runs(report: Checked) -> Markup:
    rows = [
        tag("tr", tag("td", run_name(run, at)), tag("td", run.state),
            tag("td", problem_of(run) or "good", class_="bad" if problem_of(run) else "good"),
            tag("td", f"{run.seconds:.2f}", class_="num"))
        for at, run in enumerate(report.runs, 1)
    ]  # fmt: skip
    heads = tag("tr", tag("th", "timing/seed", scope="col"), tag("th", "ended", scope="col"),
                tag("th", "verdict", scope="col"),
                tag("th", "seconds", class_="num", scope="col"))  # fmt: skip
    return tag("table", tag("thead", heads), tag("tbody", *rows))


def _output(report: Checked) -> list[Child]:
    if not report.output:
        return []
    lines = [tag("span", line) for line in report.output.splitlines()[-200:]]
    return [tag("h2", "The end of what it printed"), tag("pre", *lines, tabindex=0)]
