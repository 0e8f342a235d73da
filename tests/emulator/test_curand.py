"""cuRAND: the documented sequences on the device; what is not documented is refused at the call."""

from functools import cache
from pathlib import Path

from warploom.core.records import BuildSpec, Limits, Verdict
from warploom.emulator import EmulatorBuild, RunOptions, build, run

PROGRAM = Path(__file__).with_name("programs") / "curand_values.cu"
WORD = 0xFFFFFFFF
State = list[int]


@cache
def built() -> EmulatorBuild:
    return build(BuildSpec(PROGRAM))


def emulate(*args: str):
    return run(built(), RunOptions(ranks=1, args=args, limits=Limits(seconds=60)))


def step(v: State) -> State:
    t = v[0] ^ v[0] >> 2
    return [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & WORD]


def jumped(v: State, steps: int) -> State:
    """Return the state `steps` on: a polynomial in the step, reduced by its own relation.

    Powers of the step are found as sums of earlier ones by elimination, one state at a time.
    """
    known: list[tuple[int, int]] = []  # a state of 160 bits, and which powers sum to it
    packed, power = list(v), 0
    while True:
        bits, sums = sum(word << 32 * at for at, word in enumerate(packed)), 1 << power
        for other, of in known:
            if bits ^ other < bits:
                bits, sums = bits ^ other, sums ^ of
        if bits == 0:
            relation = sums
            break
        known = sorted([*known, (bits, sums)], reverse=True)
        packed, power = step(packed), power + 1
    degree = relation.bit_length() - 1

    def times(a: int, b: int) -> int:
        product = 0
        while b:
            if b & 1:
                product ^= a
            a, b = a << 1, b >> 1
            if a >> degree & 1:
                a ^= relation
        return product

    result, square = 1, 2
    while steps:
        if steps & 1:
            result = times(result, square)
        square, steps = times(square, square), steps >> 1
    total, now = [0] * 5, list(v)
    while result:
        if result & 1:
            total = [a ^ b for a, b in zip(total, now, strict=True)]
        now, result = step(now), result >> 1
    return total


def xorwow(seed: int, subsequence: int, offset: int, count: int) -> list[int]:
    low = 1099087573 * ((seed & WORD) ^ 0xAAD26B49) & WORD
    high = 2591861531 * ((seed >> 32) ^ 0xF7DCEFDD) & WORD
    v = [
        123456789 + low & WORD, 362436069 ^ low, 521288629 + high & WORD, 88675123 ^ high,
        5783321 + low & WORD,
    ]  # fmt: skip
    v = jumped(v, (subsequence << 67) + offset)
    d = 6615241 + high + low + 362437 * offset
    numbers: list[int] = []
    for _ in range(count):
        v, d = step(v), d + 362437
        numbers.append(v[4] + d & WORD)
    return numbers


def test_sequences_are_the_documented_ones():
    outcome = emulate()
    assert (outcome.verdict, outcome.findings) == (Verdict.OK, ())
    assert outcome.stdout.split() == ["xorwow", *map(str, xorwow(0x123456789, 5, 2, 3))]


def test_another_generator_is_refused_where_it_begins():
    outcome = emulate("other")
    assert outcome.verdict is Verdict.UNSUPPORTED
    assert [(use.name, use.line) for use in outcome.unsupported] == [("curand_init", 80)]
    assert "not scrambled Sobol32" in outcome.unsupported[0].message
