"""Small SVG charts for pages without script."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from warploom.reports.html.markup import Child, Markup, tag
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.views import Failure, Progress

_WIDTH, _HEIGHT = 880, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 38
_MOST_DOTS = 4000

Scale: TypeAlias = Callable[[float], float]


def short(value: float) -> str:
    """Return a number for people: four digits that count."""
    return f"{value:.4g}"


def progress_chart(marks: Sequence[Mark], progress: Sequence[Progress], label: str) -> Markup:
    """Return scores over attempts: each program a dot, the best so far a line."""
    scores = [one.score for one in marks if one.correct and one.score is not None]
    if not scores:
        return tag("p", "No correct program yet.", class_="dim")
    low, high = min(scores), max(scores)
    spread = (high - low) or abs(high) or 1.0
    low, high = low - 0.05 * spread, high + 0.05 * spread
    last = max(2, len(marks))

    def x(at: float) -> float:
        return round(_LEFT + (at - 1) / (last - 1) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(score: float) -> float:
        return round(_HEIGHT - _BOTTOM - (score - low) / (high - low) * _plot_height(), 1)

    parts: list[Child] = [*_grid(low, high, y), *_ticks(last, x)]
    step = max(1, len(marks) // _MOST_DOTS)
    for at, one in list(enumerate(marks, 1))[::step]:
        if one.correct and one.score is not None:
            name = tag("title", f"program {one.number}: {short(one.score)}")
            parts.append(tag("circle", name, cx=x(at), cy=y(one.score), r=3, class_="dot"))
        else:
            name = tag("title", f"program {one.number}: {one.failure or 'failed'}")
            base = _HEIGHT - _BOTTOM
            parts.append(tag("circle", name, cx=x(at), cy=base, r=2, class_="fail"))
    parts.append(tag("path", d=_steps(progress, last, x, y), class_="best"))
    parts += [tag("circle", cx=x(p.at), cy=y(p.score), r=4, class_="top") for p in progress]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(tag("text", "attempts", x=middle, y=_HEIGHT - 4, text_anchor="middle"))
    return _svg(parts, f"{label} over attempts; the line is the best so far", _HEIGHT)


def _plot_height() -> int:
    return _HEIGHT - _TOP - _BOTTOM


def _steps(progress: Sequence[Progress], last: int, x: Scale, y: Scale) -> str:
    points: list[str] = []
    for one in progress:
        if points:
            points.append(f"H{x(one.at)}")
        points.append(f"{'V' if points else f'M{x(one.at)} '}{y(one.score)}")
    return " ".join([*points, f"H{x(last)}"])


def _grid(low: float, high: float, y: Scale) -> list[Child]:
    parts: list[Child] = []
    for at in range(5):
        value = low + (high - low) * at / 4
        place = y(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=place, y2=place, class_="axis"))
        parts.append(tag("text", short(value), x=_LEFT - 8, y=place + 4, text_anchor="end"))
    return parts


def _ticks(last: int, x: Scale) -> list[Child]:
    places = sorted({1, *(round(1 + (last - 1) * part / 5) for part in range(1, 6))})
    return [
        tag("text", str(at), x=x(at), y=_HEIGHT - _BOTTOM + 18, text_anchor="middle")
        for at in places
    ]


def failure_chart(failures: Sequence[Failure]) -> Markup:
    """Return failures by kind as bars."""
    most = max((one.count for one in failures), default=1)
    parts: list[Child] = []
    for at, one in enumerate(failures):
        top = 8 + 26 * at
        length = round(560 * one.count / most, 1)
        parts.append(tag("text", one.kind[:34], x=212, y=top + 13, text_anchor="end"))
        parts.append(tag("rect", x=222, y=top, width=length, height=18, rx=3, class_="bar"))
        parts.append(tag("text", one.count, x=230 + length, y=top + 13))
    return _svg(parts, "failures by kind", 16 + 26 * len(failures))


def lanes_chart(lanes: Sequence[tuple[str, Sequence[tuple[int, str, bool]]]]) -> Markup:
    """Return events of ranks on lanes: (order, what happened, whether it is the finding's own)."""
    orders = [at for _, events in lanes for at, _, _ in events]
    low, high = min(orders, default=0), max(orders, default=1)
    width = _WIDTH - 90 - _RIGHT
    parts: list[Child] = []
    for row, (name, events) in enumerate(lanes):
        top = 6 + 30 * row
        parts.append(tag("rect", x=90, y=top, width=width, height=22, rx=4, class_="lane"))
        parts.append(tag("text", name, x=80, y=top + 15, text_anchor="end"))
        for at, text, here in events:
            place = round(96 + (at - low) / max(1, high - low) * (width - 12), 1)
            kind = "here" if here else "event"
            label = tag("title", text)
            parts.append(tag("circle", label, cx=place, cy=top + 11, r=5, class_=kind))
    return _svg(parts, "what each rank did before the finding", 12 + 30 * len(lanes))


def _svg(parts: Sequence[Child], label: str, height: int) -> Markup:
    return tag(
        "svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=label,
        xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip
