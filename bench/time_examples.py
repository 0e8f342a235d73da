"""Prints the modelled times of the examples at practical sizes beside what GPUs take.

    python bench/time_examples.py model OUT.json [--made DIR] [--only NAME,...] [--jobs N]
    python bench/time_examples.py measure OUT.json [--made DIR] [--only NAME,...]
    python bench/time_examples.py table MODELLED.json [MEASURED.json]

Two ranks, each example as it is, at the sizes of `SIZES`; where DIR is given also DIR/NAME.cu, a
transform of it. `model` runs each program twice in modelled time of the profile h200-8, and wants
the same time, to the last digit, from both. `measure`, on a machine with two GPUs, takes the median
of `RUNS` runs with more iterations. What counts is the time that the programs print, of one step,
pass or layer; wanted are ratios between 0.5 and 2.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common import EXAMPLES

from warploom.core.records import BuildSpec, Limits, Verdict
from warploom.emulator import RunOptions, build, find_topology, run

if TYPE_CHECKING:
    from warploom.hardware import HardwareBuild, Setup

RANKS = 2
RUNS = 3
SIZES: Mapping[str, Sequence[str]] = {
    "allreduce_dp": (
        "BATCH=32 FEATURES=128 UNITS=128",
        "BATCH=64 FEATURES=256 UNITS=256",
        "BATCH=64 FEATURES=512 UNITS=512",
    ),
    "attention": (
        "SHARD=64 MODEL=128 HEADS=4 HEAD_DIM=32",
        "SHARD=128 MODEL=256 HEADS=4 HEAD_DIM=64",
        "SHARD=256 MODEL=256 HEADS=4 HEAD_DIM=64",
    ),
    "gemm_allgather": (
        "ROWS=256 INNER=256 COLUMNS=32",
        "ROWS=512 INNER=256 COLUMNS=64",
        "ROWS=512 INNER=512 COLUMNS=128",
    ),
    "kv_transfer": (
        "PROMPT=128 LAYERS=4 MODEL=128 HEADS=4 HEAD_DIM=32",
        "PROMPT=256 LAYERS=4 MODEL=256 HEADS=4 HEAD_DIM=64",
        "PROMPT=512 LAYERS=4 MODEL=256 HEADS=4 HEAD_DIM=64",
    ),
    "moe": (
        "TOKENS=256 HIDDEN=128 FFN=128",
        "TOKENS=512 HIDDEN=256 FFN=128",
        "TOKENS=512 HIDDEN=512 FFN=256",
    ),
    "moe_int8": (
        "TOKENS=256 HIDDEN=256 BLOCK=64",
        "TOKENS=512 HIDDEN=512 BLOCK=128 TOP_K=4 EXPERTS_PER_RANK=4 CHECKED=64",
        "TOKENS=512 HIDDEN=1024 BLOCK=128 TOP_K=4 EXPERTS_PER_RANK=4 CHECKED=16",
    ),
}
MODELLED = {"WARMUP": "1", "ITERATIONS": "2"}
MEASURED = {"WARMUP": "5", "ITERATIONS": "20"}
_TIME = re.compile(r"([\d.]+) ms per ")


@dataclass(frozen=True, slots=True)
class Case:
    """One program at one size; `form` is "host" for the example, else "made"."""

    name: str
    form: str
    program: Path
    sizes: str

    @property
    def key(self) -> str:
        """How the files of results name it."""
        return f"{self.name} {self.form} {self.sizes}"

    def spec(self, more: Mapping[str, str], *, timed: bool) -> BuildSpec:
        """Return how it is built."""
        defines = dict(item.split("=") for item in self.sizes.split()) | more
        return BuildSpec(self.program, defines=defines, timed=timed)


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Go through the programs that were asked for."""
    wanted = [name for name in options.only.split(",") if name] or list(SIZES)
    for folder in EXAMPLES:
        if folder.name not in wanted:
            continue
        programs = {"host": folder / f"{folder.name}.cu"}
        if options.made:
            programs["made"] = options.made / f"{folder.name}.cu"
        for form, program in programs.items():
            for sizes in SIZES[folder.name]:
                yield Case(folder.name, form, program, sizes)


def told_ms(output: str) -> float:
    """Return the time that a program printed, in milliseconds."""
    found = _TIME.search(output)
    if not found:
        raise ValueError(f"no time in {output!r}")
    return float(found[1])


def model(case: Case) -> tuple[str, dict[str, object]]:
    """Return the modelled time of two runs, and how long the second took here."""
    built = build(case.spec(MODELLED, timed=True))
    options = RunOptions(
        ranks=RANKS, args=("1",), race=False, readbacks=False, machine=find_topology("h200-8"),
        limits=Limits(seconds=1800.0, memory_mb=16384),
    )  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _: run(built, options), range(2)))
    bad = next((item for item in runs if item.verdict is not Verdict.OK), None)
    if bad:
        return case.key, {"error": f"{bad.state} {bad.findings}"[:400]}
    times = [told_ms(item.stdout) for item in runs]
    ends = [item.timeline.ends if item.timeline else {} for item in runs]
    steady = ends[0] == ends[1] and times[0] == times[1]
    return case.key, {"ms": times[0], "steady": steady, "seconds": runs[0].seconds}


def build_all(todo: Sequence[Case], setup: "Setup") -> list["HardwareBuild"]:
    """Build all for the GPUs, side by side."""
    from warploom.hardware import build_executable

    def build_one(case: Case) -> "HardwareBuild":
        spec = case.spec(MEASURED, timed=False)
        return build_executable(spec, setup.arch, setup.nccl, setup.mpi)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(build_one, todo))


def measure_all(todo: Sequence[Case]) -> Iterator[tuple[str, dict[str, object]]]:
    """Build all, then run one after another on the GPUs; go through the medians."""
    from warploom.hardware import HardwareOptions, run_hardware
    from warploom.hardware.setup import find_setup

    setup = find_setup(RANKS, "per_rank", uses_mpi=True, nccl=None)
    options = HardwareOptions(("1",), Limits(seconds=60.0))
    builds = build_all(todo, setup)
    gpus = [gpu.describe() for gpu in setup.gpus]
    for case, built in zip(todo, builds, strict=True):
        runs = [run_hardware(built, setup, options) for _ in range(RUNS)]
        bad = next((item for item in runs if not item.ok), None)
        if bad:
            yield case.key, {"error": f"{bad.state} {bad.output}"[-400:]}
            continue
        times = [told_ms(item.output) for item in runs]
        yield case.key, {"ms": statistics.median(times), "all": times, "gpus": gpus}


def table(files: Sequence[Path]) -> int:
    """Print what the files hold; return 1 where a time is missing or off by more than 2."""
    modelled, measured = ([json.loads(path.read_text()) for path in files] + [{}])[:2]
    bad = 0
    print("| example | form | sizes | measured, ms | modelled, ms | ratio |")
    print("|---|---|---|---|---|---|")
    for key, ours in modelled.items():
        name, form, sizes = key.split(" ", 2)
        theirs = measured.get(key, {}).get("ms")
        mine = ours.get("ms")
        ratio = mine / theirs if mine and theirs else None
        bad += mine is None or not ours["steady"] or (ratio is not None and not 0.5 <= ratio <= 2)
        shown = [theirs if theirs is not None else "-", mine or ours["error"]]
        print(f"| {name} | {form} | {sizes} | {shown[0]} | {shown[1]} | {ratio or 0:.2f} |")
    return 1 if bad else 0


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("model", "measure", "table"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--made", type=Path, help="folder of transforms")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--jobs", type=int, default=2, help="modelled runs side by side")
    options = parser.parse_args()
    if options.what == "table":
        return table(options.files)
    todo = list(cases(options))
    found: dict[str, object] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        results = measure_all(todo) if options.what == "measure" else pool.map(model, todo)
        for key, value in results:
            found[key] = value
            print(key, value, flush=True)
            options.files[0].write_text(json.dumps(found, indent=1))
    return 0 if all("ms" in item for item in found.values() if isinstance(item, dict)) else 1


if __name__ == "__main__":
    sys.exit(main())
