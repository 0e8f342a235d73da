"""Replays of findings, where a run's folder holds them: what each rank did before.

`warploom plot replay` makes them: `replays/NUMBER-SEED-TIMING.json` has the findings of that run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.finding_pages import page_of, section
from warploom.core.records import Json
from warploom.evaluation.compare.difference import RESULT_CURES
from warploom.reports.queries.clean import clean
from warploom.reports.queries.details import ShownFinding, finding_of
from warploom.reports.queries.runs import read_object
from warploom.store.records import StoredProgram

_MOST_EVENTS = 2000


@dataclass(frozen=True, slots=True)
class ReplayEvent:
    """Something that a rank did before a finding, in order of `seq`.

    `lane` is who did it on that rank: the host, or a kernel. `place` is "own" at the finding's own
    line and for itself, which is the last one, "other" at that of the other access, else "".
    """

    seq: int
    rank: int
    lane: str
    who: str
    text: str
    line: int | None
    place: str


@dataclass(frozen=True, slots=True)
class FindingPage:
    """A finding with what is known of its kind, and what each rank did before it.

    `meaning` and `cure` are of the page of its kind (Markdown), "" without one; kinds about results
    have a cure and no page. `replayed` says
    whether a replay is kept; `events` are empty also where it did not show the finding again.
    """

    number: int
    at: int
    of: int
    finding: ShownFinding
    meaning: str
    cure: str
    replayed: bool
    events: list[ReplayEvent]


def replay_path(folder: Path, number: int, replay: str) -> Path:
    """Return where the replay of a program's run is kept; `replay` is SEED:TIMING."""
    return folder / "replays" / f"{number}-{replay.replace(':', '-')}.json"


def finding_page(one: StoredProgram, at: int, folder: Path | None) -> FindingPage | None:
    """Return the page of a program's finding, counted from 1; None where it has not so many."""
    if not 1 <= at <= len(one.outcome.findings):
        return None
    stored = one.outcome.findings[at - 1]
    shown = finding_of(stored, one.code)
    page = page_of(shown.kind)
    kept = _kept(folder, one.number, shown.replay)
    found = None if kept is None else _same(stored, kept)
    events = [] if found is None else _events(found)
    return FindingPage(
        one.number, at, len(one.outcome.findings), shown, section(page, ""),
        section(page, "Cure") or RESULT_CURES.get(shown.kind, ""), kept is not None, events,
    )  # fmt: skip


def _kept(folder: Path | None, number: int, replay: str) -> list[Mapping[str, Json]] | None:
    if folder is None or not replay:
        return None
    path = replay_path(folder, number, replay)
    if path.parent != folder / "replays" or not path.is_file():
        return None
    found = read_object(path).get("findings")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else None


def _same(wanted: Mapping[str, Json], found: list[Mapping[str, Json]]) -> Mapping[str, Json] | None:
    """Return the finding of a replay that is the stored one: of its kind, at its line at best."""
    alike = [one for one in found if one.get("kind") == wanted.get("kind")]
    there = [one for one in alike if one.get("line") == wanted.get("line")]
    return next(iter(there or alike), None)


def _events(finding: Mapping[str, Json]) -> list[ReplayEvent]:
    trace = finding.get("trace")
    if not isinstance(trace, list):
        return []
    other = finding.get("other")
    far = other.get("line") if isinstance(other, dict) else None
    events = [
        _event(one, finding.get("line"), far)
        for one in trace[-_MOST_EVENTS:]
        if isinstance(one, dict)
    ]
    return [*events, _itself(finding, events[-1].seq + 1)] if events else []


def _itself(finding: Mapping[str, Json], seq: int) -> ReplayEvent:
    """Return the finding as the last event: replays record calls and kernels, no single access."""
    told = {name: finding.get(name) for name in ("rank", "kernel", "block", "thread", "line")}
    last = _event({**told, "seq": seq, "text": finding.get("message")}, None, None)
    return replace(last, place="own")


def _event(one: Mapping[str, Json], own: Json, other: Json) -> ReplayEvent:
    rank, line, seq = one.get("rank"), one.get("line"), one.get("seq")
    kernel = _text(one.get("kernel"))
    parts = [kernel or "host"]
    parts += [f"{name} {_indices(one[name])}" for name in ("block", "thread") if one.get(name)]
    known = isinstance(line, int)
    place = "own" if known and line == own else "other" if known and line == other else ""
    return ReplayEvent(
        seq if isinstance(seq, int) else 0, rank if isinstance(rank, int) else 0, kernel or "host",
        ", ".join(parts), _text(one.get("text")), line if isinstance(line, int) else None, place,
    )  # fmt: skip


def _indices(value: Json) -> str:
    return f"({', '.join(map(str, value))})" if isinstance(value, list) else str(value)


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
