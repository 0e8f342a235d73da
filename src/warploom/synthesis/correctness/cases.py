"""Which inputs a candidate is tried with: sizes, kinds of values, and how they lie in memory."""

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from warploom.core.errors import BadInputError
from warploom.synthesis.codegen.collective_names import UNORDERED
from warploom.synthesis.correctness.named import numbers_of
from warploom.synthesis.correctness.whole_tiles import (
    MOST_TILES,
    affordable,
    batches_of,
    is_too_long,
    tiles,
)
from warploom.synthesis.records import KernelSpec, TensorArg
from warploom.synthesis.sizes import named_in, shape_value

KINDS = (
    "normal",
    "positive",
    "negative",
    "large",
    "small",
    "flat",
    "wide",
    "scales",
    "special",
    "rows",
    "zero",
    "halves",
)
"""Kinds of values, as the reference's process draws them."""
_CHECKS = {
    **dict.fromkeys(
        ("special", "rows", "halves", "early", "late", "nans", "few-nans"), "special-values"
    ),
    **dict.fromkeys(("ties", "few-ties"), "ties"),
    **dict.fromkeys(("large", "negative", "small", "flat", "wide", "scales", "zero"), "magnitudes"),
}  # fmt: skip
_EQUALIZING = ("large", "negative", "wide", "scales", "special", "rows", "zero", "halves")
_OF_ONE_ORDER = ("wide", "scales", "large")  # values on both sides of 1, far from it
_WITH_NAN = ("special", "rows")
_ATTENTION = "scaled_dot_product"
_OF_PLACES = ("argmax", "argmin", "topk", "sort")
_SMALL = (2, 3, 5, 7, 11, 13, 17, 31, 33)
_BATCHES = (2, 3, 5)
_ODD = (37, 63, 65, 101, 127, 129)
_LENGTHS = (355, 401, 463)
_LONG = (1031, 2053, 3001)
_LONG_EVEN = (1040, 2064, 3024)  # where a loop over groups of neighbors has later turns
_ROWS = 517  # where each is a block of its own, or takes part in a whole tile of products
_ROWS_EVEN = 512
_EVEN = (32, 64, 96, 128, 256)
_MULTIPLES = (4, 8, 12, 16)
_MODEST = 16.0  # beyond it the power of all others underflows beside that of one
_VAST = 65_536  # beyond what sixteen bits count
_MOST_VAST = 10 * _VAST  # of all tensors of a case of a size that a kernel names
_MOST_ELEMENTS = 60_000  # of all tensors of a case: the emulator looks at each access
_MOST_WORK = 400_000
_MOST_EXAMPLE = 300_000
_EQUALS = (("ties", 2), ("few-ties", 12), ("nans", 2), ("few-nans", 2))
"""Cases, every other one of even sizes: which of equals comes first is the chance of each row."""
_LENGTHY = 12_000
_EVENS = 1024  # elements of a tile whose neighbors are moved as one: a whole one lies beyond
_BOUND = re.compile(r"\bsmaller_of\((\d+),")
_MOST_NAMED = 16
REDUCING = frozenset(
    {"sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "any", "all", "var", "cumsum",
     "cumprod", "mm", "bmm", "logsumexp"}
)  # fmt: skip
"""Operations for which rules launch a block for each row."""


@dataclass(frozen=True, slots=True)
class CasePlan:
    """One case: the sizes, the kind of values, a seed, and how it lies in memory.

    `guarded`: tensors lie amid words that must stay, off any alignment; outputs hold words that
    nobody can guess; others use the tensors too. Without it each tensor is an allocation of its
    own, and outputs are memory that nobody has written. `alias` are inputs (by number) that share
    another's memory.
    `values` are strewn among the values. `shifts` are how many elements the inputs and the outputs
    of a guarded case lie off an alignment.
    """

    name: str
    check: str
    symbols: Mapping[str, int]
    kind: str
    seed: int
    guarded: bool = False
    alias: Mapping[int, int] = field(default_factory=dict[int, int])
    values: tuple[float, ...] = ()
    shifts: tuple[int, int] = (0, 0)


def plan_cases(spec: KernelSpec, seed: int, text: str = "") -> tuple[CasePlan, ...]:
    """Return the cases for a specification; all of it follows from `seed`, which is secret.

    Numbers in `text`, the candidate's, become sizes and values of further cases.
    """
    planner = _Planner(spec, seed)
    return (*planner.cases(), *planner.named(text))


def tall_cases(spec: KernelSpec, seed: int) -> tuple[CasePlan, ...]:
    """Return a case of each size, beyond what a grid's second and third dimension have.

    Kernels are not run with it, only launched.
    """
    names = [symbol.name for symbol in spec.symbols]
    every = [{**dict.fromkeys(names, 1), name: _VAST + 1 + seed % 97} for name in names]
    return tuple(
        CasePlan(f"{name}-tall", "launches", symbols, "normal", seed)
        for name, symbols in zip(names, every, strict=True)
        if elements_of(spec, symbols) <= _MOST_VAST
    )


def elements_of(spec: KernelSpec, symbols: Mapping[str, int]) -> int:
    """Return how many elements all tensors have together, an empty one as one."""
    total = 0
    for tensor in (*spec.inputs, *spec.outputs):
        try:
            total += math.prod(max(size, 1) for size in shape_value(tensor.shape, symbols))
        except BadInputError:  # a size that is divided by is zero: the case will be skipped
            continue
    return total


def are_equals_unordered(spec: KernelSpec) -> bool:
    """Whether a reference asks for places by a call that has no order among equals, of powers.

    Powers underflow, or are all no numbers, and are equal then: no place is the right one.
    """
    return bool({"topk", "sort"} & set(spec.calls)) and "exp" in spec.operations


def is_nan_unordered(spec: KernelSpec) -> bool:
    """Whether a reference takes extremes over ranks, where it says nothing of a NaN."""
    return bool(UNORDERED & set(spec.operations))


def leaves_nan_open(spec: KernelSpec) -> bool:
    """Whether what becomes of NaN and infinity is for each implementation of a reference to choose.

    PyTorch's attentions differ: one skips keys that are masked, or blocks of them, another
    multiplies them by zero, which NaN survives.
    """
    return any(_ATTENTION in call for call in spec.calls)


def takes_products(spec: KernelSpec) -> bool:
    """Whether a reference multiplies along a dimension, in an order that is a kernel's to choose.

    A part of a product may be infinite, or zero, where the whole in another order is neither.
    """
    return bool({"prod", "cumprod"} & set(spec.operations))


class _Planner:
    def __init__(self, spec: KernelSpec, seed: int) -> None:
        self.spec = spec
        self.random = random.Random(seed)  # noqa: S311 - repeatable by the seed
        self.names = [symbol.name for symbol in spec.symbols]
        self.example = {symbol.name: symbol.example for symbol in spec.symbols}
        self.batches = batches_of(spec, self.names)

    def cases(self) -> Iterator[CasePlan]:
        yield self._first()
        if not self.names:
            for kind in self._kinds():
                yield self._case(kind, _check_of(kind), {}, kind)
            if self._has_later_turns(""):
                for kind in ("early", "late"):
                    yield self._case(kind, _check_of(kind), {}, kind)
            for equals, kind in self._equals():
                yield self._case(equals, _check_of(kind), {}, kind)
            for at, shifts in enumerate(self._shifts()):
                yield self._case(f"guarded-{at}", "misaligned", {}, "normal", shifts=shifts)
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
            if self._has_later_turns(name):
                for kind in ("early", "late"):
                    yield self._long(name, kind)
                    yield self._long(name, kind, _LONG_EVEN)
            if self._is_reduced(name) or not self._is_by_row(name):
                yield self._long(name, "positive")
                for at, (equals, kind) in enumerate(self._equals()):
                    plan = self._long(name, kind, _LONG_EVEN if at % 2 else _LONG)
                    yield replace(plan, name=f"{name}-long-{equals}")
            yield from self._vast(name)
        yield self._case("even", "even-sizes", self._even(), "normal")
        sizes = (
            self._stretched(0), self._odd(), self._even(), self._even(), self._stretched(-1)
        )  # fmt: skip
        for at, (symbols, shifts) in enumerate(zip(sizes, self._shifts(), strict=True)):
            yield self._case(f"guarded-{at}", "misaligned", symbols, "normal", shifts=shifts)
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
        calls = {*self.spec.calls, *self.spec.operations}
        places = {"argmax", "argmin", "max", "min"} & set(self.spec.calls)
        unordered = {"topk", "sort"} & set(self.spec.calls)
        kinds = (*KINDS, "ties") if places and not unordered else KINDS
        if calls & set(_OF_PLACES):
            kinds = tuple(kind for kind in kinds if kind not in ("rows", "zero", "halves"))
        if takes_products(self.spec):
            kinds = tuple(kind for kind in kinds if kind not in _OF_ONE_ORDER)
        if is_nan_unordered(self.spec):
            kinds = tuple(kind for kind in kinds if kind not in _WITH_NAN)
        return kinds

    def _equals(self) -> Iterator[tuple[str, str]]:
        """Yield names and kinds of cases with equal extremes, where the first of a row counts."""
        if "ties" in self._kinds():
            for kind, cases in _EQUALS:
                yield from ((f"{kind}-{at}", kind) for at in range(cases))

    def _case(
        self, name: str, check: str, symbols: Mapping[str, int], kind: str, *,
        shifts: tuple[int, int] | None = None, alias: Mapping[int, int] | None = None,
    ) -> CasePlan:  # fmt: skip
        seed = self.random.getrandbits(48)
        plan = CasePlan(name, check, dict(symbols), kind, seed, alias=dict(alias or {}))
        return plan if shifts is None else replace(plan, guarded=True, shifts=shifts)

    def _shifts(self) -> tuple[tuple[int, int], ...]:
        """Return how tensors lie off an alignment: inputs and outputs, together and alone.

        Those that are alone in even sizes lie off that of a pair, too.
        """
        a, b, c = self.random.sample((1, 2, 3), 3)
        odd = self.random.choice((1, 3))
        return (a, a), (0, b), (odd, 0), (0, odd), (b, c)

    def _small(self) -> dict[str, int]:
        """Return small sizes, all different where that is possible."""
        few = self.random.sample(_SMALL, min(len(self.names), len(_SMALL)))
        sizes = {n: few[at % len(few)] for at, n in enumerate(self.names)}
        return self._bounded({**sizes, **self._few()})

    def _few(self) -> dict[str, int]:
        """Return small sizes, all different, of those that count products of matrices."""
        few = self.random.sample(_BATCHES, len(_BATCHES))
        return {name: few[at % len(few)] for at, name in enumerate(self.batches)}

    def _stretched(self, at: int) -> dict[str, int]:
        """Return small sizes, one of them many times as large as the others."""
        sizes = {name: self.random.choice(_SMALL[-4:]) for name in self.names}
        long = {self.names[at]: self.random.choice(_LENGTHS)}
        return self._bounded({**sizes, **self._few(), **long})

    def _odd(self) -> dict[str, int]:
        """Return odd sizes that are no square, the last beyond a block's width."""
        sizes = self._small()
        for name in self.names[-2:]:
            sizes[name] = self.random.choice(_ODD)
        if len(self.names) > 1 and sizes[self.names[-1]] == sizes[self.names[-2]]:
            sizes[self.names[-2]] -= 2
        return self._bounded(sizes)

    def _even(self) -> dict[str, int]:
        """Return sizes that wide loads are taken for: multiples of four, or of a warp."""
        sizes = {name: self.random.choice(_MULTIPLES) for name in self.names}
        for name in self.names[-2:]:
            sizes[name] = self.random.choice(_EVEN)
        while self._too_much(sizes):
            name = max(sizes, key=sizes.__getitem__)
            if sizes[name] <= _MULTIPLES[0]:
                break
            sizes[name] = max(sizes[name] // 8 * 4, _MULTIPLES[0])
        return sizes

    def _vast(self, name: str) -> Iterator[CasePlan]:
        """Yield a case of more elements than sixteen bits count, where that is no work."""
        symbols = {**dict.fromkeys(self.names, 1), name: _VAST + self.random.randrange(1, 99)}
        few = self._elements(symbols) <= 3 * _VAST and not self._has_products()
        if few and not self._is_by_row(name):
            yield self._case(f"{name}-vast", "long", symbols, "normal")

    def _is_reduced(self, name: str) -> bool:
        return name in self.spec.reduced

    def _is_by_row(self, name: str) -> bool:
        """Whether the longest reduction is not along `name`: as many blocks would be launched."""
        if not REDUCING & set(self.spec.operations):
            return False
        return not named_in(self.spec.longest, [name])

    def _has_later_turns(self, name: str) -> bool:
        """Whether a row's loop goes along `name`: a later turn may lose what it must keep."""
        unordered = are_equals_unordered(self.spec) or is_nan_unordered(self.spec)
        if not REDUCING & set(self.spec.operations) or unordered:
            return False
        return self._is_reduced(name) or not self._is_by_row(name)

    def named(self, text: str) -> Iterator[CasePlan]:
        """Yield cases of the sizes and with the values that a candidate's text names."""
        sizes, values = numbers_of(text)
        plans: list[tuple[str, dict[str, int]]] = []
        for size in sizes:
            for name in self.names:
                plans += [self._of_size(name, size + more) for more in (0, 1)]
            if self.names:
                last, rest = self.names[-1], dict.fromkeys(self.names, 2)
                plans.append((last, {**rest, last: size // 2 ** (len(rest) - 1) + 1}))
        # Beyond what a size of the reference is at most, the reference itself does something else.
        most = {int(number) for number in _BOUND.findall(text)}
        beyond = {size + 1 for size in most} | {(size // _EVENS + 2) * _EVENS for size in most}
        even = [(n, dict.fromkeys(self.names, 4) | {n: b}) for b in beyond for n in self.names]
        plans += [(name, sizes) for name, sizes in even if sizes[name] % _EVENS == 0]
        fit = [plan for plan in plans if not self._is_too_large(*plan)]
        self.random.shuffle(fit)
        # Small sizes are tried anyway, and of a size itself more is to be feared than of the next.
        fit.sort(
            key=lambda plan: (
                plan[1][plan[0]] not in beyond,
                plan[1][plan[0]] <= _SMALL[-1],
                plan[1][plan[0]] not in sizes,
            )
        )
        for at, (name, symbols) in enumerate(affordable(self.batches, fit, _MOST_NAMED)):
            yield self._case(f"named-{at}-{name}", "named-sizes", symbols, "normal")
        if are_equals_unordered(self.spec):
            values = tuple(value for value in values if value <= _MODEST)
        if values and not takes_products(self.spec):
            plan = self._case("named-values", "special-values", self._odd(), "normal")
            yield replace(plan, values=values)

    def _of_size(self, name: str, size: int) -> tuple[str, dict[str, int]]:
        """Return small sizes, one of them given; the smallest where they are too much with it."""
        sizes = {**self._small(), name: size}
        if self._is_too_large(name, sizes) or tiles(self.batches, sizes) > MOST_TILES:
            few = dict.fromkeys(self.batches, 1)
            sizes = {**dict.fromkeys(self.names, 2), **few, name: size}
        return name, sizes

    def _is_too_large(self, name: str, symbols: dict[str, int]) -> bool:
        costly = self._is_by_row(name) or self._has_products()
        blocks = costly and symbols[name] > _LONG[0]
        return blocks or self._elements(symbols) > _MOST_VAST or self._work(symbols) > _MOST_WORK

    def _too_much(self, symbols: Mapping[str, int]) -> bool:
        elements, work = self._elements(symbols), self._work(symbols)
        tiled = tiles(self.batches, symbols) > MOST_TILES
        return elements > _MOST_ELEMENTS or work > _MOST_WORK or tiled

    def _long(self, name: str, kind: str, lengths: Sequence[int] = _LONG) -> CasePlan:
        symbols = dict.fromkeys(self.names, 2)
        symbols[name] = self.random.choice(lengths)
        if self._is_by_row(name) or self._has_products():
            symbols[name] = _ROWS if lengths is _LONG else _ROWS_EVEN
        while symbols[name] > _SMALL[-1] and (
            self._elements(symbols) > _LENGTHY or is_too_long(self.batches, name, symbols)
        ):
            symbols[name] //= 2
        check = {"normal": "long", "positive": "accumulation"}.get(kind) or _CHECKS[kind]
        more = "" if lengths is _LONG else "-even"
        return self._case(f"{name}-long-{kind}{more}", check, symbols, kind)

    def _bounded(self, symbols: dict[str, int]) -> dict[str, int]:
        """Return sizes with which a case stays within what the emulator does in a second."""
        while self._too_much(symbols):
            name = max(symbols, key=symbols.__getitem__)
            if symbols[name] <= 3:  # an odd half of it would be no less
                break
            symbols = {**symbols, name: symbols[name] // 2 | 1}
        return symbols

    def _elements(self, symbols: Mapping[str, int]) -> int:
        return elements_of(self.spec, self._fitted(symbols))

    def _fitted(self, symbols: Mapping[str, int]) -> dict[str, int]:
        return {s.name: -(-symbols[s.name] // s.multiple) * s.multiple for s in self.spec.symbols}

    def _has_products(self) -> bool:
        """Whether there is a product of matrices: a whole tile of work for the smallest of them."""
        return any(op in ("mm", "bmm") for op in self.spec.operations)

    def _work(self, symbols: Mapping[str, int]) -> int:
        if not self._has_products():
            return 0
        total = 1
        for value in symbols.values():
            total *= max(value, 1)
        return total

    def _aliased(self, symbols: Mapping[str, int]) -> Iterator[CasePlan]:
        alias = _twins(self.spec.inputs)
        if alias:
            yield self._case("aliased", "aliasing", symbols, "normal", alias=alias)


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
