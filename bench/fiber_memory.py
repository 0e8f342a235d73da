"""Memory of one GPU thread that waits: it needs a stack of its own until it can go on.

Threads of a cooperative launch all wait at one barrier of the grid; two sizes of the grid are
compared, so that what does not depend on the threads drops out.

    python bench/fiber_memory.py [--json]
"""

from pathlib import Path

from common import arguments, show

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

PROGRAM = Path(__file__).with_name("fiber_memory.cu")
THREADS = 256  # of a block
BLOCKS = (128, 512, 1024)


def memory_mb(blocks: int) -> int:
    """Return the most memory that a run held, in MiB."""
    options = RunOptions(
        run=RunSpec(0, Timing.EAGER), ranks=1, processes="single", args=(str(blocks),)
    )
    outcome = run(build(BuildSpec(PROGRAM)), options)
    if outcome.exit_codes != {0: 0}:
        raise SystemExit(f"the benchmark's program failed: {outcome.findings}")
    return outcome.memory_mb


def main() -> None:
    """Measure grids of several sizes."""
    options = arguments(__doc__ or "").parse_args()
    least = memory_mb(1)
    rows: list[dict[str, str | float]] = []
    for blocks in BLOCKS:
        held = memory_mb(blocks)
        threads = blocks * THREADS
        rows.append(
            {
                "waiting threads": threads,
                "MiB": held,
                "KiB per thread": (held - least) * 1024 / threads,
            }
        )
    show(rows, options.json, "memory of threads that wait")


if __name__ == "__main__":
    main()
