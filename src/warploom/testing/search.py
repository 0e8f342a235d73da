"""A search without a compiler: a text of levers, an evaluator that reads its time off them.

A text is a C++ program with lines `int NAME = VALUE;`, of which `LevelSpace` knows the
values. `LevelEvaluator` prices each value, fails the texts that `breaks` names, and notes each
judgment that it begins in a file, so that a test can see what was judged how often.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.ids import digest
from warploom.evaluation.modelled_time import score_of
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.evolve.evaluator import Question, failed
from warploom.evolve.seeds import Seed, Seeds
from warploom.evolve.space import Step
from warploom.store.records import Outcome
from warploom.workload.workload import Workload

_LEVER = re.compile(r"^int (\w+) = (\w+);$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LevelStep:
    """Sets a lever to a value."""

    lever: str
    value: str

    @property
    def summary(self) -> str:
        """One plain sentence."""
        return f"Sets {self.lever} to {self.value}."


@dataclass(frozen=True, slots=True)
class LevelSpace:
    """Levers by name, each with its values."""

    levers: Mapping[str, tuple[str, ...]]

    def directives(self, source: str) -> Mapping[str, str]:
        """Return the value of each lever that a text has."""
        return {name: value for name, value in _LEVER.findall(source) if name in self.levers}

    def steps(self, source: str) -> Sequence[Step]:
        """Return every single step from a text, in a fixed order."""
        now = self.directives(source)
        return [
            LevelStep(name, value)
            for name in sorted(now)
            for value in self.levers[name]
            if value != now[name]
        ]

    def take(self, source: str, step: Step) -> str | None:
        """Return the text after a step, None where the step no longer applies."""
        if step.lever not in self.directives(source):
            return None
        return re.sub(
            rf"^int {step.lever} = \w+;$", f"int {step.lever} = {step.value};", source,
            flags=re.MULTILINE,
        )  # fmt: skip


def level_text(levels: Mapping[str, str], name: str = "seed") -> str:
    """Return a program of levers."""
    lines = [f"int {lever} = {value};" for lever, value in levels.items()]
    return "\n".join([f"// {name}", *lines, f"void {name}();", "int main() {}"]) + "\n"


@dataclass(frozen=True, slots=True)
class LevelSeeds:
    """Hands out the same seeds each time."""

    texts: Mapping[str, str]

    def __call__(
        self, workload: Workload, apis: Sequence[str], on_progress: ProgressCallback
    ) -> Seeds:
        """Return the seeds, whatever the workload."""
        del workload, apis, on_progress
        return Seeds(tuple(Seed(api, api, text) for api, text in self.texts.items()), {})


@dataclass(frozen=True, slots=True)
class LevelEvaluator:
    """Prices texts: 10 ms times the product of the levels' factors.

    `factors` are by `lever=value` (default 1), `breaks` the levels that make a text fail, `dies`
    those that end the process, and `stalls` those that take an hour. Each judgment that begins
    adds the line `digest inputs` to `log`, and takes `seconds` and up to `jitter` more.
    """

    factors: Mapping[str, float]
    breaks: frozenset[str] = frozenset()
    log: Path | None = None
    seconds: float = 0.0
    dies: frozenset[str] = frozenset()
    time_source: str = "modelled"
    jitter: float = 0.0
    base: Mapping[str, float] = field(default_factory=dict[str, float])
    stalls: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """A digest of the prices."""
        return digest((repr(sorted(self.factors.items())), repr(sorted(self.breaks))))

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path."""
        text = candidate.read_text()
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{digest((text,))} {','.join(map(str, question.inputs))}\n")
        time.sleep(self.seconds + self.jitter * int.from_bytes(os.urandom(1)) / 255)
        levels = {f"{name}={value}" for name, value in _LEVER.findall(text)}
        if levels & self.stalls:
            time.sleep(3600)
        if levels & self.dies:
            os._exit(9)
        if levels & self.breaks:
            return failed("missing_wait", "a wait is missing")
        price = 10.0 * self.base.get(question.api, 1.0)
        for level in sorted(levels):
            price *= self.factors.get(level, 1.0)
        public = {"time_ms": price, "baseline_ms": 12.0, "exposed_ms": price / 3}
        return Outcome(
            True, score_of(price), price, self.time_source, public, {}, level=4,
            seconds=self.seconds,
        )  # fmt: skip
