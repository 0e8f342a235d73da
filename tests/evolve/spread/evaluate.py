"""Judges a program: the smallest distance between two of its five points; more is better."""

import argparse
import json
import math
import runpy
from itertools import combinations
from pathlib import Path


def judge(program: str) -> tuple[dict[str, object], dict[str, object]]:
    points = runpy.run_path(program)["main"]()
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
