"""What views show of a run: counts, progress, islands, models, steps. Pure functions of marks."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.core.records import Json
from warploom.reports.queries.clean import clean
from warploom.reports.queries.marks import Mark, champion_number, champion_of
from warploom.store.records import Event
from warploom.store.rows import moves_of

NOT_JUDGED = frozenset(("no_program", "not_novel"))
"""Failures of proposals that came to no program that could be judged."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A program that was better than all before it. `at` counts attempts, seeds included."""

    number: int
    at: int
    score: float
    time_ms: float | None
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True)
class Group:
    """What programs of one kind came to: of an operator, a model, a proposer or an island.

    `best_gain` is how many times as fast (or as good) as its parent the best child was.
    """

    name: str
    attempts: int
    judged: int
    correct: int
    better: int
    best_score: float | None
    best_number: int | None
    best_gain: float | None
    cost: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Migration:
    """One copy of a program from an island to another."""

    at: int
    kind: str
    number: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Failure:
    """How often attempts failed in one way, and the last few of these."""

    kind: str
    count: int
    numbers: list[int]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the search said of itself after `at` attempts. `model` is "" where it was counted."""

    at: int
    summary: str
    scratchpad: str
    recommendations: list[str]
    model: str
    cost: float


@dataclass(frozen=True, slots=True)
class Overview:
    """A run in one look.

    Times are milliseconds, `seconds` wall time of all its processes, `cost` US dollars. The
    champion's figures are from its second judgment; `baseline_ms` is the original program's, from
    the same. `scored` says what the times are of. `rejections` counts proposals that were turned
    away as known before they were judged.
    """

    attempts: int
    correct: int
    failed: int
    champion: int | None
    champion_ms: float | None
    champion_score: float | None
    baseline_ms: float | None
    speedup: float | None
    best: int | None
    best_score: float | None
    time_source: str
    islands: int
    generations: int
    migrations: int
    rejections: int
    summaries: int
    seconds: float
    cost: float
    progress: list[Progress] = field(default_factory=list[Progress])
    scored: str = ""


def overview_of(marks: Sequence[Mark], events: Sequence[Event], seconds: float) -> Overview:
    """Return a run in one look."""
    champion, kinds = champion_of(events), Counter(event.kind for event in events)
    outcome = _mapping(None if champion is None else champion.data.get("outcome"))
    time, base = (
        _number(outcome.get("time_ms")),
        _number(_mapping(outcome.get("public")).get("baseline_ms")),
    )
    progress = progress_of(marks)
    correct = sum(one.correct for one in marks)
    sources = Counter(one.time_source for one in marks if one.correct)
    return Overview(
        attempts=len(marks),
        correct=correct,
        failed=len(marks) - correct,
        champion=champion_number(events),
        champion_ms=time,
        champion_score=_number(outcome.get("score")),
        baseline_ms=base,
        speedup=base / time if base and time else None,
        best=progress[-1].number if progress else None,
        best_score=progress[-1].score if progress else None,
        time_source=sources.most_common(1)[0][0] if sources else "none",
        islands=len(members_of(marks, events)),
        generations=max((one.generation for one in marks), default=0),
        migrations=kinds["migration"],
        rejections=sum(one.rejected for one in marks),
        summaries=kinds["summary"],
        seconds=seconds or _span(marks),
        cost=cost_of(marks, events),
        progress=progress,
    )


def progress_of(marks: Iterable[Mark]) -> list[Progress]:
    """Return the programs that were the best so far when they were recorded."""
    found: list[Progress] = []
    spent, start, best = 0.0, None, float("-inf")
    for at, one in enumerate(marks, 1):
        start = one.created if start is None else start
        spent += one.cost
        if one.correct and one.score is not None and one.score > best:
            best = one.score
            since = max(0.0, one.created - start)
            found.append(Progress(one.number, at, best, one.time_ms, since, spent))
    return found


def cost_of(marks: Iterable[Mark], events: Iterable[Event]) -> float:
    """Return US dollars of attempts and of summaries."""
    told = sum(_number(e.data.get("cost")) or 0.0 for e in events if e.kind == "summary")
    return sum(one.cost for one in marks) + told


def groups_of(marks: Sequence[Mark], by: str) -> list[Group]:
    """Return what programs came to, by the value of one field; most attempts first."""
    known = {one.number: one for one in marks}
    kinds: dict[str, list[Mark]] = defaultdict(list)
    for one in marks:
        kinds[str(getattr(one, by))].append(one)
    found = [_group(name, members, known) for name, members in kinds.items()]
    return sorted(found, key=lambda one: (-one.attempts, one.name))


def _group(name: str, members: Sequence[Mark], known: Mapping[int, Mark]) -> Group:
    gains = [gain for one in members if (gain := gain_of(one, known)) is not None]
    best = max(
        (one for one in members if one.correct and one.score is not None),
        key=lambda one: one.score or 0.0, default=None,
    )  # fmt: skip
    return Group(
        name=name,
        attempts=len(members),
        judged=sum(one.failure not in NOT_JUDGED for one in members),
        correct=sum(one.correct for one in members),
        better=sum(gain > 1.0 for gain in gains),
        best_score=None if best is None else best.score,
        best_number=None if best is None else best.number,
        best_gain=max(gains, default=None),
        cost=sum(one.cost for one in members),
        seconds=sum(one.seconds for one in members),
    )


def gain_of(one: Mark, known: Mapping[int, Mark]) -> float | None:
    """Return how many times as fast (else: as good) as its parent a program is, if both count."""
    parent = None if one.parent is None else known.get(one.parent)
    if parent is None or not one.correct or not parent.correct:
        return None
    if one.time_ms and parent.time_ms:
        return parent.time_ms / one.time_ms
    return one.score / parent.score if one.score is not None and parent.score else None


def path_to(number: int, marks: Iterable[Mark]) -> list[Mark]:
    """Return the programs from a seed to `number`, by parents; none where it is not there."""
    known = {one.number: one for one in marks}
    found: list[Mark] = []
    at: int | None = number
    while at is not None and at in known and len(found) <= len(known):
        found.append(known[at])
        at = known[at].parent
    return found[::-1]


def members_of(marks: Iterable[Mark], events: Iterable[Event]) -> dict[int, list[int]]:
    """Return the correct programs of each island, copies included."""
    found: dict[int, list[int]] = defaultdict(list)
    for one in marks:
        if one.correct:
            found[one.island].append(one.number)
    known = {island: set(numbers) for island, numbers in found.items()}
    for one in migrations_of(events):
        if one.number not in known.setdefault(one.target, set()):
            known[one.target].add(one.number)
            found[one.target].append(one.number)
    return dict(sorted(found.items()))


def migrations_of(events: Iterable[Event]) -> list[Migration]:
    """Return every copy that was made, oldest first."""
    return [
        Migration(event.at, event.kind, number, source, target)
        for event in events
        for number, source, target in moves_of(event)
    ]


def failures_of(marks: Iterable[Mark], most: int = 12) -> list[Failure]:
    """Return failures by kind, the most frequent first, with the numbers of the last `most`."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for one in marks:
        if not one.correct:
            kinds[one.failure or "run"].append(one.number)
    ordered = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Failure(kind, len(all_), all_[-most:]) for kind, all_ in ordered]


def summaries_of(events: Iterable[Event]) -> list[Summary]:
    """Return what the search said of itself, oldest first."""
    return [
        Summary(
            event.at,
            clean(str(event.data.get("summary", ""))),
            clean(str(event.data.get("scratchpad", ""))),
            [clean(str(idea)) for idea in _sequence(event.data.get("recommendations"))],
            clean(str(event.data.get("model", ""))),
            _number(event.data.get("cost")) or 0.0,
        )
        for event in events
        if event.kind == "summary"
    ]


def _span(marks: Sequence[Mark]) -> float:
    return max(0.0, marks[-1].created - marks[0].created) if marks else 0.0


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
