"""Which inputs a candidate is tried with: sizes, kinds of values, and how they lie in memory."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from warploom.core.errors import BadInputError
from warploom.synthesize.records import KernelSpec, TensorArg
from warploom.synthesize.sizes import shape_value

KINDS = ("normal", "positive", "negative", "large", "small", "flat", "special")
"""Kinds of values, as the reference's process draws them."""
_CHECKS = {
    "special": "special-values", "ties": "ties",
    **dict.fromkeys(("large", "negative", "small", "flat"), "magnitudes"),
}  # fmt: skip
_EQUALIZING = ("large", "negative", "special")
_SMALL = (2, 3, 5, 7, 11, 13, 17, 31, 33)
_ODD = (37, 63, 65, 101, 127, 129)
_LONG = (1031, 2053, 3001)
_MOST_ELEMENTS = 60_000  # of all tensors of a case: the emulator looks at each access
_MOST_WORK = 1_500_000
_MOST_EXAMPLE = 300_000
_LENGTHY = 12_000


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One case: the sizes, the kind of values, a seed, and how it lies in memory.

    `guarded`: tensors begin one element off any alignment, amid words that must stay; outputs hold
    words that nobody can guess. Without it each tensor is an allocation of its own, and outputs are
    memory that nobody has written. `alias` are inputs (by number) that share another's memory.
    """

    name: str
    check: str
    symbols: Mapping[str, int]
    kind: str
    seed: int
    guarded: bool = False
    alias: Mapping[int, int] = field(default_factory=dict[int, int])


def plan_cases(spec: KernelSpec, seed: int) -> tuple[CasePlan, ...]:
    """Return the cases for a specification; all of it follows from `seed`, which is secret."""
    return tuple(_Planner(spec, seed).cases())


def are_equals_unordered(spec: KernelSpec) -> bool:
    """Whether a reference asks for places by a call that has no order among equals, of powers.

    Powers underflow, or are all no numbers, and are equal then: no place is the right one.
    """
    return bool({"topk", "sort"} & set(spec.calls)) and "exp" in spec.operations


class _Planner:
    def __init__(self, spec: KernelSpec, seed: int) -> None:
        self.spec = spec
        self.random = random.Random(seed)  # noqa: S311 - repeatable by the seed
        self.names = [symbol.name for symbol in spec.symbols]
        self.example = {symbol.name: symbol.example for symbol in spec.symbols}

    def cases(self) -> Iterator[CasePlan]:
        yield self._first()
        if not self.names:
            for kind in self._kinds():
                yield self._case(kind, _check_of(kind), {}, kind)
            yield self._case("guarded", "misaligned", {}, "normal", guarded=True)
            yield from self._aliased({})
            return
        for kind in self._kinds():
            yield self._case(f"odd-{kind}", _check_of(kind), self._odd(), kind)
        yield self._case("ones", "sizes-of-one", dict.fromkeys(self.names, 1), "normal")
        for name in self.names:
            for value, check in ((0, "sizes-of-zero"), (1, "sizes-of-one")):
                symbols = {**self._small(), name: value}
                yield self._case(f"{name}-{value}", check, symbols, "normal")
            yield self._long(name, "normal")
            yield self._long(name, "positive")
            if "ties" in self._kinds():
                yield self._long(name, "ties")
        yield self._case("guarded", "misaligned", self._small(), "normal", guarded=True)
        yield self._case("guarded-odd", "misaligned", self._odd(), "normal", guarded=True)
        yield from self._aliased(self._small())

    def _first(self) -> CasePlan:
        """Return the example's own case; one of its proportions where that would take too long."""
        if self._elements(self.example) <= _MOST_EXAMPLE:
            return self._case("example", "private-seeds", self.example, "example")
        if not self.names:
            raise BadInputError(
                f"the reference's sizes are fixed, and its {self._elements({})} elements are too "
                "many for the emulator",
                hint=f"let example_inputs be smaller: at most {_MOST_EXAMPLE} elements",
            )
        return self._case("example", "private-seeds", self._bounded(self.example), "normal")

    def _kinds(self) -> tuple[str, ...]:
        """Return the kinds of values; equal ones where the reference says which place is first."""
        if are_equals_unordered(self.spec):
            return tuple(kind for kind in KINDS if kind not in _EQUALIZING)
        places = {"argmax", "argmin", "max", "min"} & set(self.spec.calls)
        unordered = {"topk", "sort"} & set(self.spec.calls)
        return (*KINDS, "ties") if places and not unordered else KINDS

    def _case(
        self, name: str, check: str, symbols: Mapping[str, int], kind: str, *,
        guarded: bool = False, alias: Mapping[int, int] | None = None,
    ) -> CasePlan:  # fmt: skip
        seed = self.random.getrandbits(48)
        return CasePlan(name, check, dict(symbols), kind, seed, guarded, dict(alias or {}))

    def _small(self) -> dict[str, int]:
        """Return small sizes, all different where that is possible."""
        few = self.random.sample(_SMALL, min(len(self.names), len(_SMALL)))
        return self._bounded({n: few[at % len(few)] for at, n in enumerate(self.names)})

    def _odd(self) -> dict[str, int]:
        """Return odd sizes that are no square, the last beyond a block's width."""
        sizes = self._small()
        for name in self.names[-2:]:
            sizes[name] = self.random.choice(_ODD)
        if len(self.names) > 1 and sizes[self.names[-1]] == sizes[self.names[-2]]:
            sizes[self.names[-2]] -= 2
        return self._bounded(sizes)

    def _long(self, name: str, kind: str) -> CasePlan:
        symbols = dict.fromkeys(self.names, 2)
        symbols[name] = self.random.choice(_LONG)
        while self._elements(symbols) > _LENGTHY and symbols[name] > _SMALL[-1]:
            symbols[name] //= 2
        check = {"normal": "long", "ties": "ties"}.get(kind, "accumulation")
        return self._case(f"{name}-long-{kind}", check, symbols, kind)

    def _bounded(self, symbols: dict[str, int]) -> dict[str, int]:
        """Return sizes with which a case stays within what the emulator does in a second."""
        while self._elements(symbols) > _MOST_ELEMENTS or self._work(symbols) > _MOST_WORK:
            name = max(symbols, key=symbols.__getitem__)
            if symbols[name] <= 3:  # an odd half of it would be no less
                break
            symbols = {**symbols, name: symbols[name] // 2 | 1}
        return symbols

    def _elements(self, symbols: Mapping[str, int]) -> int:
        total = 0
        for tensor in (*self.spec.inputs, *self.spec.outputs):
            try:
                sizes = shape_value(tensor.shape, self._fitted(symbols))
            except BadInputError:  # a size that is divided by is zero: the case will be skipped
                continue
            total += math.prod(max(size, 1) for size in sizes)
        return total

    def _fitted(self, symbols: Mapping[str, int]) -> dict[str, int]:
        return {s.name: -(-symbols[s.name] // s.multiple) * s.multiple for s in self.spec.symbols}

    def _work(self, symbols: Mapping[str, int]) -> int:
        if not any(op in ("mm", "bmm") for op in self.spec.operations):
            return 0
        total = 1
        for value in symbols.values():
            total *= max(value, 1)
        return total

    def _aliased(self, symbols: Mapping[str, int]) -> Iterator[CasePlan]:
        alias = _twins(self.spec.inputs)
        if alias:
            yield self._case("aliased", "aliasing", symbols, "normal", alias=alias)


def tied(spec: KernelSpec, plan: CasePlan) -> CasePlan:
    """Return a case for references that need equal sizes, or multiples.

    Sizes that are equal in the example are equal, and those that are divided are multiples.
    """
    first: dict[int, int] = {}
    symbols: dict[str, int] = {}
    for symbol in spec.symbols:
        size = first.setdefault(symbol.example, plan.symbols[symbol.name])
        symbols[symbol.name] = -(-size // symbol.multiple) * symbol.multiple
    return replace(plan, symbols=symbols)


def _check_of(kind: str) -> str:
    return _CHECKS.get(kind, "odd-sizes")


def _twins(inputs: Sequence[TensorArg]) -> dict[int, int]:
    """Return the inputs that can be another one before them: alike in shape, type and meaning."""
    found: dict[int, int] = {}
    for at, tensor in enumerate(inputs):
        for before in range(at):
            other = inputs[before]
            same = (tensor.shape, tensor.dtype, tensor.index_of) == (
                other.shape, other.dtype, other.index_of,
            )  # fmt: skip
            if same and before not in found and (tensor.low or 0) < 0:
                found[at] = before
                break
    return found
