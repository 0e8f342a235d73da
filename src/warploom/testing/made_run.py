"""A run's folder and store without a search: for tests and benches of what reads them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
from sqlalchemy import create_engine, insert, select

from warploom.core.records import Json
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import Complexity, Event, Lineage, Outcome, StoredProgram
from warploom.store.rows import event_row, row_of
from warploom.store.schema import EVENTS, PROGRAMS, RUNS

_WIDTH = 16
_AT_ONCE = 1000
_OPERATORS = ("single", "several", "crossover")
_FAILURES = ("missing_wait", "build", "wrong_result")


@dataclass(slots=True)
class MadeRun:
    """A run that can be made to grow. `text` stands in every text field of each program."""

    folder: Path
    text: str = ""
    run: str = "evolve-20260101-000000-abcdef"
    paid: bool = False
    _rng: Random = field(default_factory=lambda: Random(7))  # noqa: S311
    _good: list[int] = field(default_factory=lambda: [1])

    @property
    def url(self) -> str:
        """The URL of its database."""
        return sqlite_url(self.folder / "programs.db")

    def begin(self, programs: int, *, finished: bool = True) -> None:
        """Write the folder and its first programs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        facts: dict[str, Json] = {
            "version": 1, "id": self.run, "workload": f"/work/moe{self.text}", "program": "0",
            "seed": "1", "given": True, "inputs": [1], "confirm": [2],
        }  # fmt: skip
        (self.folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
        (self.folder / "config.yaml").write_text("database:\n  url: null\n", encoding="utf-8")
        if finished:
            report = {"stopped": f"all was tried{self.text}", "topology": "h200-8"}
            (self.folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
        with ProgramDatabase(url=self.url, run=self.run) as store:
            for number in range(1, programs + 1):
                store.add(self.program(number))
            for event in self.events(programs) if programs else ():
                store.record(event)

    def begin_large(self, programs: int) -> None:
        """Write a folder of very many programs at once, as no search would."""
        self.begin(0)
        engine = create_engine(self.url)
        with engine.begin() as connection:
            run = connection.execute(select(RUNS.c.id)).scalar_one()
            for first in range(1, programs + 1, _AT_ONCE):
                last = min(first + _AT_ONCE, programs + 1)
                rows = [row_of(run, self.program(number)) for number in range(first, last)]
                connection.execute(insert(PROGRAMS), rows)
            events = [event_row(run, event) for event in self.events(programs)]
            connection.execute(insert(EVENTS), events)
        engine.dispose()

    def grow(self, first: int, count: int) -> None:
        """Add programs, each in a transaction of its own, as a search does."""
        with ProgramDatabase(url=self.url, run=self.run) as store:
            for number in range(first, first + count):
                store.add(self.program(number))

    def program(self, number: int) -> StoredProgram:
        """Return the program of a number; always the same where they are asked for in order."""
        rng, text = self._rng, self.text
        correct = number <= 2 or rng.random() > 0.2
        parent = None if number <= 2 else rng.choice(self._good)
        if correct:
            self._good.append(number)
        gain = 1.0 + 2.0 * (1 - 0.97 ** min(number, 300)) * rng.random()
        operator = "seed" if parent is None else rng.choice(_OPERATORS)
        other = self._good[0] if operator == "crossover" else None
        model = f"test:model{text}" if self.paid and parent is not None else ""
        vector = np.array([rng.gauss(number % 3, 0.3) for _ in range(_WIDTH)], np.float32)
        return StoredProgram(
            number=number,
            code=code_of(number, text),
            lineage=Lineage(
                parent=parent, partner=other, island=number % 3, generation=(number + 2) // 4,
                operator=operator + text, proposer=f"rules{text}", model=model,
                changes=(f"blocks={number % 5}{text}",), archive=(1,), top_k=(2,),
                directives={"blocks": f"{number % 5}{text}", f"group{text}": "each"},
                rejected=2 if number % 9 == 8 else 0,
            ),
            outcome=_outcome(number, gain, text, correct=correct, rng=rng),
            code_hash=f"{number:032x}",
            normal_hash=f"{number:032x}",
            complexity=Complexity(40 + number % 9, 2, 5),
            diff=f"+ line {number}{text}",
            cost=0.01 if model else 0.0,
            created=1_790_000_000.0 + 10.0 * number,
            embedding=(vector / np.linalg.norm(vector)).astype(np.float32),
        )  # fmt: skip

    def events(self, programs: int) -> Iterator[Event]:
        """Yield what happened to the run: a champion, a migration, a summary."""
        outcome = _outcome(1, 2.0, self.text, correct=True, rng=self._rng).to_json()
        yield Event("champion", 1, {"number": 1, "accepted": True, "outcome": outcome})
        yield Event("migration", min(3, programs), {"moves": [[1, 1, 2]]})
        ideas: list[Json] = [f"Try blocks=4{self.text}"]
        told: dict[str, Json] = {
            "upto": programs, "summary": f"Blocks help{self.text}", "cost": 0.0, "model": "",
            "scratchpad": f"blocks=4 is fast{self.text}\nmore lines", "recommendations": ideas,
        }  # fmt: skip
        yield Event("summary", programs, told)


def code_of(number: int, text: str = "") -> str:
    """Return a small program."""
    odd = "\udcff" if text else ""  # a byte that is no UTF-8
    lines = [
        f"// program {number}{text}{odd}",
        "#include <nccl.h>",
        "/* a comment",
        "of two lines */",
    ]
    lines += [f"constexpr int kBlocks = {number % 5};", "__global__ void work(float* out) {"]
    lines += [f'  out[{at}] = {at}.5f; // "{text}"' for at in range(number % 7 + 2)]
    return "\n".join([*lines, "}", "int main() { return 0; }", ""])


def _outcome(number: int, gain: float, text: str, *, correct: bool, rng: Random) -> Outcome:
    failure = "" if correct else f"{rng.choice(_FAILURES)}{text}"
    finding: Mapping[str, Json] = {
        "kind": failure or f"overlapping_puts{text}", "severity": "warning" if correct else "error",
        "message": f"read is not ordered after the write{text}", "hint": f"wait for it{text}",
        "file": f"program{text}.cu", "line": 5, "rank": 1, "kernel": f"work{text}",
        "seed": 3, "timing": "lazy",
        "other": {"file": f"other{text}.cu", "line": 7, "function": ""},
    }  # fmt: skip
    time = 4.0 / gain
    metrics = {"time_ms": time, "compute_ms": time / 2, "baseline_ms": 6.0}
    return Outcome(
        correct=correct,
        score=10_000 / (1 + time) if correct else None,
        time_ms=time if correct else None,
        time_source="modelled" if correct else "none",
        public={
            f"{name}{text}" if name == "compute_ms" else name: v for name, v in metrics.items()
        },
        private={f"runs{text}": 4.0},
        feedback="" if correct else f"it failed{text}",
        failure=failure,
        findings=() if correct and number % 4 else (finding,),
        level=4 if correct else 2,
        seconds=1.5,
    )
