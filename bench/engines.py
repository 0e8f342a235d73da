"""Prints what each engine adds to an evaluation.

    python bench/engines.py [--pieces N] [--slots N] [--json]

Work that returns at once is handed to each engine in turn: `ms_each` is wall time for a piece while
`slots` of them are under way, `ms_alone` the time from handing one over until its answer is there,
median, with nothing else under way. What it needs is started here, on this machine: a Slurm cluster
of three nodes, a Ray cluster; an engine whose service is not installed is left out, and said.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from common import Row, arguments, show

from warploom.core.errors import MissingToolError
from warploom.jobs import Engine, JobConfig, JobScheduler, Place, Task, open_engine
from warploom.testing.engines import Returns
from warploom.testing.services import ServiceError, ray_cluster, slurm

NAMES = ("inline", "local", "slurm", "ray")
ALONE = 5  # pieces that are timed one by one


@contextmanager
def opened(name: str, slots: int) -> Generator[Engine]:
    """Yield an engine, with the service that it needs."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asked: dict[str, object] = {"engine": name}
        if name == "slurm":
            (folder / "cluster").mkdir()
            stack.enter_context(slurm(folder / "cluster", 3))
        if name == "ray":
            asked["ray"] = {"address": stack.enter_context(ray_cluster(slots)).address}
        engine = open_engine(JobConfig.model_validate(asked), slots, Place(folder / "jobs"))
        stack.callback(engine.close)
        yield engine


def measured(name: str, pieces: int, slots: int) -> Row:
    """Return what an engine takes."""
    with opened(name, slots) as engine:
        scheduler = JobScheduler(engine)
        alone: list[float] = []
        for key in range(ALONE + 1):
            began = time.perf_counter()
            scheduler.submit(Task(key, Returns(key)))
            while scheduler.busy:
                scheduler.wait()
            alone.append(1e3 * (time.perf_counter() - began))
        began = time.perf_counter()
        for key in range(pieces):
            scheduler.submit(Task(key, Returns(key)))
        while scheduler.busy:
            scheduler.wait()
        seconds = time.perf_counter() - began
        return {
            "engine": name, "slots": scheduler.slots, "pieces": pieces,
            "ms_each": 1e3 * seconds / pieces, "ms_alone": statistics.median(alone[1:]),
        }  # fmt: skip


def main() -> int:
    """Print the table; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--pieces", type=int, default=40)
    parser.add_argument("--slots", type=int, default=4)
    options = parser.parse_args()
    rows: list[Row] = []
    for name in NAMES:
        try:
            rows.append(measured(name, options.pieces, options.slots))
        except (ServiceError, MissingToolError) as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
    show(rows, options.json, "What engines add to work that returns at once")
    return 0


if __name__ == "__main__":
    sys.exit(main())
