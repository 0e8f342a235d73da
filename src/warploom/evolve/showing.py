"""Turns stored programs into what prompts show of them."""

from warploom.propose.llm.shown import Shown
from warploom.store.database import ProgramDatabase
from warploom.store.records import StoredProgram


def shown_of(database: ProgramDatabase, number: int) -> Shown:
    """Return a stored program as a prompt shows it; private metrics stay out."""
    program = database.get(number)
    outcome, lineage = program.outcome, program.lineage
    return Shown(
        number=number,
        text=program.code,
        operator=lineage.operator,
        correct=outcome.correct,
        time_ms=outcome.time_ms,
        time_source=outcome.time_source,
        score=outcome.score,
        before=_before(database, program),
        directives=lineage.directives,
        metrics=outcome.public,
        feedback=outcome.feedback,
        failure=outcome.failure,
        findings=outcome.findings,
        changes=lineage.changes,
    )


def sound_ancestor(database: ProgramDatabase, number: int) -> StoredProgram | None:
    """Return the nearest correct program that another was made of, without its texts."""
    at = database.brief(number).lineage.parent
    while at is not None:
        found = database.brief(at)
        if found.outcome.correct:
            return found
        at = found.lineage.parent
    return None


def _before(database: ProgramDatabase, program: StoredProgram) -> float | None:
    parent = sound_ancestor(database, program.number)
    if parent is None:
        return None
    outcome = parent.outcome
    return outcome.score if outcome.time_ms is None else outcome.time_ms
