"""Prints the modelled time of each lever of the transformed examples, beside the host-driven form.

    python bench/levers.py [--only NAME,...] [--api gin,lsa] [--lever NAME,...] [--topology NAME]
        [--set LEVER=VALUE ...] [-D NAME=VALUE ...] [--json]

Each row is one step from the transform (after what `--set` fixes), or none. Times are modelled, in
microseconds: of the whole run, and of what the program times itself, where it does so by events.
The programs are not verified here: `warploom eval` does that.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import EXAMPLES, Row, arguments, show

from warploom.core.records import Api, BuildSpec, Limits, Verdict
from warploom.emulator import RunOptions, Timeline, build, find_topology, run
from warploom.propose import Stage
from warploom.propose.mutate import Mutation, MutationError, apply, mutations
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer

RANKS = 4


def timed(path: Path, options: argparse.Namespace) -> Timeline | None:
    """Return a program's modelled timeline; None where it does not run well."""
    defines = dict(item.split("=", 1) for item in options.D)
    built = build(BuildSpec(path, defines=defines, timed=True))
    machine = find_topology(options.topology)
    limits = Limits(seconds=options.seconds, memory_mb=8192)
    result = run(
        built,
        RunOptions(
            ranks=RANKS, args=("1",), race=False, readbacks=False, machine=machine, limits=limits
        ),
    )
    return result.timeline if result.verdict is Verdict.OK else None


def region_ms(timeline: Timeline) -> float:
    """Return what a program times itself, in milliseconds; 0 where it times nothing."""
    return sum(region.median_ms for region in timeline.regions)


def variants(source: str, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Go through what to time: a name and a text."""
    fixed = [item.split("=", 1) for item in options.set]
    for lever, value in fixed:
        try:
            source = apply(source, Mutation(lever, value, ""))
        except MutationError as error:
            print(f"left out: {error}", file=sys.stderr)
    yield " ".join(["transformed", *options.set]), source
    wanted = set(options.lever.split(",")) - {""}
    for step in mutations(source):
        if not wanted or step.lever in wanted:
            yield f"{step.lever}={step.value}", apply(source, step)


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Go through the rows of the table; each example's own first."""
    wanted = options.only.split(",") if options.only else [folder.name for folder in EXAMPLES]
    for folder in EXAMPLES:
        if folder.name not in wanted:
            continue
        path = folder / f"{folder.name}.cu"
        host = timed(path, options)
        if host is None:
            raise SystemExit(f"{path} does not run well with these sizes")
        yield _row(folder.name, "host", "", host, host)
        for api in options.api.split(","):
            plan = RewritePlan(Api(api), Stage.DEVICE)
            text = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
            with tempfile.TemporaryDirectory() as made:
                for name, variant in variants(text, options):
                    program = Path(made) / path.name
                    program.write_text(variant)
                    yield _row(folder.name, api, name, timed(program, options), host)


def _row(example: str, form: str, step: str, timeline: Timeline | None, host: Timeline) -> Row:
    if timeline is None:
        return {"example": example, "form": form, "step": step, "run_us": "failed",
                "speedup": "", "region_us": "", "region_speedup": ""}  # fmt: skip
    mine, theirs = _region(timeline), _region(host)
    return {
        "example": example,
        "form": form,
        "step": step,
        "run_us": timeline.total_ms * 1e3,
        "speedup": host.total_ms / timeline.total_ms,
        "region_us": mine if mine else "",
        "region_speedup": theirs / mine if mine and theirs else "",
    }


def _region(timeline: Timeline) -> float:
    return region_ms(timeline) * 1e3


def main() -> int:
    """Print the table; return the exit code."""
    parser = arguments(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--api", default="gin,lsa")
    parser.add_argument("--lever", default="", help="levers, by comma; default: all")
    parser.add_argument("--set", action="append", default=[], metavar="LEVER=VALUE")
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--topology", default="h200-2x8")
    parser.add_argument("--seconds", type=float, default=600.0, help="of a run, at most")
    options = parser.parse_args()
    found: list[Row] = []
    for row in rows(options):
        found.append(row)
        print(" ".join(map(str, row.values())), file=sys.stderr, flush=True)
    show(found, options.json, f"Modelled times on {options.topology}, {RANKS} ranks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
