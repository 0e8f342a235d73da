"""A judged program as a prompt shows it, and what is written of it there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warploom.core.records import Json
from warploom.propose.llm.context import cut, listed
from warploom.propose.llm.prompts import quoted

_PARTS = {
    "compute_ms": "compute",
    "exposed_ms": "exposed communication",
    "waiting_ms": "waiting for other ranks",
    "host_ms": "device idle",
}
_FEEDBACK_BYTES = 4000
_SHORT_BYTES = 300
_MOST_FINDINGS = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """One judged program, for a prompt.

    `name` is what it is called there ("program 12"). `time_ms` is None, and `score` what counts,
    where programs are ranked by a score of their own. `directives` are the values of its levers.
    `before` is the time (or the score, where that counts) of the program that it was made of.
    `metrics` are public ones only.
    """

    number: int
    text: str
    operator: str = ""
    correct: bool = False
    time_ms: float | None = None
    time_source: str = "none"
    score: float | None = None
    before: float | None = None
    directives: Mapping[str, str] = field(default_factory=dict[str, str])
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    feedback: str = ""
    failure: str = ""
    findings: Sequence[Mapping[str, Json]] = ()
    changes: Sequence[str] = ()

    @property
    def name(self) -> str:
        """What a prompt calls it."""
        return f"program {self.number}"


def standing(one: Shown) -> str:
    """Return what the judge made of a program, in one line."""
    if not one.correct:
        first = one.feedback.splitlines()[0] if one.feedback else one.failure or "no word"
        return f"failed: {cut(first, _SHORT_BYTES).strip()}"
    if one.time_ms is None:
        told = "correct" if one.score is None else f"score {one.score:.6g} (higher is better)"
        better = one.before is not None and one.score is not None
        return f"{told}, before the change {one.before:.6g}" if better else told
    told = f"{one.time_ms:.4f} ms, {one.time_source}"
    if one.before and one.time_ms:
        told += f", {one.before / one.time_ms:.3f} times as fast as what it was made of"
    return told


def account(one: Shown) -> str:
    """Return one line on a program and how it was made."""
    made = f" ({one.operator}{': ' if one.changes else ''}{', '.join(one.changes)})"
    return f"{one.name}{made if one.operator else ''}: {standing(one)}"


def judgment(one: Shown) -> str:
    """Return all that the judge said of a program: where its time goes, metrics, findings."""
    lines = [standing(one)]
    parts = [f"{word} {one.metrics[key]:.4f} ms" for key, word in _PARTS.items()
             if key in one.metrics]  # fmt: skip
    if parts:
        lines.append(f"The slowest rank's time: {', '.join(parts)}.")
    others = {k: v for k, v in one.metrics.items() if k not in _PARTS and k != "time_ms"}
    if others:
        lines.append("Metrics: " + ", ".join(f"{k} {v:.6g}" for k, v in sorted(others.items())))
    if one.directives:
        levers = [f"{name}={value}" for name, value in sorted(one.directives.items())]
        lines.append(f"Levers as they stand: {', '.join(levers)}.")
    said = [one.feedback] if one.feedback.strip() else []
    said += [_finding(item) for item in one.findings[:_MOST_FINDINGS]]
    if said:
        lines.append(quoted("REPORT", cut("\n".join(said), _FEEDBACK_BYTES)))
    return "\n".join(lines)


def record(programs: Sequence[Shown]) -> str:
    """Return one line for each program."""
    return listed([account(one) for one in programs])


def _finding(item: Mapping[str, Json]) -> str:
    keys = ("kind", "severity", "rank", "kernel", "line", "message", "hint")
    return ", ".join(f"{key}: {item[key]}" for key in keys if item.get(key) is not None)
