"""Which sizes follow from others: what a trace takes for granted of several holds for all of them.

Said in text over symbols; `Relation`s are found by the example's sizes and confirmed at others.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from warploom.synthesis.sizes import holds, named_in

_MOST_TIMES = 64
_MOST_TRIED = 4000
_MOST_STEP = 5040
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23)
_POINTS = 5


@dataclass(frozen=True, slots=True)
class Relation:
    """A size `name` is `times` the size `of`, or, where that is no size, the number `times`."""

    name: str
    times: int
    of: str = ""


def relations_in(
    guards: Sequence[str], example: Mapping[str, int], dims: Mapping[str, int]
) -> tuple[Relation, ...]:
    """Return relations with which all equations between sizes hold, as few as there are.

    `dims` says which dimension each size is: equal ones are more likely to be meant.
    """
    step = _step(guards)
    open_: list[tuple[str, frozenset[str]]] = []
    for text in guards:
        names = frozenset(named_in(text, example))
        if "==" in text and len(names) > 1 and not _always([text], names, (), step):
            open_.append((text, names))
    found: list[Relation] = []
    for names in _components([names for _, names in open_]):
        texts = [text for text, own in open_ if own <= names]
        ordered = [name for name in example if name in names]
        found += _solved(texts, ordered, example, dims, step)
    return tuple(found)


def _step(guards: Sequence[str]) -> int:
    """Return a number that all numbers divide by which sizes are divided."""
    divisors = [int(n) for text in guards for n in re.findall(r"(?://|%)(\d+)", text) if int(n)]
    step = math.lcm(*divisors)
    return step if step <= _MOST_STEP else max(divisors)


def _components(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the unions of sets that have something in common."""
    found: list[frozenset[str]] = []
    for one in sets:
        joined = [other for other in found if other & one]
        found = [other for other in found if not other & one]
        found.append(one.union(*joined))
    return found


def _always(
    texts: Sequence[str], names: frozenset[str], relations: Sequence[Relation], step: int
) -> bool:
    """Whether all of some conditions hold, whatever the sizes that no relation gives."""
    given = {relation.name for relation in relations}
    free = sorted(names - given)
    for at in range(_POINTS):
        sizes = {name: step * _PRIMES[(at * 2 + n * 3) % len(_PRIMES)]
                 for n, name in enumerate(free)}  # fmt: skip
        for one in relations:
            sizes[one.name] = one.times * sizes.get(one.of, 1)
        if not all(holds(text, sizes) for text in texts):
            return False
    return True


def _solved(
    texts: Sequence[str], names: Sequence[str], example: Mapping[str, int],
    dims: Mapping[str, int], step: int,
) -> tuple[Relation, ...]:  # fmt: skip
    """Return the fewest and most likely relations of some sizes; else all are the example's."""
    tried = 0
    for count in range(1, len(names)):
        found: list[tuple[Relation, ...]] = []
        for relations in _choices(names, count, example):
            tried += 1
            if tried > _MOST_TRIED:
                break
            if _always(texts, frozenset(names), relations, step):
                found.append(relations)
        if found:
            return min(found, key=lambda one: _likeliness(one, names, dims))
    return tuple(Relation(name, example[name]) for name in names)


def _choices(
    names: Sequence[str], count: int, example: Mapping[str, int]
) -> Iterator[tuple[Relation, ...]]:
    """Yield relations that give `count` of some sizes, as the example has them."""
    for given in combinations(reversed(names), count):
        free = [name for name in names if name not in given]
        options: list[list[Relation]] = []
        for name in given:
            own = [
                Relation(name, example[name] // of_size, of) for of in free
                if (of_size := example[of]) and example[name] % of_size == 0
                and 0 < example[name] // of_size <= _MOST_TIMES
            ]  # fmt: skip
            options.append([*own, Relation(name, example[name])])
        yield from product(*options)


def _likeliness(
    relations: Sequence[Relation], names: Sequence[str], dims: Mapping[str, int]
) -> tuple[int, int, int]:
    """Return what is less for what is more likely meant: few numbers, sizes of one dimension."""
    numbers = sum(not one.of for one in relations)
    apart = sum(bool(one.of) and dims[one.of] != dims[one.name] for one in relations)
    return numbers, apart, -sum(names.index(one.name) for one in relations)
