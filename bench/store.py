"""Times the store beside those of ShinkaEvolve and OpenEvolve, in one run.

    python bench/store.py [--sizes 1000,10000] [--peers PYTHON] [--json]

Each store is filled with programs of 6 KB with embeddings of 256 numbers; then three things are
timed, median of 50, in milliseconds: adding a program, drawing a parent with its inspirations, and
looking up whether a text is new. Ours is on disk (SQLite). `--peers` names the Python of a virtual
environment in which `shinka-evolve` and `openevolve` are installed; what is not there is left out.
Programs are mutations of one another, as those of a search are.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from common import Row, arguments, show
from store_work import BYTES, ISLANDS, ROUNDS, ROW, milliseconds, texts, vectors

from warploom.store.config import DatabaseConfig, SelectionConfig
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import Complexity, Lineage, Outcome, StoredProgram


def ours(size: int) -> Row:
    """Return what our store takes at `size` programs."""
    codes, embeddings = list(texts(size + 2 * ROUNDS)), vectors(size + 2 * ROUNDS)
    rng = Random(2)

    def program(at: int) -> StoredProgram:
        lineage = Lineage(
            at if at else None, island=at % ISLANDS, directives={"blocks": str(at % 64)}
        )
        outcome = Outcome(True, rng.random(), 1.0, "modelled", {"time_ms": 1.0}, {}, level=4)
        return StoredProgram(
            at + 1, codes[at], lineage, outcome, complexity=Complexity(150, 1, 1),
            embedding=embeddings[at],
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as made:
        url = sqlite_url(Path(made) / "programs.db")
        with ProgramDatabase(DatabaseConfig(), url=url) as store:
            for at in range(size):
                store.add(program(at))
            add = milliseconds(lambda at: store.add(program(size + at)))
            selection = SelectionConfig(strategy="weighted")

            def draw(at: int) -> None:
                parent = store.sample_parent(at % ISLANDS, selection, rng)
                archive, best = store.inspirations(parent, rng)
                store.get_all((parent, *archive, *best))

            def look_up(at: int) -> None:
                store.duplicate_of(codes[size + ROUNDS + at])
                store.nearest(embeddings[size + ROUNDS + at])

            return _row("warploom", size, add, milliseconds(draw), milliseconds(look_up))


def _row(store: str, size: int, add: float, draw: float, look_up: float) -> Row:
    return {"store": store, "programs": size, "add_ms": add, "draw_ms": draw, "look_up_ms": look_up}


def peers(python: str, size: int) -> Iterator[Row]:
    """Yield what the stores of others take; says which is left out, and why."""
    for name in ("shinka", "openevolve"):
        done = subprocess.run(
            [python, str(Path(__file__).with_name("store_peers.py")), name, str(size)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        rows = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith(ROW)]
        if not rows:
            last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
            print(f"{name} at {size} programs: left out: {last}", file=sys.stderr)
        for add, draw, look_up in rows:
            yield _row(name, size, float(add), float(draw), float(look_up))


def main() -> int:
    """Print the table; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sizes", default="1000,10000,100000", help="programs, by comma")
    parser.add_argument("--peers", default="", help="the Python that has the other stores")
    parser.add_argument("--most", type=int, default=2000, help="programs for the peers, at most")
    options = parser.parse_args()
    rows: list[Row] = []
    for size in map(int, options.sizes.split(",")):
        rows.append(ours(size))
        if options.peers and size <= options.most:
            rows.extend(peers(options.peers, size))
    show(rows, options.json, f"Stores with programs of {BYTES} bytes, median of {ROUNDS} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
