"""One page on a synthesis: its stages, the checks that its kernel passed, its time, its text."""

from collections.abc import Sequence
from importlib.resources import files

from warploom.core.version import VERSION
from warploom.reports.html.charts import short
from warploom.reports.html.markup import Child, Markup, page, tag
from warploom.reports.queries.staged import StagedRun

_MOST_LINES = 4000


def synthesis_html(run: StagedRun, kernel: str) -> str:
    """Return the report as one HTML page without script; `kernel` is the text that came of it."""
    style = files("warploom.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    passed = sum(one.passed for one in run.checks)
    cards = [
        ("verified" if run.verified else "not verified", "outcome",
         "good" if run.verified else "bad"),
        (f"{passed} of {len(run.checks)}", "checks passed", None),
        (str(len(run.attempts)), "attempts", None),
        ("-" if run.roof is None else f"{short(run.roof.time_us)} us",
         "no time" if run.roof is None else f"{run.roof.time_source} on {run.roof.machine}", None),
    ]  # fmt: skip
    return page(
        f"{run.title}: a synthesis",
        style,
        tag("h1", run.title),
        tag("p", f"A synthesis by warploom {VERSION}.", class_="dim"),
        tag("div", *(tag("div", tag("b", value, class_=kind), tag("span", what), class_="card")
                     for value, what, kind in cards), class_="cards"),
        *([tag("p", run.error, class_="bad")] if run.error else []),
        _table(("what", ""), [(name, value) for name, value in run.facts.items()]),
        tag("h2", "Stages"),
        _table(("stage", "how", "attempts", "seconds", "what was said"),
               [(one.name, one.status, one.attempts, f"{one.seconds:.1f}",
                 " ".join([*one.notes, one.problem])) for one in run.stages]),
        tag("h2", "Correctness"),
        tag("p", run.proof or "Nothing was compared: it ended before that.", class_="dim"),
        _table(("check", "verdict", "times", "detail"),
               [(one.name, "passed" if one.passed else "failed", one.times, one.detail)
                for one in run.checks]),
        *_attempts(run),
        *_time(run),
        *_kernel(kernel),
    )  # fmt: skip


def _attempts(run: StagedRun) -> list[Child]:
    rows = [(one.number, "passed" if one.passed else "failed", one.failed_check, one.detail)
            for one in run.attempts]  # fmt: skip
    names = ("attempt", "verdict", "failed first", "why")
    return [tag("h2", "Attempts"), _table(names, rows)] if rows else []


def _time(run: StagedRun) -> list[Child]:
    roof = run.roof
    if roof is None:
        return []
    separate = "-" if roof.separate_us is None else short(roof.separate_us)
    most = "" if roof.most_gbs is None else f" of {short(roof.most_gbs)}"
    return [
        tag("h2", "Time"),
        tag("p", f"All times are {roof.time_source}, on {roof.machine}. {roof.note}"),
        _table(("what", "us"), [("this kernel", short(roof.time_us)),
                                ("what moving the bytes takes", short(roof.floor_us)),
                                ("one kernel for each operation", separate)]),
        tag("p", f"{short(roof.reached_gbs)}{most} GB/s are reached; it is held back by "
            f"{roof.bottleneck}."),
    ]  # fmt: skip


def _kernel(text: str) -> list[Child]:
    lines = text.splitlines()
    if not lines:
        return []
    shown = [tag("span", line) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(tag("span", f"... {len(lines) - _MOST_LINES} more lines", class_="hunk"))
    return [tag("h2", "The kernel"), tag("pre", *shown, tabindex=0, aria_label="kernel")]


def _table(names: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Markup:
    heads = tag("tr", *(tag("th", name, scope="col") for name in names))
    lines = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("table", tag("thead", heads), tag("tbody", *lines))
