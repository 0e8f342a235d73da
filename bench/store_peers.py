"""What `bench/store.py` runs in the environment of the other stores: `store_peers.py STORE SIZE`.

It prints one line, `ROW add draw look_up`, each in milliseconds.
"""

import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from store_work import ISLANDS, ROUNDS, ROW, milliseconds, texts, vectors

Steps = tuple[Callable[[int], object], Callable[[int], object], Callable[[int], object]]


def shinka(size: int, folder: Path) -> Steps:
    """Return add, draw and look up of ShinkaEvolve's store, filled.

    Children live on their parent's island: all of these on the first.
    """
    module: Any = import_module("shinka.database")
    config = module.DatabaseConfig(db_path=str(folder / "programs.sqlite"), num_islands=ISLANDS)
    store = module.ProgramDatabase(config, embedding_model="", read_only=False)
    codes, rows, rng = list(texts(size + 2 * ROUNDS)), vectors(size + 2 * ROUNDS), Random(2)

    def add(at: int) -> None:
        store.add(module.Program(
            id=f"p{at}", code=codes[at], parent_id=f"p{at - 1}" if at else None, generation=at,
            island_idx=at % ISLANDS, correct=True, combined_score=rng.random(),
            embedding=rows[at].tolist(),
        ))  # fmt: skip

    for at in range(size):
        add(at)
    return (
        lambda at: add(size + at),
        lambda at: store.sample(target_generation=size + at),
        lambda at: store.compute_similarity(rows[size + ROUNDS + at].tolist(), 0),
    )


def openevolve(size: int, folder: Path) -> Steps:
    """Return add, draw and look up of OpenEvolve's store, in memory and filled.

    Its look-up needs a server for embeddings: what it does with them is called here.
    """
    del folder
    module: Any = import_module("openevolve.database")
    config: Any = import_module("openevolve.config").DatabaseConfig(
        num_islands=ISLANDS, population_size=size + 2 * ROUNDS, log_prompts=False
    )
    store = module.ProgramDatabase(config)
    codes, rows, rng = list(texts(size + 2 * ROUNDS)), vectors(size + 2 * ROUNDS), Random(2)

    def add(at: int) -> None:
        score = rng.random()
        store.add(
            module.Program(
                id=f"p{at}", code=codes[at], parent_id=f"p{at - 1}" if at else None,
                generation=at, metrics={"combined_score": score},
                embedding=rows[at].tolist(),
            ),
            iteration=at, target_island=at % ISLANDS,
        )  # fmt: skip

    def look_up(at: int) -> None:
        wanted = rows[size + ROUNDS + at].tolist()
        for number in store.islands[at % ISLANDS]:
            store._cosine_similarity(wanted, store.programs[number].embedding)

    for at in range(size):
        add(at)
    return lambda at: add(size + at), lambda at: store.sample_from_island(at % ISLANDS), look_up


def main() -> int:
    """Time one store; return the exit code."""
    name, size = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as made:
        steps = {"shinka": shinka, "openevolve": openevolve}[name](size, Path(made))
        print(ROW, *(f"{milliseconds(step):.6f}" for step in steps), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
