"""How the time of one emulated run grows with the number of ranks, from 2 to 64.

For each count of ranks: the host-driven example and its GIN transform, run once (lazy, seed 0)
with the happens-before check. The work of an all-to-all itself grows with the square of the ranks.

    python bench/ranks.py [--example moe] [--json]
"""

import tempfile
from pathlib import Path

from common import ROOT, arguments, show

from warploom import PreTransformPipeline, TransformConfig, Workload
from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import RunOptions, build, run

RANKS = (2, 4, 8, 16, 32, 64)


def seconds(workload: Workload, program: Path, ranks: int) -> float:
    """Return the run time inside of the runtime, without build and start."""
    spec = BuildSpec(program, include_dirs=workload.include_dirs, defines=workload.defines)
    args = tuple(a.replace("{seed}", "1") for a in workload.args)
    outcome = run(build(spec), RunOptions(run=RunSpec(0, Timing.LAZY), ranks=ranks, args=args))
    if any(outcome.exit_codes.values()) or outcome.findings:
        raise SystemExit(f"{program.name} failed at {ranks} ranks: {outcome.findings[:3]}")
    return float(outcome.stats["seconds"])


def main() -> None:
    """Transform once, then measure each count of ranks."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--example", default="moe")
    options = parser.parse_args()
    workload = Workload.from_file(ROOT / "examples" / options.example)
    rows: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        config = TransformConfig(api_type="gin")
        result = PreTransformPipeline(config).run(workload.program.parent, Path(folder) / "out")
        for ranks in RANKS:
            host = seconds(workload, workload.program, ranks)
            device = seconds(workload, result.program, ranks)
            rows.append(
                {
                    "ranks": ranks,
                    "host-driven s": host,
                    "per rank ms": 1e3 * host / ranks,
                    "GIN s": device,
                    "GIN per rank ms": 1e3 * device / ranks,
                }
            )
    show(rows, options.json, f"{options.example}: one run")


if __name__ == "__main__":
    main()
