"""Finds the examples' champions by the model, for two GPUs of one node.

    python bench/champions.py search RUNS [--only NAME,...] [--hours H] [--workers N]
    python bench/champions.py pick RUNS DIR [--only NAME,...] [--jobs N] [--most N]

`search` runs `warploom evolve` on each example side by side, into RUNS/EXAMPLE: two ranks of one
node, LSA, at the smallest size of `time_examples.py`, so that a judgment takes seconds. `pick`
takes from each run the `--most` best programs that are unlike (the best, the best with gates, the
best without, then the next best) and times these, the transform and the host-driven program by the
model at the size that the GPUs will measure by, the middle one of `measured_forms.py`. It writes
DIR/seed/EXAMPLE.cu (the transform), DIR/evolved/EXAMPLE.cu (the quickest), DIR/rank-N/EXAMPLE.cu
(all, the quickest first), DIR/restrict/EXAMPLE.cu (the quickest with `__restrict__` on all kernels
that may have it, which the model does not see) and DIR/champions.json with every time, modelled.
"""

import argparse
import json
import math
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from common import EXAMPLES
from measured_forms import SIZES
from time_examples import MODELLED, RANKS, Case
from time_examples import SIZES as SMALL
from variants import modelled

from warploom.propose.mutate import apply, mutations

HOST, SEED = "host", "seed"
_GATES = ("fused", "guarded")


def wanted(options: argparse.Namespace) -> list[Path]:
    """Return the examples that were asked for."""
    names = [name for name in options.only.split(",") if name] or list(SIZES)
    return [folder for folder in EXAMPLES if folder.name in names]


def search(options: argparse.Namespace) -> int:
    """Search all; return 1 where a run fails."""

    def run(example: Path) -> int:
        sizes = [f"workload.defines.{item}" for item in SMALL[example.name][0].split()]
        fewer = [f"workload.defines.{name}={value}" for name, value in MODELLED.items()]
        command = [
            sys.executable, "-m", "warploom.cli", "evolve", str(example), "apis=[lsa]",
            f"workload.ranks={RANKS}", f"evaluation.topology={options.topology}",
            "evaluation.nvcc=false", "evolution=long", "evolution.plateau=0",
            f"evolution.workers={options.workers}", f"evolution.max_hours={options.hours}",
            *sizes, *fewer, "--out", str(options.runs / example.name), "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = done.stderr.strip().splitlines()[-1:]
        print(example.name, done.returncode, *last, flush=True)
        return done.returncode

    options.runs.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(EXAMPLES)) as pool:
        codes = list(pool.map(run, wanted(options)))
    return 1 if any(code > 1 for code in codes) else 0


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a run that is correct; `gates` says whether kernels wait for peers in it."""

    number: int
    code: str
    ms: float
    gates: bool
    seed: bool


def programs(run: Path) -> list[Program]:
    """Return the correct programs of a run, the quickest first."""
    with sqlite3.connect(f"file:{run / 'programs.db'}?mode=ro", uri=True) as database:
        rows = database.execute(
            "select number, code, time_ms, directives, parent from programs"
            " where correct order by time_ms, number"
        ).fetchall()
    found: list[Program] = []
    for number, code, ms, text, parent in rows:
        values = json.loads(text).items()
        gates = any(name.startswith("read:") and value in _GATES for name, value in values)
        found.append(Program(number, code, ms, gates, parent is None))
    return found


def chosen(found: Sequence[Program], most: int) -> list[Program]:
    """Return the best, the best with and without gates, and the next best: `most` in all."""
    tried = [one for one in found if not one.seed]
    order = [
        *tried[:1],
        *[one for one in tried if one.gates][:1],
        *[one for one in tried if not one.gates][:1],
        *tried,
    ]
    unique = {one.code: one for one in reversed(order)}
    return [unique[code] for code in dict.fromkeys(one.code for one in order)][:most]


def pick(options: argparse.Namespace) -> int:
    """Choose and write the champions; return 1 where an example has none."""
    todo: list[Case] = []
    for example in wanted(options):
        file = f"{example.name}.cu"
        sizes = SIZES[example.name][1]
        todo.append(Case(example.name, HOST, example / file, sizes))
        run = options.runs / example.name
        found = programs(run) if (run / "programs.db").is_file() else []
        texts = dict([(SEED, one.code) for one in found if one.seed][:1])
        texts |= {f"program-{one.number}": one.code for one in chosen(found, options.most)}
        for form, text in texts.items():
            path = options.folder / form / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            todo.append(Case(example.name, form, path, sizes))
    times: dict[str, dict[str, float]] = {}
    _keep(options.folder, todo, times)  # in the order of the searches until more is known
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(modelled, case, options.topology, RANKS): case for case in todo}
        for one in as_completed(waiting):
            case, (_, result) = waiting[one], one.result()
            print(case.key, result, flush=True)
            if isinstance(ms := result.get("ms"), float):
                times.setdefault(case.name, {})[case.form] = ms
            _keep(options.folder, todo, times)
    return 0 if all(len(times.get(one.name, {})) > 2 for one in wanted(options)) else 1


def _keep(folder: Path, todo: Sequence[Case], times: Mapping[str, Mapping[str, float]]) -> None:
    """Write what is known so far: the times, and programs by their rank."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "champions.json").write_text(json.dumps(times, indent=1) + "\n")
    ranked: dict[str, list[Case]] = {}
    for case in todo:
        if case.form not in (HOST, SEED):
            ranked.setdefault(case.name, []).append(case)
    for name, cases in ranked.items():
        known = times.get(name, {})
        cases.sort(key=lambda case: known.get(case.form, math.inf))
        for at, case in enumerate(cases, 1):
            for place in ("evolved", f"rank-{at}") if at == 1 else (f"rank-{at}",):
                to = folder / place / case.program.name
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(case.program, to)
        to = folder / "restrict" / cases[0].program.name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(restricted(cases[0].program.read_text()))


def restricted(text: str) -> str:
    """Return a program with `__restrict__` wherever that is a lever: no clock of ours sees it."""
    steps = [step for step in mutations(text) if step.lever.startswith("restrict:")]
    for step in steps:
        if step.value == "on":
            text = apply(text, step)
    return text


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("search", "pick"))
    parser.add_argument("runs", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--hours", type=float, default=0.07, help="of the searches")
    parser.add_argument("--workers", type=int, default=2, help="of each search")
    parser.add_argument("--jobs", type=int, default=2, help="modelled runs side by side")
    parser.add_argument("--most", type=int, default=4, help="programs that `pick` times")
    parser.add_argument("--topology", default="h200-8")
    options = parser.parse_args()
    return search(options) if options.what == "search" else pick(options)


if __name__ == "__main__":
    sys.exit(main())
