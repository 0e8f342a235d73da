"""Measures forms of the examples on GPUs side by side: host-driven, transformed, evolved.

    python bench/measured_forms.py measure OUT.json --form NAME=DIR ... [--rounds N]
        [--only NAME,...] [--ranks N] [--at N]
    python bench/measured_forms.py table OUT.json

DIR holds EXAMPLE.cu or EXAMPLE/EXAMPLE.cu of each example, as `warploom transform` writes it;
`host` is the example itself. One rank on each of `--ranks` GPUs (2), three practical sizes, or only
that with the number `--at`, from 0. All are built first; then the forms take turns, `--rounds`
times, another one being first each time. What counts is the time that a program prints, of one
step, pass or layer: OUT.json keeps every one and OUT.log all that the programs printed. A ratio is
the median over the rounds of host-driven / form.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from common import EXAMPLES
from time_examples import Case, build_all, told_ms

from warploom.core.records import Limits

RANKS = 2
SIZES: Mapping[str, Sequence[str]] = {
    "allreduce_dp": (
        "BATCH=32 FEATURES=128 UNITS=128",
        "BATCH=64 FEATURES=512 UNITS=512",
        "BATCH=64 FEATURES=1024 UNITS=1024",
    ),
    "attention": (
        "SHARD=128 MODEL=256 HEADS=4 HEAD_DIM=64",
        "SHARD=512 MODEL=256 HEADS=4 HEAD_DIM=64",
        "SHARD=1024 MODEL=512 HEADS=8 HEAD_DIM=64",
    ),
    "gemm_allgather": (
        "ROWS=512 INNER=256 COLUMNS=64",
        "ROWS=1024 INNER=512 COLUMNS=256",
        "ROWS=2048 INNER=512 COLUMNS=512",
    ),
    "kv_transfer": (
        "PROMPT=256 LAYERS=4 MODEL=256 HEADS=4 HEAD_DIM=64",
        "PROMPT=512 LAYERS=4 MODEL=256 HEADS=4 HEAD_DIM=64",
        "PROMPT=2048 LAYERS=4 MODEL=256 HEADS=4 HEAD_DIM=64",
    ),
    "moe": (
        "TOKENS=256 HIDDEN=128 FFN=128",
        "TOKENS=1024 HIDDEN=512 FFN=128",
        "TOKENS=2048 HIDDEN=1024 FFN=64",
    ),
    "moe_int8": (
        "TOKENS=256 HIDDEN=256 BLOCK=64",
        "TOKENS=512 HIDDEN=1024 BLOCK=128 TOP_K=4 EXPERTS_PER_RANK=4 CHECKED=16",
        "TOKENS=2048 HIDDEN=2048 BLOCK=128 TOP_K=4 EXPERTS_PER_RANK=4 CHECKED=4",
    ),
}
"""What each example is measured with; the middle one is what a search measures by."""


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Go through the programs that were asked for, those of one size behind each other."""
    folders = dict(item.split("=", 1) for item in options.form)
    wanted = [name for name in options.only.split(",") if name] or list(SIZES)
    for example in EXAMPLES:
        name = example.name
        if name not in wanted:
            continue
        programs = {"host": example / f"{name}.cu"}
        for form, folder in folders.items():
            base = Path(folder).resolve()
            places = (base / f"{name}.cu", base / name / f"{name}.cu")
            if found := [place for place in places if place.is_file()]:
                programs[form] = found[0]
        sizes_of = SIZES[name] if options.at is None else [SIZES[name][options.at]]
        for sizes in sizes_of:
            yield from (Case(name, form, path, sizes) for form, path in programs.items())


def measure(options: argparse.Namespace, todo: Sequence[Case]) -> dict[str, dict[str, object]]:
    """Build all, then run them in turns; return what each took."""
    from warploom.hardware import HardwareOptions, run_hardware
    from warploom.hardware.setup import find_setup

    setup = find_setup(options.ranks, "per_rank", uses_mpi=True, nccl=None)
    how = HardwareOptions(("1",), Limits(seconds=60.0))
    builds = build_all(todo, setup)
    gpus = [gpu.describe() for gpu in setup.gpus]
    found: dict[str, dict[str, object]] = {}
    times: dict[str, list[float]] = {case.key: [] for case in todo}
    groups: dict[tuple[str, str], list[int]] = {}
    for at, case in enumerate(todo):
        groups.setdefault((case.name, case.sizes), []).append(at)
    with options.file.with_suffix(".log").open("w") as log:
        for group in groups.values():
            for turn in range(options.rounds):
                for at in (*group[turn % len(group) :], *group[: turn % len(group)]):
                    case, run = todo[at], run_hardware(builds[at], setup, how)
                    log.write(f"== {case.key}, round {turn}: {run.state}\n{run.output}\n")
                    log.flush()
                    if run.ok:
                        times[case.key].append(told_ms(run.output))
            for at in group:
                key = todo[at].key
                found[key] = {
                    "all": times[key], "ranks": options.ranks, "gpus": gpus,
                    "nccl": setup.nccl.version,
                }  # fmt: skip
                print(key, times[key], flush=True)
            options.file.write_text(json.dumps(found, indent=1))
    return found


def table(file: Path) -> int:
    """Print the table; return 1 where a time is missing."""
    found = json.loads(file.read_text())
    forms: dict[tuple[str, str], dict[str, list[float]]] = {}
    for key, item in found.items():
        name, form, sizes = key.split(" ", 2)
        forms.setdefault((name, sizes), {})[form] = item["all"]
    names = list(dict.fromkeys(form for group in forms.values() for form in group))
    others = [name for name in names if name != "host"]
    print("|".join(["", "example", "sizes", "host, ms", *(f"{n}, ms | ratio" for n in others), ""]))
    print("|" + "---|" * (3 + 2 * len(others)))
    bad = 0
    for (name, sizes), group in forms.items():
        host = group["host"]
        row = [name, sizes, f"{statistics.median(host):.4g}" if host else "failed"]
        for other in others:
            mine = group.get(other, [])
            bad += len(mine) != len(host) or not mine
            whole = mine and len(mine) == len(host)
            row += [f"{statistics.median(mine):.4g}" if mine else "failed"]
            ratios = [old / new for old, new in zip(host, mine, strict=False)]
            row += [f"{statistics.median(ratios):.3f}" if whole else "-"]
        print("| " + " | ".join(row) + " |")
    return 1 if bad else 0


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--form", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--at", type=int, choices=range(3), help="only this one of the sizes")
    options = parser.parse_args()
    if options.what == "table":
        return table(options.file)
    found = measure(options, list(cases(options)))
    return 0 if all(len(item["all"]) == options.rounds for item in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
