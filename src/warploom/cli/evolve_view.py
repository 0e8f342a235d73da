"""The live view of a search on stderr: best so far, islands, rates, failures, time left."""

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table

from warploom.cli.output import say
from warploom.evaluation.runs.plan import Progress, ignore_progress
from warploom.evolve.result import Status

OnProgress = Callable[[Progress], None]
OnStatus = Callable[[Status], None]
_SAY_EVERY = 10.0  # seconds between lines where stderr is no terminal


@contextmanager
def watching(enabled: bool = True) -> Generator[tuple[OnProgress, OnStatus]]:
    """Show how far a search is while the body runs.

    On a terminal this is a live panel; else a line now and then; with `WARPLOOM_PROGRESS=json` a
    line of JSON for each attempt. Not `enabled`, only JSON is shown.
    """
    if os.environ.get("WARPLOOM_PROGRESS") == "json":
        yield _say_step, lambda status: _say_step(Progress("evolve", status.tried, status.planned))
    elif not enabled:
        yield ignore_progress, lambda _: None
    elif not sys.stderr.isatty():
        yield ignore_progress, _Lines()
    else:
        with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:
            view = _Panel(live)
            yield view.step, view.show


def _say_step(step: Progress) -> None:
    say(json.dumps({"progress": {"stage": step.stage, "done": step.done, "total": step.total}}))


class _Lines:
    """Says a line now and then."""

    def __init__(self) -> None:
        self._said = 0.0

    def __call__(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._said >= _SAY_EVERY or status.tried >= status.planned:
            self._said = now
            say(line_of(status))


class _Panel:
    """Draws the panel."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._bars = Bars(
            TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), expand=False
        )
        self._task = self._bars.add_task("seeds", total=1)

    def step(self, step: Progress) -> None:
        """Show a step of making the seeds."""
        self._bars.update(self._task, description=step.stage, completed=step.done, total=step.total)
        self._live.update(Panel(self._bars, title="seeds", expand=False))

    def show(self, status: Status) -> None:
        """Show how far the search is."""
        self._bars.update(
            self._task, description=status.phase, completed=status.tried, total=status.planned
        )
        body = Group(self._bars, _facts(status), _islands(status))
        self._live.update(Panel(body, title=f"evolve, generation {status.generation}",
                                expand=False))  # fmt: skip


def line_of(status: Status) -> str:
    """Return one line on how far a search is."""
    parts = [f"{status.tried} of {status.planned} evaluations", _best(status)]
    if status.best_ms and status.baseline_ms:
        parts.append(f"{status.baseline_ms / status.best_ms:.2f} times as fast as host-driven")
    if status.failures:
        parts.append(f"{status.failures.total()} failed")
    parts.append(f"{status.elapsed:.0f} s")
    if status.left is not None:
        parts.append(f"about {status.left:.0f} s left")
    if status.waits:
        parts.append(status.waits)
    return ", ".join(parts)


def _best(status: Status) -> str:
    if status.best_ms is not None:
        return f"best {status.best_ms:.4f} ms ({status.time_source})"
    if status.best_score is not None:
        return f"best score {status.best_score:.6g}"
    return f"no champion yet ({status.time_source})"


def _facts(status: Status) -> Table:
    table = Table.grid(padding=(0, 2))
    best = _best(status)
    if status.best_ms and status.baseline_ms:
        best += f", {status.baseline_ms / status.best_ms:.2f} times as fast as host-driven"
    table.add_row("best", best)
    rate = 60.0 * status.tried / status.elapsed if status.elapsed > 0 else 0.0
    table.add_row("rate", f"{rate:.1f} evaluations a minute, {status.busy} under way")
    left = "-" if status.left is None else f"about {status.left:.0f} s"
    table.add_row("time", f"{status.elapsed:.0f} s, left {left}")
    table.add_row("cost", f"${status.cost:.2f}")
    if status.waits:
        table.add_row("waits", status.waits)
    failures = ", ".join(f"{kind} {count}" for kind, count in status.failures.most_common(4))
    table.add_row("failures", failures or "none")
    return table


def _islands(status: Status) -> Table:
    table = Table(box=None, padding=(0, 2))
    for name in ("island", "correct", "best"):
        table.add_column(name, justify="right")
    for at, (count, best) in status.islands.items():
        table.add_row(str(at), str(count), "-" if best is None else f"{best:.4f}")
    return table
