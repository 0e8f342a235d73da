"""Edits per second of CPU time on a program of 2,000 lines: python bench/patcher.py."""

import argparse
import random
import time

from warploom import apply_diff_patch
from warploom.source import unified_diff

LINES = 2000
EDITS = 20  # in one patch


def program(lines: int) -> list[str]:
    """Return a program with one mutable region; a third of its lines repeat."""
    body = [
        f"  value_{n} += weight[{n} * stride];" if n % 3 else "  __syncthreads();"
        for n in range(lines - 4)
    ]
    return ["// EVOLVE-BLOCK-START k", "void f() {", *body, "}", "// EVOLVE-BLOCK-END"]


def blocks(lines: list[str], at: list[int]) -> str:
    return "".join(
        f"<<<<<<< SEARCH\n{lines[n]}\n=======\n{lines[n]}  // {n}\n>>>>>>> REPLACE\n" for n in at
    )


def measure(name: str, text: str, patch: str, edits: int, rounds: int, *, good: bool) -> None:
    started = time.process_time()
    for _ in range(rounds):
        assert apply_diff_patch(text, patch).applied is good
    seconds = (time.process_time() - started) / rounds
    print(f"{name:<34} {edits / seconds:>9,.0f} edits/s  {1000 * seconds:>7.2f} ms per patch")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    lines = program(LINES)
    text = "\n".join(lines) + "\n"
    unique = [n for n, line in enumerate(lines) if "value_" in line]
    at = random.Random(0).sample(unique, EDITS)
    one = blocks(lines, at[:1])
    many = blocks(lines, at)
    changed = [f"{line}  // {n}" if n in at else line for n, line in enumerate(lines)]
    diff = unified_diff(text, "\n".join(changed) + "\n")
    lost = one.replace("value_", "valu_")
    print(f"a program of {LINES} lines, best case first")
    measure("one SEARCH/REPLACE block", text, one, 1, rounds, good=True)
    measure(f"{EDITS} SEARCH/REPLACE blocks", text, many, EDITS, rounds, good=True)
    measure(f"unified diff of {EDITS} hunks", text, diff, EDITS, rounds, good=True)
    measure("a block that matches nowhere", text, lost, 1, rounds, good=False)


if __name__ == "__main__":
    main()
