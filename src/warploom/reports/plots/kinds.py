"""The kinds of plots that are drawn from a run's marks and embeddings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warploom.core.errors import BadInputError
from warploom.reports.plots.canvas import ACCENT, BAD, DIM, INK, KINDS, figure
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.nearness import embeddings_in, likeness_of
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.scored import overview_of_run
from warploom.reports.queries.views import migrations_of, path_to, progress_of

_MOST_ALIKE = 40
_MOST_LABELS = 80


def draw_improvement(run: OpenRun, path: Path) -> None:
    """Scores over attempts, the best so far as a line, colors by island."""
    marks = _some_correct(run)
    everything = run.marks.marks
    places = {one.number: at for at, one in enumerate(everything, 1)}
    with figure(path, f"{run.source.title}: score of each program") as (_, axes):
        for island in sorted({one.island for one in marks}):
            members = [one for one in marks if one.island == island]
            axes.scatter([places[one.number] for one in members], [one.score for one in members],
                         s=22, color=KINDS[island % len(KINDS)], alpha=0.8,
                         label=f"island {island}", linewidths=0)  # fmt: skip
        _failed_below(axes, [places[one.number] for one in everything if not one.correct])
        best = progress_of(everything)
        axes.step([*(one.at for one in best), len(everything)],
                  [*(one.score for one in best), best[-1].score], where="post", color=ACCENT,
                  linewidth=2, label="best so far")  # fmt: skip
        axes.set_xlabel("attempts")
        axes.set_ylabel(f"score ({_source(run)})")
        axes.legend(ncols=4, fontsize=9)


def draw_cost(run: OpenRun, path: Path) -> None:
    """The best score so far over the US dollars that were spent."""
    marks = _some_correct(run)
    if not any(one.cost for one in run.marks.marks):
        raise BadInputError(
            "no program of this run cost anything: the rules proposed them all",
            file=run.source.place, hint="plot improvement instead",
        )  # fmt: skip
    spent, total = dict[int, float](), 0.0
    for one in run.marks.marks:
        total += one.cost
        spent[one.number] = total
    best = progress_of(run.marks.marks)
    with figure(path, f"{run.source.title}: what the best cost") as (_, axes):
        axes.scatter([spent[one.number] for one in marks], [one.score for one in marks], s=20,
                     color=DIM, alpha=0.5, linewidths=0, label="programs")  # fmt: skip
        axes.step([*(one.cost for one in best), total],
                  [*(one.score for one in best), best[-1].score], where="post", color=ACCENT,
                  linewidth=2, label="best so far")  # fmt: skip
        axes.set_xlabel("US dollars")
        axes.set_ylabel(f"score ({_source(run)})")
        axes.legend()


def draw_pareto(run: OpenRun, path: Path) -> None:
    """Time (or score) against lines of code: the programs that no other beats in both."""
    marks = _some_correct(run)
    timed = all(one.time_ms is not None for one in marks)
    points = sorted((one.nloc, _cost_of(one, timed), one.number) for one in marks)
    front: list[tuple[int, float, int]] = []
    for point in points:
        if not front or point[1] < front[-1][1]:
            front.append(point)
    sign = 1 if timed else -1
    with figure(path, f"{run.source.title}: short and fast") as (_, axes):
        axes.scatter([one[0] for one in points], [sign * one[1] for one in points], s=22,
                     color=DIM, alpha=0.5, linewidths=0, label="programs")  # fmt: skip
        axes.plot([one[0] for one in front], [sign * one[1] for one in front], "o-", color=ACCENT,
                  label="no other is both shorter and better")  # fmt: skip
        for lines, cost, number in front[:_MOST_LABELS]:
            axes.annotate(str(number), (lines, sign * cost), xytext=(5, 5), fontsize=8, color=INK,
                          textcoords="offset points")  # fmt: skip
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("lines of code")
        axes.set_ylabel(f"milliseconds ({_source(run)})" if timed else "score")
        axes.legend()


def draw_islands(run: OpenRun, path: Path) -> None:
    """Each island's programs over attempts, and what was copied to another one."""
    marks = _some_correct(run)
    places = {one.number: at for at, one in enumerate(run.marks.marks, 1)}
    names = sorted({one.island for one in run.marks.marks})
    scores = [one.score or 0.0 for one in marks]
    low, span = min(scores), (max(scores) - min(scores)) or 1.0
    moves = migrations_of(run.marks.events)
    with figure(path, f"{run.source.title}: islands and migrations") as (drawn, axes):
        for island in names:
            members = [one for one in marks if one.island == island]
            axes.scatter([places[one.number] for one in members],
                         [island - 0.3 + 0.6 * ((one.score or 0.0) - low) / span
                          for one in members],
                         s=24, color=KINDS[island % len(KINDS)], linewidths=0)  # fmt: skip
        for move in moves:
            axes.annotate(
                "", (move.at + 0.4, move.target), (move.at - 0.4, move.source),
                arrowprops={"arrowstyle": "->", "color": "#8a5800", "lw": 1.4},
            )  # fmt: skip
        if moves:
            axes.plot([], [], color="#8a5800", lw=1.4, label="arrow: a copy to another island")
            drawn.legend(loc="outside lower right", fontsize=9)
        axes.set_yticks(names, [f"island {one}" for one in names])
        axes.set_xlabel("attempts; within an island the better are higher")


def draw_similarity(run: OpenRun, path: Path) -> None:
    """Cosine similarity of the best programs' embeddings."""
    rows = run.programs.columns(("number", "embedding"))
    numbers, vectors = embeddings_in(rows)
    if len(numbers) < 2:
        raise BadInputError(
            "similarity needs two programs with embeddings or more", file=run.source.place
        )
    likeness = likeness_of(numbers, vectors, run.marks.marks, _MOST_ALIKE)
    title = f"{run.source.title}: how like the best programs are"
    with figure(path, title, height=7.2) as (drawn, axes):
        picture = axes.imshow(likeness.similarity, cmap="viridis", interpolation="nearest")
        names = [str(one) for one in likeness.number]
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.grid(visible=False)
        drawn.colorbar(picture, ax=axes, label="cosine similarity")


def draw_lineage(run: OpenRun, path: Path) -> None:
    """Which program was made of which; colors by score, the path to the best in blue."""
    marks = run.marks.marks
    _some_correct(run)
    rows = _rows(marks)
    depth: dict[int, int] = {}
    for one in marks:
        depth[one.number] = 0 if one.parent is None else depth.get(one.parent, -1) + 1
    leader = run.leader
    trail = frozenset(one.number for one in path_to(leader or 0, marks))
    height = min(40.0, max(4.8, 0.2 * (max(rows.values()) + 1)))
    with figure(path, f"{run.source.title}: lineage", height=height) as (drawn, axes):
        for one in marks:
            if one.parent in rows:
                x, y = depth[one.parent], rows[one.parent]
                middle, to = x + 0.5, (depth[one.number], rows[one.number])
                on = one.number in trail
                color, width = (ACCENT, 2.2) if on else ("#aab4c2", 0.9)
                axes.plot([x, middle, middle, to[0]], [y, y, to[1], to[1]], color=color,
                          linewidth=width, zorder=2 if on else 1)  # fmt: skip
        good = [one for one in marks if one.correct and one.score is not None]
        ranks = {one.number: at for at, one in enumerate(sorted(good, key=lambda m: m.score or 0))}
        dots = axes.scatter(
            [depth[one.number] for one in good], [rows[one.number] for one in good], zorder=3, s=30,
            c=[ranks[one.number] for one in good], cmap="viridis", linewidths=0,
        )  # fmt: skip
        bad = [one for one in marks if not one.correct]
        axes.scatter([depth[one.number] for one in bad], [rows[one.number] for one in bad], s=14,
                     color=BAD, zorder=3, marker="x", label="failed")  # fmt: skip
        if len(marks) <= _MOST_LABELS:
            for one in marks:
                axes.annotate(str(one.number), (depth[one.number], rows[one.number]), fontsize=7,
                              xytext=(3, 3), textcoords="offset points", color=DIM)  # fmt: skip
        axes.plot([], [], color=ACCENT, linewidth=2.2, label="path to the best")
        drawn.legend(loc="outside lower right", ncols=2, fontsize=9)
        axes.set_xlabel("steps from the seed")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_yticks([])
        axes.invert_yaxis()
        drawn.colorbar(dots, ax=axes, label="rank of the score", pad=0.02)


def _rows(marks: Sequence[Mark]) -> dict[int, float]:
    """Return a row for each program: leaves one after another, the rest amid their children."""
    children: dict[int | None, list[int]] = {}
    known = {one.number for one in marks}
    for one in marks:
        children.setdefault(one.parent if one.parent in known else None, []).append(one.number)
    rows: dict[int, float] = {}
    stack = [(number, False) for number in reversed(children.get(None, []))]
    free = 0
    while stack:
        number, done = stack.pop()
        below = children.get(number, [])
        if not below:
            rows[number] = free
            free += 1
        elif done:
            rows[number] = (rows[below[0]] + rows[below[-1]]) / 2
        else:
            stack.append((number, True))
            stack += [(child, False) for child in reversed(below)]
    return rows


def _some_correct(run: OpenRun) -> list[Mark]:
    found = [one for one in run.marks.marks if one.correct and one.score is not None]
    if not found:
        raise BadInputError("the run has no correct program yet", file=run.source.place)
    return found


def _cost_of(one: Mark, timed: bool) -> float:
    return (one.time_ms or 0.0) if timed else -(one.score or 0.0)


def _failed_below(axes: Any, places: Sequence[int]) -> None:
    if places:
        low = axes.get_ylim()[0]
        axes.scatter(places, [low] * len(places), s=14, marker="x", color=BAD, label="failed")


def _source(run: OpenRun) -> str:
    view = overview_of_run(run)
    return f"{view.time_source}, of {view.scored}" if view.scored else view.time_source
