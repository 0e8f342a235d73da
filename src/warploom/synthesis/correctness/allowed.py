"""Which sizes a case may have: those that meet the specification's conditions."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from warploom.synthesis.correctness.cases import CasePlan, elements_of
from warploom.synthesis.correctness.tied import tied
from warploom.synthesis.records import KernelSpec
from warploom.synthesis.sizes import holds, named_in

_MOST_ELEMENTS = 400_000  # of all tensors of a case whose sizes were moved
_REACH = 130  # how far a size is moved
_FEW = 3
OF_ONE_SIZE = {"sizes-of-zero": 0, "sizes-of-one": 1}
"""Checks of a size that a reference need not be for."""
_BOUND = re.compile(r"(\w+) (>=|<=) (\d+)")


def is_allowed(spec: KernelSpec, symbols: Mapping[str, int]) -> bool:
    """Whether sizes meet all conditions of a specification."""
    return not _broken(spec, symbols)


def attempts(spec: KernelSpec, plan: CasePlan) -> Iterator[CasePlan]:
    """Yield a case of allowed sizes, and others like it for references that need multiples.

    None where no sizes of its kind are allowed, or none that the emulator gets through.
    """
    plans = (plan, *tied(spec, plan))
    allowed = [one for one in plans if is_allowed(spec, one.symbols)]
    yield from allowed
    if not allowed:
        for one in plans:
            symbols = _moved(spec, one.symbols)
            own = OF_ONE_SIZE.get(plan.check)
            if symbols is not None and (own is None or own in symbols.values()):
                yield replace(one, symbols=symbols)
                return


def at_ends(spec: KernelSpec, seed: int) -> Iterator[CasePlan]:
    """Yield cases of the least and of the most sizes that conditions allow."""
    for at, found in enumerate(map(_BOUND.fullmatch, spec.conditions)):
        if found is None:
            continue
        name, _, value = found.groups()
        symbols = {s.name: _FEW for s in spec.symbols} | {name: int(value)}
        moved = _moved(spec, symbols)
        if moved is not None and moved[name] == int(value):
            yield CasePlan(f"{name}-end-{value}", "sizes-at-ends", moved, "normal", seed + at + 1)


def _moved(spec: KernelSpec, symbols: Mapping[str, int]) -> dict[str, int] | None:
    """Return sizes near to others that are allowed; None where there are none."""
    for others in (dict(symbols), {name: min(size, _FEW) for name, size in symbols.items()},
                   {s.name: s.example for s in spec.symbols}):  # fmt: skip
        for name in (None, *symbols):
            start = others if name is None else {**others, name: symbols[name]}
            moved = _met(spec, start)
            if moved is not None and elements_of(spec, moved) <= _MOST_ELEMENTS:
                return moved
    return None


def _met(spec: KernelSpec, symbols: Mapping[str, int]) -> dict[str, int] | None:
    """Move one size after the other so that more conditions are met, as little as possible."""
    sizes = dict(symbols)
    broken = _broken(spec, sizes)
    while broken:
        better = [
            (len(_broken(spec, moved)), abs(moved[name] - sizes[name]), name, moved[name])
            for name in named_in(" ".join(broken), sizes)
            for moved in _neighbors(spec, sizes, name)
        ]
        if not better or min(better)[0] >= len(broken):
            return None
        _, _, name, value = min(better)
        sizes[name] = value
        broken = _broken(spec, sizes)
    return sizes


def _broken(spec: KernelSpec, sizes: Mapping[str, int]) -> list[str]:
    """Return the conditions that sizes do not meet."""
    return [text for text in spec.conditions if not holds(text, sizes)]


def _neighbors(spec: KernelSpec, sizes: Mapping[str, int], name: str) -> Iterator[dict[str, int]]:
    """Yield sizes of which one is moved: even ones stay multiples of what they are, up to four."""
    size = sizes[name]
    step = math.gcd(size, 4) if size else 1
    numbers = {int(n) for text in spec.conditions for n in re.findall(r"\b\d+\b", text)}
    near = {n + more for n in numbers for more in (-1, 0, 1)}
    ways = {size + step * by for by in range(-_REACH, _REACH)} | near | {*sizes.values()}
    yield from ({**sizes, name: way} for way in ways if way >= 0)
