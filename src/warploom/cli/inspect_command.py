"""`warploom inspect RUN`: what a run has tried so far, read from its store."""

from collections import Counter
from pathlib import Path

from warploom.cli.output import out, print_json, short_path
from warploom.core.records import Json, to_json
from warploom.evolve.account import cost_of, models_used
from warploom.evolve.folder import RunFacts, RunFolder
from warploom.evolve.islands import CHAMPION
from warploom.evolve.summaries import latest_summary
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import StoredProgram

_SHOWN = 10


def run_inspect(folder: Path, *, as_json: bool) -> int:
    """Print a run's best programs, operators and failures; returns 0.

    Raises:
        BadInputError: the folder holds no run, or its database cannot be read.
    """
    place = RunFolder(folder)
    facts, config = place.facts(), place.config()
    url = config.database.url or sqlite_url(place.path / "programs.db")
    run = config.database.run or facts.id
    with ProgramDatabase(config.database, url=url, run=run, read_only=True) as store:
        data = _summary(store, facts, place.path)
        if as_json:
            print_json(data)
        else:
            _print(store, facts, place.path)
    return 0


def _summary(store: ProgramDatabase, facts: RunFacts, folder: Path) -> dict[str, Json]:
    briefs = [store.brief(number) for number in store.numbers]
    champion = _champion(store)
    best: list[Json] = [_program(store.brief(number)) for number in store.top(_SHOWN)]
    return {
        "run": facts.id,
        "folder": str(folder),
        "workload": facts.workload,
        "seed": facts.seed,
        "attempts": len(store),
        "correct": sum(one.outcome.correct for one in briefs),
        "champion": champion,
        "best": best,
        "islands": {str(at): list[Json](one.members) for at, one in store.islands.items()},
        "archive": list[Json](store.archive.members),
        "failures": dict[str, Json](_failures(briefs)),
        "operators": dict[str, Json](Counter(one.lineage.operator for one in briefs)),
        "events": dict[str, Json](Counter(event.kind for event in store.events)),
        "rejected": sum(one.lineage.rejected for one in briefs),
        "models": to_json(models_used(store)),
        "summary": to_json(latest_summary(store)),
        "seconds": store.seconds,
        "cost": cost_of(store),
    }


def _program(one: StoredProgram) -> dict[str, Json]:
    return {
        "number": one.number,
        "time_ms": one.outcome.time_ms,
        "time_source": one.outcome.time_source,
        "score": one.outcome.score,
        "parent": one.lineage.parent,
        "operator": one.lineage.operator,
        "island": one.lineage.island,
        "generation": one.lineage.generation,
        "changes": list[Json](one.lineage.changes),
        "directives": dict[str, Json](one.lineage.directives),
    }


def _standing(one: StoredProgram) -> str:
    outcome = one.outcome
    if outcome.time_ms is None:
        return f"score {outcome.score or 0.0:.6g}"
    return f"{outcome.time_ms:9.4f} ms {outcome.time_source}"


def _champion(store: ProgramDatabase) -> int | None:
    accepted = [e.data["number"] for e in store.events if e.kind == CHAMPION and e.data["accepted"]]
    return accepted[-1] if accepted and isinstance(accepted[-1], int) else None


def _failures(briefs: list[StoredProgram]) -> Counter[str]:
    return Counter(one.outcome.failure for one in briefs if not one.outcome.correct)


def _print(store: ProgramDatabase, facts: RunFacts, folder: Path) -> None:
    briefs = [store.brief(number) for number in store.numbers]
    correct = sum(one.outcome.correct for one in briefs)
    out(f"{short_path(folder)}: {len(briefs)} attempts, {correct} correct, {store.seconds:.0f} s")
    out(f"workload {short_path(facts.workload)}, run {facts.id}")
    champion = _champion(store)
    out("best programs (* is the champion, judged twice)")
    for number in store.top(_SHOWN):
        one = store.brief(number)
        mark = "*" if number == champion else " "
        steps = ", ".join(one.lineage.changes) or "-"
        source = f"from {one.lineage.parent}" if one.lineage.parent else "seed"
        out(
            f" {mark}{number:>5}  {_standing(one)}  island "
            f"{one.lineage.island}  {one.lineage.operator:<9} {source}: {steps}"
        )
    failures = _failures(briefs).most_common()
    out(f"failures: {', '.join(f'{kind} {count}' for kind, count in failures) or 'none'}")
    operators = Counter(one.lineage.operator for one in briefs).most_common()
    out(f"operators: {', '.join(f'{name} {count}' for name, count in operators)}")
    sizes = ", ".join(f"{at}: {len(one)}" for at, one in sorted(store.islands.items()))
    out(f"islands: {sizes or 'none'}; archive: {len(store.archive)} programs")
    _print_models(store, briefs)


def _print_models(store: ProgramDatabase, briefs: list[StoredProgram]) -> None:
    rejected = sum(one.lineage.rejected for one in briefs)
    out(f"turned away as known: {rejected} proposals; cost: ${cost_of(store):.4f}")
    for name, use in models_used(store).items():
        out(
            f"  {name}: {use.attempts} attempts, {use.judged} judged, {use.correct} correct, "
            f"${use.cost:.4f}"
        )
    found = latest_summary(store)
    if found is None:
        return
    out(f"what has been learned: {found.summary}")
    for line in found.scratchpad.splitlines():
        out(f"  {line}")
    for idea in found.recommendations:
        out(f"  to try: {idea}")
