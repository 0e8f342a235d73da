"""Measures the internal suite's kernels on a GPU beside PyTorch, at sizes that fill it.

    python bench/kernels_on_gpu.py measure OUT.json [--only TASK,...] [--mib N] [--jobs N]
                                                    [--rounds N] [--calls N] [--seconds S]
    python bench/kernels_on_gpu.py table OUT.json

The kernels are those of the rules with their usual parameters: what `warploom eval --suite
internal` verifies in the emulator. Each is judged on the GPU with the cases of a trial, twice and
under memcheck and racecheck. Then its sizes are doubled, the least one first, until its inputs and
outputs together have `--mib` MiB (products: an eighth of that), and it takes turns with the
reference in eager mode and in each of torch.compile's: `--rounds` times `--calls` calls, other
values and new buffers for each call, the GPU busy and the cache overwritten before it, its outputs
compared, and a copy of as many bytes in each turn.
`--jobs` tasks at a time are made ready, then timed one after another with the GPU to themselves.
After `--seconds` no further ones are begun. OUT.json has every task: what was found, the medians,
and the raw times; those that are there already are not done again.
"""

import argparse
import contextlib
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.core.records import Finding, to_json
from warploom.hardware import Setup
from warploom.synthesis.codegen import generate
from warploom.synthesis.correctness import prepare_trial
from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.correctness.expectations import PreparedCase, prepare_case
from warploom.synthesis.correctness.running import ITEM_BYTES
from warploom.synthesis.interview import interview
from warploom.synthesis.performance.measured import (
    Launch,
    bytes_moved,
    judge_on_gpu,
    launcher,
    measure,
    require_gpu,
    time_reference,
)
from warploom.synthesis.records import KernelSpec, TensorArg
from warploom.synthesis.reference.client import COPY, Baseline, ReferenceProcess
from warploom.synthesis.sizes import shape_value
from warploom.synthesis.suite import SuiteTask, find_suite

_TOOLS = ("memcheck", "racecheck")
_SEED = 41


def bytes_of(tensors: Sequence[TensorArg], sizes: Mapping[str, int]) -> int:
    """Return how many bytes tensors have at the given sizes."""
    return sum(
        math.prod(shape_value(tensor.shape, sizes)) * ITEM_BYTES.get(tensor.dtype, 1)
        for tensor in tensors
    )


def filling(spec: KernelSpec, least: int) -> dict[str, int]:
    """Return sizes with which all tensors together have `least` bytes or more."""
    sizes = {symbol.name: symbol.example for symbol in spec.symbols}
    while sizes and bytes_of((*spec.inputs, *spec.outputs), sizes) < least:
        sizes[min(sizes, key=lambda name: sizes[name])] *= 2
    return sizes


@dataclass(frozen=True, slots=True)
class Ready:
    """A task whose kernel is built and judged, and whose timed calls are drawn."""

    spec: KernelSpec
    launch: Launch
    cases: Sequence[PreparedCase]
    plans: Sequence[CasePlan]
    reference: ReferenceProcess
    folder: Path
    found: Sequence[Finding]
    trials: int

    def turn(self, number: int) -> tuple[Baseline, ...]:
        """Time the reference in all modes, with values of this turn's own."""
        plans = [replace(plan, seed=plan.seed + 1000 * (number + 1)) for plan in self.plans]
        return time_reference(self.reference, self.spec, plans, bytes_moved(self.cases[0]))


def make_ready(
    task: SuiteTask, setup: Setup, options: argparse.Namespace, stack: contextlib.ExitStack
) -> Ready:
    """Generate, build and judge a task's kernel; draw its timed calls, compile its reference."""
    reference = stack.enter_context(ReferenceProcess(task.file, ""))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="warploom-")))
    secret = folder / "secret"
    secret.mkdir()
    found = interview(reference, task.prompt, "sm_90", [_SEED, _SEED + 1, _SEED + 2])
    kernel = generate(found.graph)
    launch = launcher(kernel.text, setup, folder, 120.0)
    trial = prepare_trial(found.spec, reference, _SEED, secret, kernel.text)
    wrong = judge_on_gpu(launch, found.spec, trial.cases, folder / "trial", _TOOLS)
    least = options.mib << 20
    if "product" in kernel.forms:
        least //= 8
    sizes = filling(found.spec, least)
    plans = [
        CasePlan(f"timed-{at}", "timed", sizes, "normal", _SEED + 10 + at)
        for at in range(options.calls)
    ]
    cases = [prepare_case(found.spec, plan, reference, secret) for plan in plans]
    ready = Ready(
        found.spec, launch, cases, plans, reference, folder, wrong, len(trial.cases)
    )  # fmt: skip
    ready.turn(-1)  # has torch.compile do its work
    return ready


def outcome(ready: Ready, gpu: str, rounds: int) -> dict[str, object]:
    """Time a task; returns what is written of it."""
    modes: dict[str, list[float]] = {}

    def turn(number: int) -> tuple[Baseline, ...]:
        baselines = ready.turn(number)
        for one in baselines:
            modes.setdefault(one.mode, []).extend(one.milliseconds)
        return baselines

    made = measure(ready.launch, turn, ready.spec, ready.cases, ready.folder / "timed", gpu, rounds)
    found = [finding.message for finding in ready.found]
    if isinstance(made, Finding):
        return {"findings": [*found, made.message], "trials": ready.trials}
    return {
        "findings": found, "trials": ready.trials, "report": to_json(made),
        "modes_ms": {mode: statistics.median(times) for mode, times in modes.items()},
    }  # fmt: skip


def measure_all(options: argparse.Namespace) -> int:
    """Measure every task that is not there yet; return 1 where something is wrong with one."""
    setup = require_gpu()
    done: dict[str, dict[str, object]] = {}
    if options.file.is_file():
        done = json.loads(options.file.read_text())
    only = [name for name in options.only.split(",") if name]
    todo = [task for task in find_suite("internal", only) if task.name not in done]
    end = time.monotonic() + options.seconds
    while todo and time.monotonic() < end:
        batch, todo = todo[: options.jobs], todo[options.jobs :]
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(options.jobs) as pool:
            begun = [pool.submit(make_ready, task, setup, options, stack) for task in batch]
            wait(begun)
            gpu = ""
            for task, future in zip(batch, begun, strict=True):
                try:
                    ready = future.result()
                    if not gpu:
                        gpu = ready.reference.gpu()
                    done[task.name] = outcome(ready, gpu, options.rounds)
                except WarploomError as error:
                    done[task.name] = {"refused": error.message}
                print(task.name, json.dumps(done[task.name]), flush=True)
                options.file.write_text(json.dumps(done, indent=1) + "\n")
    return 1 if any(one.get("findings") for one in done.values()) else 0


def table(file: Path) -> int:
    """Print the table, and the medians of ratio and share."""
    done = json.loads(file.read_text())
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


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="tasks, by comma")
    parser.add_argument("--mib", type=int, default=128)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3600.0)
    options = parser.parse_args()
    return table(options.file) if options.what == "table" else measure_all(options)


if __name__ == "__main__":
    sys.exit(main())
