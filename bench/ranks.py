"""How the work of one emulated run grows with the number of ranks, from 2 to 256.

Rings (each rank talks to its neighbor), all-to-alls, and the MoE example, host-driven and by GIN,
each run once (lazy, seed 0) with the happens-before check. Seconds are CPU time of the run without
the build; a message is a put, or a collective, send or receive of one rank's host. A piece is what
one rank delivers to one other: that is a message, or one part of an all-to-all of the host.

    python bench/ranks.py [--most 256] [--moe-most 256] [--json]
"""

import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, Row, arguments, show

from warploom import PreTransformPipeline, TransformConfig, Workload
from warploom.core.records import BuildSpec, Limits, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

RANKS = (2, 8, 16, 32, 64, 128, 256)
PROGRAMS = ROOT / "tests" / "corpus" / "programs"
CORPUS = {
    "ring, host": "host_ring",
    "ring, GIN": "gin_ring",
    "all-to-all, values": "gin_put_value",
    "all-to-all, barrier": "gin_fence",
    "all-to-all, rounds": "gin_alltoall",
}


@dataclass(frozen=True)
class Subject:
    """What is run: a build, the program's arguments, and the most ranks that it is run with."""

    name: str
    spec: BuildSpec
    args: tuple[str, ...]
    most: int
    all_to_all: bool = False  # a message of a host goes to all ranks, a piece to each


def cpu_seconds() -> float:
    """Return the CPU time of all runs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(subject: Subject, ranks: int) -> Row:
    """Run once, and return the row of the table."""
    options = RunOptions(
        run=RunSpec(0, Timing.LAZY),
        ranks=ranks,
        args=subject.args,
        limits=Limits(seconds=600.0, memory_mb=16384),
    )
    built = build(subject.spec)
    before = cpu_seconds()
    outcome = run(built, options)
    seconds = cpu_seconds() - before
    if any(outcome.exit_codes.values()) or outcome.findings:
        raise SystemExit(f"{subject.name} failed at {ranks} ranks: {outcome.findings[:3]}")
    messages = int(outcome.stats["puts"] + outcome.stats["host_calls"])
    pieces = messages * ranks if subject.all_to_all else messages
    return {
        "program": subject.name,
        "ranks": ranks,
        "s": seconds,
        "ms per rank": 1e3 * seconds / ranks,
        "messages": messages,
        "pieces": pieces,
        "us per piece": 1e6 * seconds / pieces,
        "MiB": outcome.memory_mb,
    }


def subjects(folder: Path, most: int, moe_most: int) -> list[Subject]:
    """Return all that is measured; the MoE example is transformed into `folder`."""
    found = [
        Subject(name, BuildSpec(PROGRAMS / f"{file}.cu", include_dirs=(PROGRAMS,)), (), most)
        for name, file in CORPUS.items()
    ]
    moe = Workload.from_file(ROOT / "examples" / "moe")
    config = TransformConfig(api_type="gin")
    result = PreTransformPipeline(config).run(moe.program.parent, folder / "out")
    args = tuple(a.replace("{seed}", "1") for a in moe.args)
    for name, program in (("moe, host", moe.program), ("moe, GIN", result.program)):
        spec = BuildSpec(program, include_dirs=moe.include_dirs, defines=moe.defines)
        host = program == moe.program
        found.append(Subject(name, spec, args, min(most, moe_most), all_to_all=host))
    return found


def main() -> None:
    """Measure every program with each count of ranks."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--most", type=int, default=RANKS[-1], help="ranks")
    parser.add_argument("--moe-most", type=int, default=RANKS[-1], help="ranks of the MoE example")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            measure(subject, ranks)
            for subject in subjects(Path(folder), options.most, options.moe_most)
            for ranks in RANKS
            if ranks <= subject.most
        ]
    show(rows, options.json, "from 2 to 256 ranks: one run")


if __name__ == "__main__":
    main()
