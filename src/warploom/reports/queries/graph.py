"""All programs of a run as columns of numbers, for views that draw every one of them.

Of a very large run the best, the newest, the champion's ancestors and an even sample are given;
`left_out` says how many are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.reports.queries.marks import Mark, champion_number, migrated
from warploom.reports.queries.views import path_to
from warploom.store.records import Event

MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Graph:
    """Programs by columns; equal places belong together.

    `operator`, `proposer`, `model` and `failure` hold places in `words`. `at` is the attempt, from
    1. `last` is to be asked for as `after` to get only what is new; `total` counts all programs.
    `path` are the programs from a seed to the champion (else: to the best).
    """

    last: int
    total: int
    left_out: int
    champion: int | None
    best: int | None
    path: list[int]
    migrated: list[int]
    words: list[str]
    number: list[int]
    at: list[int]
    parent: list[int | None]
    partner: list[int | None]
    island: list[int]
    generation: list[int]
    score: list[float | None]
    time_ms: list[float | None]
    correct: list[bool]
    operator: list[int]
    proposer: list[int]
    model: list[int]
    failure: list[int]
    seconds: list[float]
    cost: list[float]
    created: list[float]


def graph_of(
    marks: Sequence[Mark], events: Sequence[Event], after: int = 0, most: int = MOST_NODES
) -> Graph:
    """Return the programs that were recorded behind the first `after`, as columns."""
    scored = [one for one in marks if one.correct and one.score is not None]
    best = max(scored, key=lambda one: (one.score or 0.0, -one.number), default=None)
    champion = champion_number(events)
    leader = champion if champion is not None else None if best is None else best.number
    path = [] if leader is None else [one.number for one in path_to(leader, marks)]
    wanted = _wanted(marks, path, most)
    fresh = [(at, one) for at, one in enumerate(marks, 1) if at > after and one.number in wanted]
    shown = [one for _, one in fresh]
    words: dict[str, int] = {}

    def word(text: str) -> int:
        return words.setdefault(text, len(words))

    columns = {
        name: [word(getattr(one, name)) for one in shown]
        for name in ("operator", "proposer", "model", "failure")
    }
    return Graph(
        last=len(marks), total=len(marks), left_out=len(marks) - len(wanted), champion=champion,
        best=None if best is None else best.number, path=path,
        migrated=sorted(migrated(events)), words=list(words),
        number=[one.number for one in shown], at=[at for at, _ in fresh],
        parent=[one.parent for one in shown], partner=[one.partner for one in shown],
        island=[one.island for one in shown], generation=[one.generation for one in shown],
        score=[one.score for one in shown], time_ms=[one.time_ms for one in shown],
        correct=[one.correct for one in shown], **columns,
        seconds=[one.seconds for one in shown], cost=[one.cost for one in shown],
        created=[one.created for one in shown],
    )  # fmt: skip


def _wanted(marks: Sequence[Mark], path: Sequence[int], most: int) -> frozenset[int]:
    if len(marks) <= most:
        return frozenset(one.number for one in marks)
    share = most // 4
    ordered = sorted(marks, key=lambda one: -(one.score or 0.0) if one.correct else 1.0)
    step = max(1, len(marks) // share)
    chosen = [*ordered[:share], *marks[-share:], *marks[::step]]
    return frozenset([*path, *(one.number for one in chosen)])
