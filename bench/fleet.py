"""Drives the real scheduler, search and store with a simulated fleet of evaluators.

    python bench/fleet.py [--evaluators 1000] [--programs 10000] [--latency 20] [--failures 0.02]
                          [--url URL] [--json]

Evaluators take `--latency` seconds on average (exponential) of a clock that jumps from end to end,
and lose their work at the rate `--failures` (it is done again, at most three times). What they
would do is priced by levers, in this process; that time is taken out. So `rate` is how many
programs the controller proposes, hands out, takes back and records in a second of one core
(`wall_s` is what each tenth took on this machine, with all else that ran on it): with `--latency`
seconds for an evaluation it keeps `keeps_busy` evaluators busy. Rows tell of each tenth
of the run: `memory_mb` is the process's (resident), `store_mb` the database's file with its log.
With `--url` the store is that database, of PostgreSQL for instance.
"""

import argparse
import heapq
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from common import Row, arguments, show

from warploom.evolve.compose import compose
from warploom.evolve.result import Status
from warploom.evolve.runner import EvolutionRunner
from warploom.jobs.protocol import Done, Loss, Task, lost
from warploom.testing.search import LevelEvaluator, LevelSeeds, LevelSpace, level_text

LEVERS = {f"lever_{at}": tuple(map(str, range(1, 9))) for at in range(20)}


class Fleet:
    """An engine of `slots` evaluators that take their time on a clock of their own."""

    isolated = True

    def __init__(self, slots: int, latency: float, failures: float) -> None:
        self.slots = slots
        self.latency, self.failures = latency, failures
        self.now = 0.0
        self.working = 0.0  # seconds that evaluators would have spent, not we
        self.most_busy = 0
        self._rng = Random(1)
        self._ends: list[tuple[float, int]] = []
        self._tasks: dict[int, Task] = {}

    @property
    def busy(self) -> int:
        """How many evaluators work."""
        return len(self._tasks)

    @property
    def waits(self) -> str:
        """Why nothing goes on: a simulated evaluator always does."""
        return ""

    def submit(self, task: Task) -> None:
        """Begin a piece of work."""
        end = self.now + self._rng.expovariate(1.0 / self.latency)
        heapq.heappush(self._ends, (end, task.key))
        self._tasks[task.key] = task
        self.most_busy = max(self.most_busy, self.busy)

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return the piece that ends next."""
        del seconds
        while self._ends:
            self.now, key = heapq.heappop(self._ends)
            task = self._tasks.pop(key, None)
            if task is None:
                continue
            if self._rng.random() < self.failures:
                return [lost(key, Loss.DIED, "the evaluator went away")]
            began = time.process_time()
            value = task.work()
            self.working += time.process_time() - began
            return [Done(key, value)]
        return []

    def cancel(self, key: int) -> None:
        """Forget a piece of work."""
        self._tasks.pop(key, None)

    def close(self) -> None:
        """Forget all work."""
        self._tasks.clear()


class Watch:
    """Notes a row at each tenth of the programs."""

    def __init__(self, fleet: Fleet, programs: int, store: Path) -> None:
        self.fleet, self.programs, self.store = fleet, programs, store
        self.rows: list[Row] = []
        self._at, self._time, self._worked = 0, time.process_time(), 0.0
        self._wall = time.perf_counter()

    def __call__(self, status: Status) -> None:
        """Look at how far the run is."""
        if status.tried < self._at + max(1, self.programs // 10):
            return
        now, wall = time.process_time(), time.perf_counter()
        seconds = now - self._time - (self.fleet.working - self._worked)
        rate = (status.tried - self._at) / seconds
        page = resource.getpagesize()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
        size = sum(path.stat().st_size for path in self.store.glob("programs.db*"))
        self.rows.append({
            "programs": status.tried, "rate": rate, "ms_each": 1e3 / rate,
            "wall_s": wall - self._wall,
            "keeps_busy": int(rate * self.fleet.latency), "busy": self.fleet.busy,
            "memory_mb": resident >> 20, "store_mb": size >> 20,
            "failed": sum(status.failures.values()),
        })  # fmt: skip
        self._at, self._time, self._worked = status.tried, now, self.fleet.working
        self._wall = wall
        print(self.rows[-1], file=sys.stderr, flush=True)


def main() -> int:
    """Print the table; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--evaluators", type=int, default=1000)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--latency", type=float, default=20.0, help="seconds, on average")
    parser.add_argument("--failures", type=float, default=0.02, help="share of work that is lost")
    parser.add_argument("--url", default="", help="the database, instead of a file")
    options = parser.parse_args()
    factors = {f"{name}={at}": 1.0 - at / 200 for name in LEVERS for at in range(1, 9)}
    start = dict.fromkeys(LEVERS, "1")
    fleet = Fleet(options.evaluators, options.latency, options.failures)
    config = compose([
        f"evolution.max_evaluations={options.programs}", "evolution.plateau=0", "jobs.retries=3",
        "evolution.generation_size=100", "summary.model=false", "summary.interval=0",
        *([f"database.url={options.url}"] if options.url else []),
    ])  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "levers.cu").write_text("int main() { return 0; }\n")
        watch = Watch(fleet, options.programs, place / "run")
        runner = EvolutionRunner(
            config, evaluator=LevelEvaluator(factors), space=LevelSpace(LEVERS), engine=fleet,
            seeds=LevelSeeds({"gin": level_text(start)}), on_status=watch,
        )  # fmt: skip
        result = runner.run(place / "levers.cu", place / "run")
    title = (
        f"{options.evaluators} evaluators of {options.latency:g} s that lose "
        f"{options.failures:.0%}: {result.evaluations} programs in {result.seconds:.0f} s, at most "
        f"{fleet.most_busy} under way"
    )
    show(watch.rows, options.json, title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
