"""One page, or one Markdown file, on a run: what it found, why that is fast, what failed."""

from dataclasses import dataclass
from importlib.resources import files

from warploom.core.records import Json
from warploom.core.version import VERSION
from warploom.reports.html.charts import failure_chart, progress_chart, short
from warploom.reports.html.code import diff_block
from warploom.reports.html.markup import Child, Markup, page, tag
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.scored import overview_of_run
from warploom.reports.queries.views import (
    Failure,
    Group,
    Overview,
    Summary,
    failures_of,
    groups_of,
    path_to,
    summaries_of,
)
from warploom.store.records import StoredProgram

_MOST_BEST = 10


@dataclass(frozen=True, slots=True)
class RunStory:
    """What a report of a run tells, in whatever form."""

    title: str
    state: str
    facts: dict[str, Json]
    overview: Overview
    marks: tuple[Mark, ...]
    path: tuple[StoredProgram, ...]
    best: tuple[Mark, ...]
    diff: str
    failures: tuple[Failure, ...]
    operators: tuple[Group, ...]
    models: tuple[Group, ...]
    summary: Summary | None

    @property
    def workload(self) -> str:
        """Where its workload is or was."""
        return str(self.facts.get("workload", ""))

    @property
    def scores(self) -> str:
        """What scores are called in it."""
        return "score" if self.overview.champion_ms is None else "score, 10000 / (1 + ms)"


def story_of(run: OpenRun) -> RunStory:
    """Read what a report tells of a run."""
    marks, events = run.marks.marks, run.marks.events
    view = overview_of_run(run)
    leader = run.leader
    path = [] if leader is None else path_to(leader, marks)
    stored = run.programs.get_all([one.number for one in path])
    scored = [one for one in marks if one.correct and one.score is not None]
    told = summaries_of(events)
    folder = run.folder
    return RunStory(
        title=run.source.title,
        state=folder.state if run.source.folder else "kept in a database",
        facts={**folder.run, **folder.report},
        overview=view,
        marks=tuple(marks),
        path=tuple(stored),
        best=tuple(sorted(scored, key=lambda one: -(one.score or 0.0))[:_MOST_BEST]),
        diff=run.programs.diff(stored[0].number, stored[-1].number) if stored else "",
        failures=tuple(failures_of(marks)),
        operators=tuple(groups_of(marks, "operator")),
        models=tuple(one for one in groups_of(marks, "model") if one.name),
        summary=told[-1] if told else None,
    )


def run_html(story: RunStory) -> str:
    """Return the report as one HTML page without script."""
    style = files("warploom.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    view = story.overview
    return page(
        f"{story.title}: what the search found",
        style,
        tag("h1", story.title),
        tag("p", f"A search by warploom {VERSION}, {story.state}. Workload: ",
            tag("code", story.workload or "not known"), class_="dim"),
        _cards(view),
        tag("p", _times_told(view)),
        tag("h2", "Progress"),
        tag("figure", progress_chart(story.marks, view.progress, "score"),
            tag("figcaption", f"Each dot is a program ({story.scores}); those at the bottom "
                "failed. The line is the best so far.")),
        tag("h2", "From the seed to the best"),
        _path(story),
        *_best(story),
        *([tag("h2", "The whole change"), diff_block(story.diff)] if story.diff else []),
        *_failed(story),
        tag("h2", "Who proposed what"),
        _groups(story.operators, "operator"),
        *([_groups(story.models, "model")] if story.models else []),
        *_told(story.summary),
    )  # fmt: skip


def _cards(view: Overview) -> Markup:
    speed = "-" if view.speedup is None else f"{short(view.speedup)} x"
    again = "" if view.champion_ms is None else ", second judgment"
    best = f"{short(view.champion_ms)} ms" if view.champion_ms is not None else (
        "-" if view.best_score is None else short(view.best_score)
    )  # fmt: skip
    facts = [
        (speed, "as fast as the original"),
        (best, f"best, {view.time_source}{again}"),
        (str(view.attempts), "programs judged"),
        (str(view.correct), "correct"),
        (f"{view.seconds / 60:.1f} min", "wall time"),
        (f"${view.cost:.2f}", "for models"),
    ]
    return tag("div", *(tag("div", tag("b", v), tag("span", what), class_="card")
                        for v, what in facts), class_="cards")  # fmt: skip


def _times_told(view: Overview) -> str:
    if view.champion_ms is None:
        return "No program has passed a second judgment yet."
    kind = {
        "modelled": "Times are modelled by the emulator: whether a modelled gain is a real one, "
        "only GPUs can say.",
        "measured": "Times are measured on GPUs.",
    }.get(view.time_source, "")
    kind += f" They are those of {view.scored}." if view.scored else ""
    base = "" if view.baseline_ms is None else (
        f" The original takes {short(view.baseline_ms)} ms, the best program "
        f"{short(view.champion_ms)} ms, both in a second judgment with inputs that the search "
        "did not have; times of single programs below are of the first one."
    )  # fmt: skip
    return kind + base


def _path(story: RunStory) -> Markup:
    if not story.path:
        return tag("p", "No correct program yet.", class_="dim")
    rows = [
        tag("tr", _num(one.number), tag("td", one.lineage.operator),
            tag("td", "; ".join(one.lineage.changes) or "-"), _num(_ms(one.outcome.time_ms)),
            _num(_score(one.outcome.score)))
        for one in story.path
    ]  # fmt: skip
    return _table(("#program", "by", "what was changed", "#ms", "#score"), rows)


def _best(story: RunStory) -> list[Child]:
    if not story.best:
        return []
    rows = [
        tag("tr", _num(one.number), _num(one.parent or "-"), tag("td", one.operator),
            _num(one.island), _num(_ms(one.time_ms)), _num(_score(one.score)))
        for one in story.best
    ]  # fmt: skip
    names = ("#program", "#parent", "by", "#island", "#ms", "#score")
    return [tag("h2", "The best programs"), _table(names, rows)]


def _failed(story: RunStory) -> list[Child]:
    if not story.failures:
        return []
    total = sum(one.count for one in story.failures)
    return [
        tag("h2", "What failed"),
        tag("p", f"{total} of {story.overview.attempts} attempts failed. Each was refused by the "
            "evaluator and is never a parent."),
        tag("figure", failure_chart(story.failures)),
    ]  # fmt: skip


def _groups(groups: tuple[Group, ...], what: str) -> Markup:
    rows = [
        tag("tr", tag("td", one.name), _num(one.attempts), _num(one.correct), _num(one.better),
            _num("-" if one.best_gain is None else f"{short(one.best_gain)} x"),
            _num(f"${one.cost:.4f}"))
        for one in groups
    ]  # fmt: skip
    names = (what, "#attempts", "#correct", "#better than parent", "#largest gain", "#cost")
    return _table(names, rows)


def _told(summary: Summary | None) -> list[Child]:
    if summary is None:
        return []
    who = f"by {summary.model}" if summary.model else "by counting"
    return [
        tag("h2", "What was learned"),
        tag("p", f"After {summary.at} attempts, {who}:", class_="dim"),
        tag("p", summary.summary),
        tag("pre", *(tag("span", line) for line in summary.scratchpad.splitlines())),
        tag("ul", *(tag("li", idea) for idea in summary.recommendations)),
    ]


def _table(names: tuple[str, ...], rows: list[Markup]) -> Markup:
    heads = [
        tag("th", name.removeprefix("#"), class_="num" if name[0] == "#" else None, scope="col")
        for name in names
    ]
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _num(value: str | int) -> Markup:
    return tag("td", value, class_="num")


def _ms(value: float | None) -> str:
    return "-" if value is None else short(value)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
