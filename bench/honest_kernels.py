"""Whether acceptance takes right kernels: each task of the internal suite over many secret seeds.

Each seed has cases of its own, and goes through the same acceptance as any candidate; seed by seed
the rules' parameters change, so that several right kernels of a task are judged. Every outcome is
appended to `--log`, and what is there is not done again. As many tasks are judged at a time as
there are processors, or `--jobs`.

    python bench/honest_kernels.py --seeds 20 --log bench/results/honest_kernels.jsonl
"""

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from common import Row, arguments, show

from warploom.core.errors import WarploomError
from warploom.synthesis.codegen import BeyondRulesError, generate
from warploom.synthesis.correctness import accept, prepare_trial
from warploom.synthesis.correctness.building import Builds
from warploom.synthesis.interview import interview
from warploom.synthesis.performance import settings
from warploom.synthesis.records import CorrectnessReport
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.suite import find_suite
from warploom.synthesis.suite.tasks_of import SuiteTask

Outcome = dict[str, str | int | float | bool]
_FORMS = 3
_AT_ONCE = 10  # seeds of a task before the next one: they share builds


def main() -> int:
    """Judge and print a table; returns 1 where a right kernel was rejected."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--suite", default="internal")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--log", type=Path, help="a file of JSON lines to add outcomes to")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    tasks = find_suite(options.suite, options.only)
    kept = _kept(options.log)
    if options.log is not None:
        options.log.parent.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each job is one of as many as processors
    pool = ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn"))
    with pool:
        asked = [
            pool.submit(_judge_and_log, task, seeds, options.log)
            for task, seeds in _wanted(tasks, options.seeds, kept)
        ]
        for one in as_completed(asked):
            kept += one.result()
    rows = [_row(task.name, [one for one in kept if one["task"] == task.name]) for task in tasks]
    show(rows, options.json, "right kernels, judged with secret seeds")
    rejected = sum(int(row["rejected"]) for row in rows)
    print(f"{rejected} rejected of {sum(int(row['trials']) for row in rows)} trials")
    return int(rejected > 0)


def _kept(log: Path | None) -> list[Outcome]:
    if log is None or not log.is_file():
        return []
    return [json.loads(line) for line in log.read_text().splitlines()]


def _wanted(
    tasks: Sequence[SuiteTask], seeds: int, kept: Sequence[Outcome]
) -> Iterator[tuple[SuiteTask, list[int]]]:
    """Return what is to be judged: some seeds of every task, then further ones."""
    for begin in range(1, seeds + 1, _AT_ONCE):
        for task in tasks:
            done = {int(one["seed"]) for one in kept if one["task"] == task.name}
            left = range(begin, min(begin + _AT_ONCE, seeds + 1))
            wanted = [seed for seed in left if not done & {seed, 0}]
            if wanted:
                yield task, wanted


def _judge_and_log(task: SuiteTask, seeds: list[int], log: Path | None) -> list[Outcome]:
    found: list[Outcome] = []
    for one in _judged(task, seeds):
        found.append(one)
        if log is not None:
            with log.open("a") as file:  # one write of one line: others append to it too
                file.write(json.dumps(one) + "\n")
        print(_line(one), file=sys.stderr, flush=True)
    return found


def _judged(task: SuiteTask, seeds: list[int]) -> Iterator[Outcome]:
    with (
        ReferenceProcess(task.file) as reference,
        tempfile.TemporaryDirectory() as secret,
        Builds(1) as builds,
    ):
        try:
            found = interview(reference, "a kernel", "sm_90", [1, 2, 3])
            first = generate(found.graph)
        except BeyondRulesError as error:
            yield {"task": task.name, "seed": 0, "passed": True, "why": error.message, "cases": 0,
                   "seconds": 0.0}  # fmt: skip
            return
        texts = [generate(found.graph, one).text for one in settings(first, _FORMS, 1)]
        for seed in seeds:
            try:
                text = texts[seed % len(texts)]
                trial = prepare_trial(found.spec, reference, seed * 1_000_003, Path(secret), text)
            except WarploomError as error:
                yield {"task": task.name, "seed": seed, "passed": False, "why": error.message,
                       "cases": 0, "seconds": 0.0}  # fmt: skip
                continue
            yield _outcome(task, seed, accept(text, found.spec, trial, jobs=1, builds=builds))


def _outcome(task: SuiteTask, seed: int, report: CorrectnessReport) -> Outcome:
    failed = [f"{check.name}: {check.detail}" for check in report.checks if not check.passed]
    why = failed or [finding.message for finding in report.findings if not report.passed] or [""]
    return {"task": task.name, "seed": seed, "passed": report.passed, "why": why[0],
            "cases": report.cases, "seconds": report.seconds}  # fmt: skip


def _line(one: Outcome) -> str:
    return f"{one['task']} {one['seed']}: {'passed' if one['passed'] else one['why']}"


def _row(task: str, found: list[Outcome]) -> Row:
    trials = [one for one in found if one["seed"]]
    return {
        "task": task,
        "trials": len(trials),
        "rejected": sum(not one["passed"] for one in trials),
        "cases": sum(int(one["cases"]) for one in trials),
        "seconds": sum(float(one["seconds"]) for one in trials),
        "refused": "yes" if found and not trials else "",
    }


if __name__ == "__main__":
    sys.exit(main())
