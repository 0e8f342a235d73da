"""One program in full, as pages show it: texts cleaned, huge ones cut, findings by line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.records import Json
from warploom.evaluation.compare.difference import MISSING
from warploom.reports.queries.clean import clean
from warploom.reports.queries.marks import Mark
from warploom.reports.queries.runs import read_object
from warploom.store.records import Event, StoredProgram
from warploom.store.rows import moves_of

MOST_TEXT = 400_000
"""Characters of one text that a page shows; the whole can be downloaded."""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """One finding of a program.

    `here` says that its line is one of the program's own text, `of_original` that it is one of the
    original program (of a result that this one lacks). `other_line` is that of the other
    access where it is in the same text; `replay` is SEED:TIMING of the run
    that showed it, "" where none did.
    """

    kind: str
    severity: str
    message: str
    hint: str
    file: str
    line: int | None
    here: bool
    of_original: bool
    rank: int | None
    kernel: str
    other: str
    other_line: int | None
    replay: str


@dataclass(frozen=True, slots=True)
class ProgramDetail:
    """A program, whole. `code` is cut at `MOST_TEXT`; `code_length` is that of the whole text."""

    number: int
    language: str
    code: str
    code_length: int
    parent: int | None
    seed: int
    partner: int | None
    archive: list[int]
    top_k: list[int]
    children: list[int]
    island: int
    generation: int
    operator: str
    proposer: str
    model: str
    changes: list[str]
    directives: dict[str, str]
    rejected: int
    correct: bool
    score: float | None
    time_ms: float | None
    time_source: str
    metrics: dict[str, float]
    private_metrics: dict[str, float]
    feedback: str
    failure: str
    level: int
    seconds: float
    cost: float
    created: float
    nloc: int
    functions: int
    cyclomatic: int
    findings: list[ShownFinding]
    migrations: list[list[int]]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One question to a language model and its reply, as files of the run's folder hold them."""

    name: str
    model: str
    purpose: str
    prompt: str
    reply: str
    cost: float | None
    latency_s: float | None


def detail_of(one: StoredProgram, marks: Sequence[Mark], events: Iterable[Event]) -> ProgramDetail:
    """Return a program as its page shows it."""
    lineage, outcome, size = one.lineage, one.outcome, one.complexity
    return ProgramDetail(
        number=one.number,
        language=clean(one.language),
        code=clean(one.code[:MOST_TEXT]),
        code_length=len(one.code),
        parent=lineage.parent,
        seed=seed_of(one.number, marks),
        partner=lineage.partner,
        archive=list(lineage.archive),
        top_k=list(lineage.top_k),
        children=[mark.number for mark in marks if mark.parent == one.number],
        island=lineage.island,
        generation=lineage.generation,
        operator=clean(lineage.operator),
        proposer=clean(lineage.proposer),
        model=clean(lineage.model),
        changes=[clean(text) for text in lineage.changes],
        directives={clean(key): clean(str(value)) for key, value in lineage.directives.items()},
        rejected=lineage.rejected,
        correct=outcome.correct,
        score=outcome.score,
        time_ms=outcome.time_ms,
        time_source=outcome.time_source,
        metrics={clean(key): value for key, value in outcome.public.items()},
        private_metrics={clean(key): value for key, value in outcome.private.items()},
        feedback=clean(outcome.feedback[:MOST_TEXT]),
        failure=clean(outcome.failure),
        level=outcome.level,
        seconds=outcome.seconds,
        cost=one.cost,
        created=one.created,
        nloc=size.nloc,
        functions=size.functions,
        cyclomatic=size.cyclomatic,
        findings=[finding_of(item, one.code) for item in outcome.findings],
        migrations=[
            [event.at, source, target]
            for event in events
            for moved, source, target in moves_of(event)
            if moved == one.number
        ],
    )


def seed_of(number: int, marks: Iterable[Mark]) -> int:
    """Return the seed that a program descends from; itself where it is one."""
    parents = {one.number: one.parent for one in marks}
    seen: set[int] = set()
    while (parent := parents.get(number)) is not None and parent in parents and number not in seen:
        seen.add(number)
        number = parent
    return number


def finding_of(item: Mapping[str, Json], code: str) -> ShownFinding:
    """Return a stored finding as pages show it; what is missing of it is empty."""
    line, file = item.get("line"), _text(item.get("file"))
    rank, other = item.get("rank"), item.get("other")
    lines = code.count("\n") + 1
    own = Path(file).suffix in ("", ".cu", ".cpp", ".c", ".py") and _is_candidates(Path(file))
    lacking = item.get("kind") == MISSING
    where, far = "", other.get("line") if isinstance(other, dict) else None
    if isinstance(other, dict) and isinstance(far, int):
        name = Path(_text(other.get("file"))).name
        function = _text(other.get("function"))
        where = f"{name}:{far}{f' in {function}' if function else ''}"
        if name != Path(file).name or not 1 <= far <= lines:
            far = None  # a line of another file
    return ShownFinding(
        kind=_text(item.get("kind")) or "finding",
        severity=_text(item.get("severity")) or "error",
        message=_text(item.get("message")),
        hint=_text(item.get("hint")),
        file=Path(file).name,
        line=line if isinstance(line, int) else None,
        here=isinstance(line, int) and own and not lacking and 1 <= line <= lines,
        of_original=lacking,
        rank=rank if isinstance(rank, int) else None,
        kernel=_text(item.get("kernel")),
        other=where,
        other_line=far if isinstance(far, int) else None,
        replay=f"{item.get('seed')}:{_text(item.get('timing'))}" if item.get("timing") else "",
    )


def _is_candidates(file: Path) -> bool:
    """Whether a path is that of a candidate: one of the workload's own files has the same name."""
    return not file.is_absolute() or any(
        part.startswith(("attempt", "warploom-")) for part in file.parts
    )


def calls_of(folder: Path | None, number: int) -> list[ModelCall]:
    """Return the questions that were asked for an attempt; none where none was kept."""
    if folder is None or not (folder / "llm").is_dir():
        return []
    places = sorted((folder / "llm").glob(f"attempt-{number:03d}--*"))
    return [call for place in places if (call := _call(place)) is not None]


def _call(place: Path) -> ModelCall | None:
    try:
        prompt = (place / "prompt.md").read_text(encoding="utf-8", errors="replace")
        reply = (place / "reply.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    told = read_object(place / "call.json")
    cost, latency = told.get("cost_usd"), told.get("latency_s")
    return ModelCall(
        place.name, _text(told.get("model")), _text(told.get("purpose")),
        clean(prompt[:MOST_TEXT]), clean(reply[:MOST_TEXT]),
        float(cost) if isinstance(cost, str) and _is_number(cost) else None,
        float(latency) if isinstance(latency, int | float) else None,
    )  # fmt: skip


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
