"""Judge transforms of the examples on real GPUs, beside their originals.

    python bench/hardware_examples.py MADE OUT.json [--api lsa|gin] [--ranks N] [--tools T,...]

MADE holds NAME-API/NAME.cu for each example, as `warploom transform examples/NAME --api API --out
MADE/NAME-API` writes them. Each is judged as `warploom eval --backend cuda` does, with the inputs
of seed 0; the builds come first, side by side, and then one job at a time, so that times mean
something. OUT.json gets the evaluations.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import EXAMPLES

from warploom.core.errors import WarploomError
from warploom.core.records import Limits
from warploom.evaluation import evaluate
from warploom.workload.workload import Workload


def main() -> int:
    """Judge all and return the exit code: 0 where all passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("made", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--api", choices=("lsa", "gin"), default="lsa")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0, help="of a run, at most")
    parser.add_argument("--tools", default="", help="compute-sanitizer's, by comma")
    options = parser.parse_args()
    tools = [tool for tool in options.tools.split(",") if tool]
    tasks = {
        folder.name: replace(
            Workload.from_file(folder).with_overrides(ranks=options.ranks, seeds=1),
            limits=Limits(seconds=options.seconds),
        )
        for folder in EXAMPLES
    }
    programs = {name: options.made / f"{name}-{options.api}" / f"{name}.cu" for name in tasks}

    def judge(name: str, level: int) -> dict[str, Any]:
        try:
            return evaluate(
                programs[name], tasks[name], level=level, backend="cuda", tools=tools
            ).to_json()
        except WarploomError as error:
            return {"passed": False, "error": str(error)}

    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: judge(name, 1), tasks))
    results: dict[str, Any] = {}
    for name in tasks:
        results[name] = found = judge(name, 2)
        options.out.write_text(json.dumps(results, indent=1))
        told = found.get("metrics", {})
        print(
            f"{name}: {'passed' if found['passed'] else 'failed'}, {options.api} "
            f"{told.get('time_ms')} ms, host {told.get('baseline_ms')} ms, "
            f"{told.get('speedup')}x {found.get('error', '')}",
            flush=True,
        )
    return 0 if all(found["passed"] for found in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
