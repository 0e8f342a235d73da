"""Judges a program: the smallest distance between two of its five points; more is better."""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
from itertools import combinations
from pathlib import Path

CALL = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['main']()))"


def answer(program: str) -> list[tuple[float, float]]:
    """What the program's main returns, from a process that can write nothing."""
    apart = shlex.split(os.environ.get("WARPLOOM_APART", ""))
    command = [*apart, sys.executable, "-c", CALL, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return [(float(x), float(y)) for x, y in json.loads(done.stdout)]


def judge(program: str) -> tuple[dict[str, object], dict[str, object]]:
    points = answer(program)
    if len(points) != 5 or not all(0 <= value <= 1 for point in points for value in point):
        return {}, {"correct": False, "error": "five points of the unit square are needed"}
    pairs = {(a, b): math.dist(points[a], points[b]) for a, b in combinations(range(5), 2)}
    closest = min(pairs, key=lambda pair: pairs[pair])
    metrics = {
        "combined_score": pairs[closest],
        "public": {"mean_distance": sum(pairs.values()) / len(pairs), "closest": str(closest)},
        "private": {"secret_bound": math.sqrt(0.5)},
        "text_feedback": f"points {closest[0]} and {closest[1]} are the closest",
    }
    return metrics, {"correct": True, "error": None}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", type=Path, required=True)
    given = parser.parse_args()
    try:
        metrics, correct = judge(given.program_path)
    except Exception as error:  # noqa: BLE001 - of the program that is judged
        metrics, correct = {}, {"correct": False, "error": repr(error)}
    (given.results_dir / "metrics.json").write_text(json.dumps(metrics))
    (given.results_dir / "correct.json").write_text(json.dumps(correct))


if __name__ == "__main__":
    main()
