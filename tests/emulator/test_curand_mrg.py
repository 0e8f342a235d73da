"""cuRAND's MRG32k3a, beside L'Ecuyer's recurrences in integers of any size.

"Good parameters and implementations for combined multiple recursive random number generators",
Operations Research 47 (1999): x(n) = 1403580 x(n-2) - 810728 x(n-3) modulo 2^32 - 209 and
y(n) = 527612 y(n-1) - 1370589 y(n-3) modulo 2^32 - 22853; their difference is the number.
"""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, Verdict
from warploom.emulator import RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "curand_mrg.cu"
FIRST, SECOND = 2**32 - 209, 2**32 - 22853
STEP_X = ((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0))
STEP_Y = ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612))
Row = tuple[int, ...]
EACH = 4
STARTS = [
    (0, 0, 0),
    (1234, 0, 0),
    (0x123456789ABCDEF, 5, 1000000007),
    (99, 2, 3),  # of the subsequence, 51 bits count
]


def times(a: tuple[Row, ...], b: tuple[Row, ...], modulus: int) -> tuple[Row, ...]:
    columns = list(zip(*b, strict=True))
    return tuple(
        tuple(sum(x * y for x, y in zip(row, column, strict=True)) % modulus for column in columns)
        for row in a
    )


def moved(state: Row, step: tuple[Row, ...], modulus: int, steps: int) -> Row:
    column = tuple((x,) for x in state)
    while steps:
        if steps & 1:
            column = times(step, column, modulus)
        step, steps = times(step, step, modulus), steps >> 1
    return tuple(row[0] for row in column)


def start(seed: int) -> tuple[Row, Row]:
    if seed == 0:
        return (12345,) * 3, (12345,) * 3
    low, high = (seed & 0xFFFFFFFF) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
    x = tuple(12345 * k % FIRST for k in (low, high, low))
    return x, tuple(12345 * k % SECOND for k in (high, low, high))


def numbers(seed: int, skipped: int, count: int) -> list[int]:
    """The numbers behind the first `skipped` ones."""
    x, y = start(seed)
    x, y = moved(x, STEP_X, FIRST, skipped), moved(y, STEP_Y, SECOND, skipped)
    found: list[int] = []
    for _ in range(count):
        x = (*x[1:], (1403580 * x[1] - 810728 * x[0]) % FIRST)
        y = (*y[1:], (527612 * y[2] - 1370589 * y[0]) % SECOND)
        found.append((x[2] - y[2]) % FIRST or FIRST)
    return found


@cache
def lines() -> list[list[str]]:
    outcome = run(build(BuildSpec(PROGRAM)), RunOptions(ranks=1, limits=Limits(seconds=120)))
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())
    return [line.split() for line in outcome.stdout.splitlines()]


def test_the_published_generator_begins_as_published() -> None:
    """Seeds of 12345 give 0.1270111..., 0.3185276..., in the paper's program."""
    first = [number / (FIRST + 1) for number in numbers(0, 0, 2)]
    assert first == pytest.approx([0.127011122, 0.318527565], abs=1e-8)


@pytest.mark.parametrize("which", range(len(STARTS)))
def test_sequences_are_the_papers(which: int) -> None:
    seed, subsequence, offset = STARTS[which]
    right = numbers(seed, (subsequence << 76) + offset, EACH)
    found = lines()[which * EACH : (which + 1) * EACH]
    assert [int(line[0]) for line in found] == right
    # All of 32 bits, and above 0 up to 1.
    assert [int(line[1]) for line in found] == [int(number * 1.000000048662) for number in right]
    unit = [number / FIRST for number in right]
    assert [float(line[2]) for line in found] == pytest.approx(unit, rel=1e-6)
    assert [float(line[3]) for line in found] == pytest.approx(unit, rel=1e-14)


def test_jumps_add_up() -> None:
    (line,) = (line for line in lines() if line[0] == "jumped")
    assert int(line[1]) == numbers(7, 1000 + (3 << 76) + (5 << 127), 1)[0]


def test_a_host_generator_fills_memory_from_81920_subsequences_in_turn() -> None:
    (line,) = (line for line in lines() if line[0] == "memory")
    right = [numbers(1234, skipped, 1)[0] for skipped in (0, 1 << 76, 81919 << 76, 1)]
    assert [int(word) for word in line[1:]] == [int(number * 1.000000048662) for number in right]


def test_distributions_have_their_moments() -> None:
    """The program says which line was wrong."""
    assert not [line for line in lines() if line[0] == "line"]
