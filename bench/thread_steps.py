"""Emulated thread-steps per second: 1M threads with 9 barriers each, and with none.

A thread-step is a thread that runs from one blocking point to the next. Each kernel runs with the
happens-before check and without it, interleaved; the fastest of the repeats is shown.

    python bench/thread_steps.py [--json]
"""

from pathlib import Path

from common import arguments, show

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

PROGRAM = Path(__file__).with_name("thread_steps.cu")
BLOCKS = 4096
BARRIERS = 9


def seconds(race: bool, barriers: bool) -> float:
    """Return the run time of the kernel inside of the runtime."""
    options = RunOptions(
        run=RunSpec(0, Timing.EAGER),
        ranks=1,
        processes="single",
        race=race,
        args=("1" if barriers else "0", str(BLOCKS)),
    )
    outcome = run(build(BuildSpec(PROGRAM)), options)
    if outcome.exit_codes != {0: 0}:
        raise SystemExit(f"the benchmark's program failed: {outcome.findings}")
    return float(outcome.stats["seconds"])


def main() -> None:
    """Measure the four combinations."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows: list[dict[str, str | float]] = []
    threads = BLOCKS * 256
    for barriers in (True, False):
        times = {True: [float("inf")], False: [float("inf")]}
        for _ in range(options.repeats):
            for race in (True, False):
                times[race].append(seconds(race, barriers))
        steps = threads * (BARRIERS + 1 if barriers else 1)
        for race in (True, False):
            best = min(times[race])
            rows.append(
                {
                    "kernel": f"{BARRIERS} barriers" if barriers else "no barrier",
                    "happens-before": "on" if race else "off",
                    "seconds": best,
                    "M thread-steps/s": steps / best / 1e6,
                    "cost of check": best / min(times[False]),
                }
            )
    show(rows, options.json, f"{threads / 1e6:.1f} M threads")


if __name__ == "__main__":
    main()
