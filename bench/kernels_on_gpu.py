"""Measures the internal suite's kernels on a GPU beside PyTorch, at sizes that fill it.

    python bench/kernels_on_gpu.py measure OUT.json [--only TASK,...] [--mib N] [--jobs N]
                                                    [--rounds N] [--calls N] [--seconds S]
                                                    [--tools TOOL,...]
    python bench/kernels_on_gpu.py table OUT.json... [--only TASK,...] [--without TASK,...]

The kernels are those of the rules with their usual parameters: what `warploom eval --suite
internal` verifies in the emulator. Each is judged on the GPU with the cases of a trial, twice and
under the `--tools` of compute-sanitizer. Then its sizes are doubled, the least one first, until
its inputs and outputs together have `--mib` MiB (products: an eighth of that), and it takes turns
with the reference in eager mode and in each of torch.compile's: `--rounds` times `--calls` calls,
other values and new buffers for each call, the GPU busy and the cache overwritten before it, its
outputs compared, and a copy of as many bytes in each turn.
`--jobs` tasks at a time are made ready (those of `--only` in its order); whoever is timed then has
the GPU to itself, while the processors draw and compare values of others.
After `--seconds` no further ones are begun. OUT.json has every task: what was found, the medians,
and the raw times; those that are there already are not done again. Of several files, the table
has what the last one says of a task.
"""

import argparse
import contextlib
import fcntl
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from warploom.core.errors import WarploomError
from warploom.core.records import Finding, to_json
from warploom.hardware import HardwareRun, Setup
from warploom.synthesis.codegen import generate
from warploom.synthesis.correctness import prepare_trial
from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.correctness.expectations import Judge, PreparedCase, prepare_case
from warploom.synthesis.correctness.running import ITEM_BYTES
from warploom.synthesis.interview import interview
from warploom.synthesis.performance.measured import (
    Launch,
    bytes_moved,
    judge_on_gpu,
    launcher,
    report_of,
    require_gpu,
    take_times,
    time_reference,
    write_timed,
)
from warploom.synthesis.records import KernelSpec, TensorArg
from warploom.synthesis.reference.client import COPY, Baseline, ReferenceProcess
from warploom.synthesis.sizes import shape_value
from warploom.synthesis.suite import SuiteTask, find_suite

T = TypeVar("T")
_SEED = 41


def bytes_of(tensors: Sequence[TensorArg], sizes: Mapping[str, int]) -> int:
    """Return how many bytes tensors have at the given sizes."""
    return sum(
        math.prod(shape_value(tensor.shape, sizes)) * ITEM_BYTES.get(tensor.dtype, 1)
        for tensor in tensors
    )


def filling(spec: KernelSpec, least: int) -> dict[str, int]:
    """Return sizes with which all tensors together, or what is looked up, have `least` bytes."""
    sizes = {symbol.name: symbol.example for symbol in spec.symbols}
    while sizes and _moved(spec, sizes) < least:
        sizes[min(sizes, key=lambda name: sizes[name])] *= 2
    return sizes


def _moved(spec: KernelSpec, sizes: Mapping[str, int]) -> int:
    """Return the bytes of all tensors; of what is looked up and reduced, where that is more."""
    whole = bytes_of((*spec.inputs, *spec.outputs), sizes)
    if not any(tensor.index_of for tensor in spec.inputs):
        return whole
    kept = " ".join(size for tensor in spec.outputs for size in tensor.shape)
    lost = [name for name in spec.reduced if not re.search(rf"\b{name}\b", kept)]
    return max(whole, bytes_of(spec.outputs, sizes) * math.prod(sizes[name] for name in lost))


@dataclass(frozen=True, slots=True)
class Ready:
    """A task whose kernel is built, and whose cases and timed calls are drawn."""

    spec: KernelSpec
    launch: Launch
    trial: Sequence[PreparedCase]
    cases: Sequence[PreparedCase]
    plans: Sequence[CasePlan]
    reference: ReferenceProcess
    folder: Path
    lock: Path
    kept: contextlib.ExitStack

    def turn(self, number: int) -> tuple[Baseline, ...]:
        """Time the reference in all modes, with values of this turn's own."""
        plans = [replace(plan, seed=plan.seed + 1000 * (number + 1)) for plan in self.plans]
        lock = self.lock if number >= 0 else None
        return time_reference(
            self.reference, self.spec, plans, bytes_moved(self.cases[0]), lock
        )  # fmt: skip

    def alone(self, cases: Path, tool: str) -> HardwareRun:
        """Run the kernel while nobody else uses the GPU."""
        with self.lock.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return self.launch(cases, tool)


def draw(task: SuiteTask, setup: Setup, options: argparse.Namespace, lock: Path) -> Ready:
    """Generate and build a task's kernel, and draw its calls: all that needs no GPU."""
    kept = contextlib.ExitStack()
    with contextlib.ExitStack() as stack:
        reference = stack.enter_context(ReferenceProcess(task.file, ""))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warploom-")))
        secret = folder / "secret"
        secret.mkdir()
        found = interview(reference, task.prompt, "sm_90", [_SEED, _SEED + 1, _SEED + 2])
        kernel = generate(found.graph)
        launch = launcher(kernel.text, setup, folder, 120.0)
        trial = prepare_trial(found.spec, reference, _SEED, secret, kernel.text)
        least = options.mib << 20
        if "product" in kernel.forms:
            least //= 8
        sizes = filling(found.spec, least)
        plans = [
            CasePlan(f"timed-{at}", "timed", sizes, "normal", _SEED + 10 + at)
            for at in range(options.calls)
        ]
        judge = Judge("cuda", lock)
        cases = [prepare_case(found.spec, plan, reference, secret, judge) for plan in plans]
        kept = stack.pop_all()
    return Ready(found.spec, launch, trial.cases, cases, plans, reference, folder, lock, kept)


def warm(ready: Ready, tools: Sequence[str]) -> list[Finding]:
    """Judge a kernel on the GPU, and have torch.compile do its work; returns what is wrong."""
    wrong = judge_on_gpu(ready.launch, ready.spec, ready.trial, ready.folder / "trial", tools)
    ready.turn(-1)
    return wrong


def outcome(ready: Ready, wrong: Sequence[Finding], rounds: int) -> dict[str, object]:
    """Time a task; returns what is written of it."""
    gpu = ready.reference.gpu()
    laid = write_timed(ready.spec, ready.cases, ready.folder / "timed")
    taken = take_times(ready.alone, ready.turn, ready.folder / "timed", rounds)
    made = report_of(taken, ready.spec, laid, gpu)
    found = [finding.message for finding in wrong]
    if isinstance(made, Finding):
        return {"findings": [*found, made.message], "trials": len(ready.trial)}
    return {
        "findings": found, "trials": len(ready.trial), "report": to_json(made),
        "modes_ms": {mode: statistics.median(ms) for mode, ms in taken.baselines.items()},
    }  # fmt: skip


class Campaign:
    """Measures tasks batch by batch, and writes what is known after each."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.file: Path = options.files[0]
        self.tools = names_of(options.tools)
        # Each job has its share of the processors: for torch.compile, and for what is expected.
        share = str(max(1, len(os.sched_getaffinity(0)) // options.jobs))
        for name in ("TORCHINDUCTOR_COMPILE_THREADS", "WARPLOOM_REFERENCE_THREADS"):
            os.environ.setdefault(name, share)
        self.setup = require_gpu()
        self.done: dict[str, dict[str, object]] = {}
        if self.file.is_file():
            self.done = json.loads(self.file.read_text())

    def run(self, tasks: Sequence[SuiteTask]) -> None:
        """Measure tasks; while a batch has the GPU, the next one is drawn on the processors."""
        jobs, end = self.options.jobs, time.monotonic() + self.options.seconds
        batches = [tasks[at : at + jobs] for at in range(0, len(tasks), jobs)]
        with (
            tempfile.TemporaryDirectory() as folder,
            ThreadPoolExecutor(jobs) as ahead,
            ThreadPoolExecutor(jobs) as pool,
        ):
            lock = Path(folder) / "gpu.lock"

            def begun(batch: Sequence[SuiteTask]) -> dict[str, Future[Ready]]:
                return {
                    one.name: ahead.submit(draw, one, self.setup, self.options, lock)
                    for one in batch
                }

            drawn = begun(batches[0]) if batches else {}
            for following in [*batches[1:], []]:
                ready = self._results(drawn)
                late = time.monotonic() > end
                drawn = {} if late else begun(following)
                if not late:
                    self._batch(ready, pool)
                for one in ready.values():
                    one.kept.close()
                if late:
                    return

    def _batch(self, ready: dict[str, Ready], pool: ThreadPoolExecutor) -> None:
        warmed = self._results(
            {name: pool.submit(warm, one, self.tools) for name, one in ready.items()}
        )
        rounds = self.options.rounds
        timed = {
            pool.submit(outcome, ready[name], wrong, rounds): name for name, wrong in warmed.items()
        }
        for future in as_completed(timed):
            name = timed[future]
            for found in self._results({name: future}).values():
                self._keep(name, found)

    def _results(self, futures: Mapping[str, Future[T]]) -> dict[str, T]:
        """Wait for all; those that failed are written as refused."""
        found: dict[str, T] = {}
        for name, future in futures.items():
            try:
                found[name] = future.result()
            except WarploomError as error:
                self._keep(name, {"refused": error.message})
            except Exception as error:  # noqa: BLE001 - the other tasks' results are worth more
                self._keep(name, {"refused": f"{type(error).__name__}: {error}"})
        return found

    def _keep(self, name: str, found: dict[str, object]) -> None:
        self.done[name] = found
        print(f"{time.strftime('%T')} {name} {json.dumps(found)}", flush=True)
        self.file.write_text(json.dumps(self.done, indent=1) + "\n")


def measure_all(options: argparse.Namespace) -> int:
    """Measure every task that is not there yet; return 1 where something is wrong with one."""
    campaign = Campaign(options)
    only = names_of(options.only)
    todo = [task for task in find_suite("internal", only) if task.name not in campaign.done]
    todo.sort(key=lambda task: only.index(task.name) if only else 0)
    campaign.run(todo)
    return 1 if any(one.get("findings") for one in campaign.done.values()) else 0


def table(files: Sequence[Path], only: Sequence[str], without: Sequence[str]) -> int:
    """Print the table, and the medians of ratio and share."""
    done: dict[str, Any] = {}
    for file in files:
        done |= json.loads(file.read_text())
    done = {k: v for k, v in done.items() if k not in without and (not only or k in only)}
    print("| task | sizes | MiB | kernel, us | eager, us | compiled, us | ratio | of copying |")
    print("|---|---|---|---|---|---|---|---|")
    ratios, shares = [], []
    for name, one in sorted(done.items()):
        if "report" not in one:
            print(f"| {name} | {one.get('refused') or one['findings'][0]} | | | | | | |")
            continue
        report, modes = one["report"], one["modes_ms"]
        mine = report["time_ms"]
        compiled = min(
            (ms for mode, ms in modes.items() if mode not in ("eager", COPY)), default=math.inf
        )
        ratio, share = min(compiled, modes["eager"]) / mine, report["floor_ms"] / mine
        ratios.append(ratio)
        shares.append(share)
        sizes = " ".join(str(size) for size in report["sizes"].values())
        print(
            f"| {name} | {sizes} | {report['bytes_moved'] / 2**20:.0f} | {mine * 1e3:.1f} | "
            f"{modes['eager'] * 1e3:.1f} | {compiled * 1e3:.1f} | {ratio:.2f} | {share:.2f} |"
        )
    print(
        f"\n{len(ratios)} tasks; median ratio {statistics.median(ratios):.2f}, median share of "
        f"the copying rate {statistics.median(shares):.2f}"
    )
    return 0


def names_of(text: str) -> list[str]:
    """Return what an option names by comma."""
    return [name for name in text.split(",") if name]


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("files", type=Path, nargs="+", metavar="file")
    parser.add_argument("--only", default="", help="tasks, by comma")
    parser.add_argument("--without", default="", help="tasks that the table leaves out, by comma")
    parser.add_argument("--mib", type=int, default=128)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--tools", default="memcheck,racecheck", help="of compute-sanitizer")
    options = parser.parse_args()
    if options.what == "table":
        return table(options.files, names_of(options.only), names_of(options.without))
    if len(options.files) > 1:
        parser.error("measure takes one file")
    return measure_all(options)


if __name__ == "__main__":
    sys.exit(main())
