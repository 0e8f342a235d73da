"""Compares the model's order of variants with the order that GPUs give: Kendall's tau.

    python bench/variants.py make DIR [--only NAME,...]
    python bench/variants.py model DIR OUT.json [--only NAME,...] [--jobs N]
    python bench/variants.py measure DIR OUT.json [--only NAME,...] [--rounds N]
    python bench/variants.py table MODELLED.json MEASURED.json [--noise SHARE]

`make` writes DIR/FORM/EXAMPLE.cu: steps of the levers (docs/levers.md) from the LSA form that
`warploom transform` makes. FORM names the steps; "lsa" is the form without any, "host" the example
itself. So the variants differ in API, blocks, threads, chunks, tiles, and in where data is read.
`model` takes modelled times (`--topology`), `measure` those of two GPUs, in turns, both at the
sizes of `time_examples.py` with two ranks; what counts is the time that a program prints. `table`
prints for each example Kendall's tau over all pairs of variants of one size, averaged over the
sizes (a pair that the model cannot tell apart counts 0), the same over the pairs whose measured
times differ by more than `--noise`, and how far the speed-ups over the host-driven form are off:
modelled / measured, the median and both ends. Steps that only nvcc sees (`__restrict__`,
unrolling, launch bounds) are not among the variants: the model prices them alike.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path

from common import EXAMPLES
from measured_forms import measure
from time_examples import MODELLED, RANKS, SIZES, Case, told_ms

from warploom.core.records import Api, Limits, Verdict
from warploom.emulator import RunOptions, build, find_topology, run
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, apply
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer

HOST, PLAIN = "host", "lsa"
EVERYWHERE = ("blocks=1", "blocks=4", "blocks=16", "threads=64", "spread=turn")
OF_ITS_OWN: Mapping[str, Sequence[str]] = {
    "allreduce_dp": ("size:kThreads=256", "size:kThreads=256,blocks=1", "block_bytes=2048"),
    "attention": ("threads:project=256", "threads:project=256,blocks=1", "group=each"),
    "gemm_allgather": (
        "size:TILE=16",
        "size:TILE=16,blocks=1",
        "leave=alone,close=alone,read:d_gathered=guarded",
        "leave=alone,close=alone,read:d_gathered=guarded,size:TILE=16",
    ),
    "kv_transfer": ("size:kThreads=256", "size:kThreads=256,parts=1", "parts=1", "parts=4"),
    "moe": (
        "group=together",
        "leave=alone,close=alone,read:layer.recv_count=guarded,read:layer.recv=guarded,"
        "read:layer.returned=guarded",
        "threads:expert_mlp=128",
        "threads:expert_mlp=128,blocks=1",
    ),
    "moe_int8": ("size:kThreads=256", "size:kThreads=256,parts=1", "parts=1", "parts=4"),
}

Times = Mapping[tuple[str, str], Mapping[str, float]]
"""(example, sizes) -> form -> milliseconds."""


def wanted(options: argparse.Namespace) -> Iterator[Path]:
    """Go through the examples that were asked for."""
    names = [name for name in options.only.split(",") if name] or list(SIZES)
    yield from (folder for folder in EXAMPLES if folder.name in names)


def make(options: argparse.Namespace) -> int:
    """Write the variants."""
    for folder in wanted(options):
        path = folder / f"{folder.name}.cu"
        plan = RewritePlan(Api.LSA, Stage.DEVICE)
        plain = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
        for form in (PLAIN, *EVERYWHERE, *OF_ITS_OWN[folder.name]):
            text = plain
            for step in form.split(",") if form != PLAIN else ():
                lever, value = step.rsplit("=", 1)
                text = apply(text, Mutation(lever, value, ""))
            made = options.folder / form / path.name
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text)
    return 0


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Go through the programs, those of one example and size behind each other."""
    for folder in wanted(options):
        forms = {HOST: folder / f"{folder.name}.cu"}
        for form in (PLAIN, *EVERYWHERE, *OF_ITS_OWN[folder.name]):
            forms[form] = options.folder / form / f"{folder.name}.cu"
        for sizes in SIZES[folder.name]:
            yield from (Case(folder.name, form, path, sizes) for form, path in forms.items())


def modelled(case: Case, topology: str, ranks: int) -> tuple[str, dict[str, object]]:
    """Return the modelled time of one program."""
    built = build(case.spec(MODELLED, timed=True))
    options = RunOptions(
        ranks=ranks, args=("1",), race=False, readbacks=False, machine=find_topology(topology),
        limits=Limits(seconds=1800.0, memory_mb=16384),
    )  # fmt: skip
    done = run(built, options)
    if done.verdict is not Verdict.OK:
        return case.key, {"error": f"{done.state} {done.findings}"[:400]}
    return case.key, {"ms": told_ms(done.stdout), "seconds": done.seconds}


def model(options: argparse.Namespace) -> int:
    """Model all; return 1 where one does not run well."""
    found: dict[str, dict[str, object]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for key, value in pool.map(
            partial(modelled, topology=options.topology, ranks=options.ranks), cases(options)
        ):
            found[key] = value
            print(key, value, flush=True)
            options.file.write_text(json.dumps(found, indent=1))
    return 0 if all("ms" in item for item in found.values()) else 1


def tau(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the share of pairs in one order less that in the other; ties count 0.

    A pair holds two differences, whose signs tell the order. Kendall, Biometrika 30 (1938).
    """
    signs = [(a * b > 0) - (a * b < 0) for a, b in pairs]
    return sum(signs) / len(signs)


def read(path: Path) -> Times:
    """Return what `model` or `measure` wrote, failures left out."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for key, item in json.loads(path.read_text()).items():
        name, form, sizes = key.split(" ", 2)
        ms = item.get("ms") or (statistics.median(item["all"]) if item.get("all") else None)
        if ms:
            found.setdefault((name, sizes), {})[form] = ms
    return found


def row(name: str, ours: Times, theirs: Times, noise: float) -> str:
    """Return an example's line of the table."""
    whole: list[float] = []
    apart: list[float] = []
    off: list[float] = []
    forms = 0
    for at in (at for at in theirs if at[0] == name and at in ours):
        mine, real = ours[at], theirs[at]
        both = [form for form in real if form in mine]
        forms = max(forms, len(both))
        pairs = {
            (a, b): (mine[a] / mine[b] - 1, real[a] / real[b] - 1) for a, b in combinations(both, 2)
        }
        whole.append(tau(list(pairs.values())))
        told = [pair for pair in pairs.values() if abs(pair[1]) > noise]
        apart += [tau(told)] if told else []
        off += [
            (mine[HOST] / mine[form]) / (real[HOST] / real[form]) for form in both if form != HOST
        ]
    cells = [
        name, str(len(whole)), str(forms), f"{statistics.mean(whole):.2f}",
        f"{statistics.mean(apart):.2f}", f"{statistics.median(off):.2f}",
        f"{min(off):.2f} to {max(off):.2f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(options: argparse.Namespace) -> int:
    """Print the table of the examples that both files have.

    Returns 1 where a variant was not modelled or not measured.
    """
    ours, theirs = read(options.folder), read(options.file)
    both = {name for name, _ in ours} & {name for name, _ in theirs}
    print("| example | sizes | variants | tau, all pairs | tau, beyond noise "
          "| speed-up, modelled / measured | from, to |")  # fmt: skip
    print("|" + "---|" * 7)
    for name in dict.fromkeys(at[0] for at in theirs if at[0] in both):
        print(row(name, ours, theirs, options.noise))
    mine, real = (
        {at: set(forms) for at, forms in times.items() if at[0] in both} for times in (ours, theirs)
    )
    return 0 if mine == real else 1


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "model", "measure", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--jobs", type=int, default=2, help="modelled runs side by side")
    parser.add_argument("--topology", default="h100-8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--ranks", type=int, default=RANKS)
    options = parser.parse_args()
    if options.what == "make":
        return make(options)
    if options.what == "measure":
        found = measure(options, list(cases(options)))
        return 0 if all(len(item["all"]) == options.rounds for item in found.values()) else 1
    return model(options) if options.what == "model" else table(options)


if __name__ == "__main__":
    sys.exit(main())
