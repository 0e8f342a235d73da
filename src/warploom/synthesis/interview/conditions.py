"""Conditions that sizes must meet: where they do not, the reference does something else.

PyTorch's guards say what a trace takes for granted, and more: that no size is one, for the sake of
strides. What few small sizes break is tried: where the trace agrees with the reference, it stays
allowed.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.synthesis.sizes import holds, named_in

Tries = Callable[[Mapping[str, int]], str]
"""Says whether trace and reference "agree" at sizes, or differ ("differs"), or both fail."""
AGREES, DIFFERS, FAILS = "agrees", "differs", "fails"
_SEEN = 130  # sizes that are looked at one by one
_VAST = (1 << 20, (1 << 20) + 7)
_MOST_TRIED = 32  # sizes that break a guard of one size, each of which is tried
_MOST_TRIED_OF_SEVERAL = 8
_MOST_NAMED = 4  # sizes that are excluded one by one
_TINY = 8  # guards that only smaller sizes break are tried
_RANDOM = 200


@dataclass(frozen=True)
class _Guard:
    text: str
    names: tuple[str, ...]


def conditions_of(
    example: Mapping[str, int], guards: Sequence[str], tries: Tries
) -> tuple[str, ...]:
    """Return the conditions of a specification, in a plain form; the example meets all of them."""
    found = [_Guard(text, named_in(text, example)) for text in guards]
    found.sort(key=lambda guard: (len(guard.names), len(guard.text)))
    points = list(_points(example, guards))
    kept: list[str] = []
    for few in (False, True):  # what few sizes break is tried where all else holds
        for guard in found:
            broken = _broken(guard.text, kept, points)
            if broken and _is_broken_by_few(guard, broken) == few:
                kept += _tried(guard, broken, tries, example) if few else [_plain(guard)]
    kept += _other_ends(example, kept, tries)
    return tuple(
        text for at, text in enumerate(kept)
        if _broken(text, [*kept[:at], *kept[at + 1 :]], points)
    )  # fmt: skip


def _broken(
    text: str, kept: Sequence[str], points: Sequence[Mapping[str, int]]
) -> list[Mapping[str, int]]:
    """Return the points that break a condition, and none of others."""
    return [
        point for point in points
        if not holds(text, point) and all(holds(other, point) for other in kept)
    ]  # fmt: skip


def _is_broken_by_few(guard: _Guard, broken: Sequence[Mapping[str, int]]) -> bool:
    """Whether a guard is broken by so few or so small sizes that these can be tried."""
    if len(guard.names) > 1:
        return all(min(point[name] for name in guard.names) < _TINY for point in broken)
    values = {point[name] for point in broken for name in guard.names}
    return len(values) <= _MOST_TRIED and max(values) < _VAST[0]


def _points(example: Mapping[str, int], guards: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield sizes at which guards are looked at: the example's but for one, and others."""
    values = _values(guards)
    for name in example:
        for value in values:
            yield {**example, name: value}
    drawn = random.Random(1)  # noqa: S311 - the same sizes for the same guards
    few = [*range(9), 12, 16, 24, 64, 120, 1024, *values[-4:]]
    for _ in range(_RANDOM):
        yield {name: drawn.choice(few) for name in example}


def _values(guards: Sequence[str]) -> list[int]:
    """Return small sizes, and those around each number of some guards."""
    numbers = {int(n) for text in guards for n in re.findall(r"\b\d+\b", text)}
    near = {n + more for n in numbers for more in (-1, 0, 1) if n + more >= 0}
    return sorted({*range(_SEEN), *near, *_VAST})


def _tried(
    guard: _Guard, broken: Sequence[Mapping[str, int]], tries: Tries, example: Mapping[str, int]
) -> list[str]:
    """Return what of a guard must hold; nothing where all sizes that break it are right."""
    if len(guard.names) == 1:
        return _of_one(guard, broken, tries, example)
    tried: dict[tuple[int, ...], Mapping[str, int]] = {}
    for point in broken:
        sizes = {**example, **{name: point[name] for name in guard.names}}
        if max(sizes[name] for name in guard.names) <= max(_SEEN, *example.values()):
            tried.setdefault(tuple(sizes[name] for name in guard.names), sizes)
    some = list(tried.values())[:: max(len(tried) // _MOST_TRIED_OF_SEVERAL, 1)]
    return [guard.text] if any(tries(sizes) == DIFFERS for sizes in some) else []


def _of_one(
    guard: _Guard, broken: Sequence[Mapping[str, int]], tries: Tries, example: Mapping[str, int]
) -> list[str]:
    name = next(iter(guard.names))
    values = sorted({point[name] for point in broken})
    wrong = [value for value in values if tries({**example, name: value}) != AGREES]
    all_but_empty = len(wrong) > 1 and wrong == [value for value in values if value]
    if wrong == values or all_but_empty or len(wrong) > _MOST_NAMED:
        return [_plain(guard)]  # where there is nothing, there is nothing to differ
    if wrong and wrong == list(range(len(wrong))):
        return [f"{name} >= {len(wrong)}"]
    return [f"{name} != {value}" for value in wrong]


def _plain(guard: _Guard) -> str:
    """Return a condition; on one size as a multiple or a bound, where it is one."""
    if len(guard.names) > 1:
        return guard.text
    name = next(iter(guard.names))
    values = _values([guard.text])
    right = [holds(guard.text, {name: value}) for value in values]
    good = [value for value, fits in zip(values, right, strict=True) if fits]
    least, most = min(good, default=0), max(good, default=0)
    forms = [f"{name} >= {least}", f"{name} <= {most}", f"{name} == {most}"]
    forms += [f"{name}%{by} == 0" for by in range(2, _SEEN // 2)]
    for form in forms:
        if [holds(form, {name: value}) for value in values] == right:
            return form
    return guard.text


def _other_ends(example: Mapping[str, int], kept: Sequence[str], tries: Tries) -> Iterator[str]:
    """Yield sizes of zero and one at which the reference does something else, though no guard says.

    PyTorch traces for sizes of two and more.
    """
    for name in example:
        for value in (0, 1):
            sizes = {**example, name: value}
            if all(holds(text, sizes) for text in kept) and tries(sizes) == DIFFERS:
                yield f"{name} != {value}"
