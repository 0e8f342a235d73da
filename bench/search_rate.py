"""Prints how many programs a search gets through, beside what the latencies allow.

    python bench/search_rate.py [--evaluations N] [--model-s S] [--judge-s S] [--json]

Models on loopback take `--model-s` seconds for a reply, and each evaluation `--judge-s` seconds;
neither needs the processor. Rows differ in how many replies are asked for and how many programs
are judged at once. The bound is the number of programs that the slower of both could get through in
the time between the first evaluation that began and the last one that ended; `share` is what of it
was. Every proposal is new, so that nothing is turned away.
"""

import argparse
import itertools
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import Row, arguments, show

from warploom.evolve.compose import compose
from warploom.evolve.config import MODEL_KINDS, RULES
from warploom.evolve.evaluator import Question
from warploom.evolve.runner import EvolutionRunner
from warploom.store.records import Outcome
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.search import LevelEvaluator, LevelSeeds, LevelSpace, level_text
from warploom.testing.wire import Asked, Reply

SETTINGS = ((2, 2), (4, 4), (8, 4), (4, 8))
"""How many replies are asked for at once, and how many programs are judged."""

LEVERS = {f"lever_{at}": tuple(map(str, range(1, 100))) for at in range(6)}
_PROGRAM = re.compile(r"<<<<BEGIN PROGRAM \w+>>>>\n(.*?)<<<<END PROGRAM", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Clocked:
    """Judges as `LevelEvaluator` does, and notes when it began and ended."""

    inner: LevelEvaluator
    log: Path
    time_source: str = "modelled"

    @property
    def key(self) -> str:
        """That of the inner one."""
        return self.inner.key

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path."""
        began = time.time()
        found = self.inner(candidate, question)
        if len(question.inputs) == 1:  # no champion's second judgment
            with self.log.open("a") as file:
                file.write(f"{began} {time.time()}\n")
        return found


def _texts(value: object) -> Iterator[str]:
    """Yield every text of a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


class Writer:
    """A model that answers each request with a program that nobody had before."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        """Answer one request."""
        with self.lock:
            number = next(self.numbers)
        prompts = [_PROGRAM.findall(text) for text in _texts(asked.body)]
        text = next(found[-1] for found in prompts if found)
        for at in range(6):
            value = number // 99**at % 99 + 1
            text = re.sub(rf"int lever_{at} = \w+;", f"int lever_{at} = {value};", text)
        return Reply(f"```cuda\n{text}```\n", input_tokens=900, output_tokens=90,
                     delay=self.seconds)  # fmt: skip


def rate(asked: int, judged: int, options: argparse.Namespace) -> Row:
    """Run one search; return its row."""
    start = level_text(dict.fromkeys(LEVERS, "1"), "gin")
    with tempfile.TemporaryDirectory() as made, LoopbackServer(Writer(options.model_s)) as server:
        folder = Path(made)
        program = folder / "levers.cu"
        program.write_text(start)
        evaluator = Clocked(LevelEvaluator({}, seconds=options.judge_s), folder / "log")
        config = compose([
            f"evolution.max_evaluations={options.evaluations}", f"evolution.workers={judged}",
            "evolution.plateau=0", "evolution.max_dollars=1000", "summary.interval=0",
            f"models.names=[{server.model('anthropic')}]", f"models.concurrency={asked}",
            *(f"phases.{phase}.operators.{name}={int(name == 'full')}"
              for phase in ("explore", "exploit") for name in (*RULES, *MODEL_KINDS)),
        ])  # fmt: skip
        runner = EvolutionRunner(
            config, evaluator=evaluator, seeds=LevelSeeds({"gin": start}), space=LevelSpace(LEVERS)
        )
        runner.run(program, folder / "run")
        times = [tuple(map(float, line.split())) for line in evaluator.log.read_text().splitlines()]
    times = sorted(times)[1:]  # the seed goes first, alone
    seconds = max(end for _, end in times) - times[0][0]
    per_second = min(asked / options.model_s, judged / options.judge_s)
    # The first `judged` begin at once where enough replies are there: a pipe that is filled.
    bound = per_second * (seconds - options.judge_s) + min(judged, asked)
    return {
        "replies_at_once": asked, "judged_at_once": judged, "programs": len(times),
        "seconds": seconds, "per_minute": 60 * len(times) / seconds,
        "bound_per_minute": 60 * bound / seconds, "share": len(times) / bound,
    }  # fmt: skip


def main() -> int:
    """Print the table; return the exit code: 1 where a share is below 0.95."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--evaluations", type=int, default=80)
    parser.add_argument("--model-s", type=float, default=2.0, help="seconds of a reply")
    parser.add_argument("--judge-s", type=float, default=2.0, help="seconds of an evaluation")
    options = parser.parse_args()
    os.environ["ANTHROPIC_API_KEY"] = KEY
    rows = [rate(asked, judged, options) for asked, judged in SETTINGS]
    show(rows, options.json, f"{options.model_s} s a reply, {options.judge_s} s an evaluation")
    return 0 if all(float(row["share"]) >= 0.95 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
