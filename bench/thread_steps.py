"""Emulated thread-steps per second: 1M threads with 9 barriers, 5 warp shuffles or no wait each.

A thread-step is a thread that runs from one blocking point to the next. Each kernel runs with the
happens-before check and without it, the fastest of the repeats is shown. Seconds are
processor time, which other programs disturb less than the clock on the wall: of a run with all
blocks, less that of a run with one block and the same memory, which is the start and that memory.

    python bench/thread_steps.py [--json]
"""

import resource
from pathlib import Path

from common import arguments, show

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

PROGRAM = Path(__file__).with_name("thread_steps.cu")
BLOCKS = 4096
WAITS = {"barriers": 9, "shuffles": 5, "": 0}
"""How often each thread of a kernel waits, by the program's argument."""


def processor_seconds(race: bool, kernel: str, blocks: int) -> float:
    """Return the processor time of one run, with its start and end."""
    options = RunOptions(
        run=RunSpec(0, Timing.EAGER),
        ranks=1,
        processes="single",
        race=race,
        args=(kernel, str(blocks)),
    )
    program = build(BuildSpec(PROGRAM))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome = run(program, options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if outcome.exit_codes != {0: 0}:
        raise SystemExit(f"the benchmark's program failed: {outcome.findings}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds(race: bool, kernel: str, repeats: int) -> float:
    """Return the processor time of all blocks but one."""
    best = [
        min(processor_seconds(race, kernel, blocks) for _ in range(repeats))
        for blocks in (BLOCKS, 1)
    ]
    return best[0] - best[1]


def main() -> None:
    """Measure each kernel with and without the check."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows: list[dict[str, str | float]] = []
    threads = BLOCKS * 256
    for kernel, waits in WAITS.items():
        times = {race: seconds(race, kernel, options.repeats) for race in (True, False)}
        steps = threads * (waits + 1)
        for race in (True, False):
            best = times[race]
            rows.append(
                {
                    "kernel": f"{waits} {kernel}" if kernel else "no wait",
                    "happens-before": "on" if race else "off",
                    "seconds": best,
                    "M thread-steps/s": steps / best / 1e6,
                    "cost of check": best / times[False],
                }
            )
    show(rows, options.json, f"{threads / 1e6:.1f} M threads")


if __name__ == "__main__":
    main()
