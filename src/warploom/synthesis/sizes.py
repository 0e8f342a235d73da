"""Sizes as text over symbols: `(d0*d1)`, `(d1//2)`; their values for given symbols.

So are conditions: `d0 > 20`, `d1%4 == 0`.
"""

import ast
import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from warploom.core.errors import BadInputError

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.Div: lambda a, b: a / b,
}  # fmt: skip
_CALLS: dict[str, Callable[..., float]] = {"max": max, "min": min, "pow": pow, "float": float}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def named_in(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of some symbols that a text over symbols names, in their order."""
    return tuple(name for name in names if re.search(rf"\b{name}\b", text))


def holds(text: str, symbols: Mapping[str, int]) -> bool:
    """Whether a condition holds for given symbols; one that divides by zero says nothing.

    Raises:
        BadInputError: the text is no condition.
    """
    try:
        return _holds(_parsed(text), text, symbols)
    except ZeroDivisionError:
        return True


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _holds(node: ast.expr, text: str, symbols: Mapping[str, int]) -> bool:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        compare = _COMPARISONS.get(type(node.ops[0]))
        if compare is not None:
            sides = (_value(side, text, symbols) for side in (node.left, node.comparators[0]))
            return compare(*sides)
    if isinstance(node, ast.BoolOp):
        join = all if isinstance(node.op, ast.And) else any
        return join(_holds(part, text, symbols) for part in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(node.operand, text, symbols)
    raise BadInputError(f"a condition must compare sizes, got {text!r}")


def size_value(text: str, symbols: Mapping[str, int]) -> int:
    """Return the value of a size.

    Raises:
        BadInputError: the text is no size.
    """
    try:
        return int(_value(_parsed(text), text, symbols))
    except ZeroDivisionError:
        raise BadInputError(f"the size {text} divides by zero at {dict(symbols)}") from None


def shape_value(shape: Sequence[str], symbols: Mapping[str, int]) -> tuple[int, ...]:
    """Return the values of all sizes of a shape."""
    return tuple(size_value(size, symbols) for size in shape)


def _value(node: ast.expr, text: str, symbols: Mapping[str, int]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and node.id in symbols:
        return symbols[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = (_value(side, text, symbols) for side in (node.left, node.right))
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, text, symbols)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return _CALLS[node.func.id](*(_value(arg, text, symbols) for arg in node.args))
    raise BadInputError(f"a size must be arithmetic over d0, d1, ..., got {text!r}")
