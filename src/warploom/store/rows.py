"""Turns programs into rows and back."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from warploom.core.records import Json
from warploom.store.records import Complexity, Event, Lineage, Outcome, StoredProgram

Row: TypeAlias = Mapping[str, Any]


def row_of(run: int, program: StoredProgram) -> dict[str, Any]:
    """Return the columns of a program."""
    lineage, outcome = program.lineage, program.outcome
    vector = program.embedding
    return {
        "run_id": run,
        "number": program.number,
        "language": program.language,
        "code": _storable(program.code),
        "code_hash": program.code_hash,
        "normal_hash": program.normal_hash,
        "parent": lineage.parent,
        "partner": lineage.partner,
        "inspirations": {"archive": list(lineage.archive), "top_k": list(lineage.top_k)},
        "island": lineage.island,
        "generation": lineage.generation,
        "operator": lineage.operator,
        "proposer": lineage.proposer,
        "model": lineage.model,
        "changes": list(lineage.changes),
        "directives": dict(lineage.directives),
        "rejected": lineage.rejected,
        **outcome.to_json(),
        "feedback": _storable(outcome.feedback),
        "nloc": program.complexity.nloc,
        "functions": program.complexity.functions,
        "cyclomatic": program.complexity.cyclomatic,
        "diff": _storable(program.diff),
        "cost": program.cost,
        "created": program.created,
        "embedding": None if vector is None else vector.astype("<f4").tobytes(),
        "projection": list(program.projection) or None,
        "cluster": program.cluster,
    }


def program_of(row: Row) -> StoredProgram:
    """Return the program of a row."""
    seen = row["inspirations"]
    vector = row["embedding"]
    return StoredProgram(
        number=row["number"],
        code=_loaded(row["code"]),
        lineage=Lineage(
            row["parent"], row["partner"], tuple(seen["archive"]), tuple(seen["top_k"]),
            row["island"], row["generation"], row["operator"], row["proposer"], row["model"],
            tuple(row["changes"]), dict(row["directives"]), row["rejected"],
        ),
        outcome=outcome_from({**row, "feedback": _loaded(row["feedback"])}),
        language=row["language"],
        code_hash=row["code_hash"],
        normal_hash=row["normal_hash"],
        complexity=Complexity(row["nloc"], row["functions"], row["cyclomatic"]),
        diff=_loaded(row["diff"]),
        cost=row["cost"],
        created=row["created"],
        embedding=None if vector is None else np.frombuffer(vector, dtype="<f4").astype(np.float32),
        projection=tuple(row["projection"] or ()),
        cluster=row["cluster"],
    )  # fmt: skip


def outcome_from(data: Mapping[str, Any]) -> Outcome:
    """Return the outcome in columns, or in what `Outcome.to_json` made."""
    findings: list[dict[str, Json]] = data["findings"]
    return Outcome(
        correct=bool(data["correct"]),
        score=data["score"],
        time_ms=data["time_ms"],
        time_source=data["time_source"],
        public=dict(data["public"]),
        private=dict(data["private"]),
        feedback=data["feedback"],
        failure=data["failure"],
        findings=tuple(findings),
        level=data["level"],
        seconds=data["seconds"],
    )


def event_row(run: int, event: Event) -> dict[str, Any]:
    """Return the columns of an event."""
    return {"run_id": run, "kind": event.kind, "at": event.at, "data": dict(event.data)}


def moves_of(event: Event) -> Iterator[tuple[int, int, int]]:
    """Yield program, island from, island to of each copy that an event makes."""
    moves = event.data.get("moves")
    for move in moves if isinstance(moves, list) else ():
        if isinstance(move, list) and len(move) == 3 and all(isinstance(x, int) for x in move):
            yield move[0], move[1], move[2]  # pyright: ignore[reportReturnType]


# Databases refuse NUL and bytes that are no UTF-8 (surrogates, in Python): in text they travel as
# the last characters of the last private plane, which no program uses.
_OUT = {0xDC80 + at: 0x10FF80 + at for at in range(128)} | {0: 0x10FF7F}
_BACK = {there: here for here, there in _OUT.items()}


def _storable(text: str) -> str:
    return text if text.isascii() and "\0" not in text else text.translate(_OUT)


def _loaded(text: str) -> str:
    return text if text.isascii() else text.translate(_BACK)
