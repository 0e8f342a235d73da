"""What holds of indices and sizes whatever they are: a test of it would only ever go one way.

An expression is a sum of products here: whole coefficients by their factors. A factor is a size,
an index, or a division of these: none is ever negative.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import chain

Sum = dict[tuple[str, ...], int]
"""Coefficients by sorted factors; the constant is that of no factors."""
Test = tuple[str, str, str]
"""An index, `>=` or `<`, and a bound."""
_NATURAL = re.compile(r"[dik]_?\d+(_\d+)*")  # values, which may be negative, are called v0, v1, ...
_LARGER = ("larger_of", "max")


def is_never_negative(text: str, extents: Mapping[str, str] | None = None) -> bool:
    """Whether an expression (C) can be shown to be zero at least; indices are below `extents`."""
    try:
        return _is_natural(_below(_sum(_parsed(text)), extents or {}))
    except ValueError:
        return False


def needed(tests: Sequence[Test], extents: Mapping[str, str]) -> list[Test] | None:
    """Return the tests that may go either way; None where one of them can never hold."""
    left: list[Test] = []
    for at, sign, bound in tests:
        reaches, misses = f"({at}) - ({bound})", f"({bound}) - ({at}) - 1"
        holds, fails = (reaches, misses) if sign == ">=" else (misses, reaches)
        if is_never_negative(fails, extents):
            return None
        if not is_never_negative(holds, extents):
            left.append((at, sign, bound))
    return left


def _is_natural(total: Sum) -> bool:
    return all(count >= 0 for count in total.values())


def _below(total: Sum, extents: Mapping[str, str]) -> Sum:
    """Return a sum that is no more: with the last value of each index that is taken off."""
    found: Sum = {}
    for factors, count in total.items():
        part: Sum = {(): count}
        for factor in factors:
            last = factor
            if count < 0 and factor in extents:
                last = f"({extents[factor]}) - 1"
            part = _times(part, _sum(_parsed(last)) if last != factor else {(factor,): 1})
        found = _plus(found, part)
    return found


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.replace("//", "/"), mode="eval").body
    except SyntaxError:
        raise ValueError(text) from None


def _sum(node: ast.expr) -> Sum:
    """Return an expression as a sum; a ValueError says that it is none of what is known."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return {(): node.value}
    if isinstance(node, ast.Name) and _NATURAL.fullmatch(node.id):
        return {(node.id,): 1}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _times({(): -1}, _sum(node.operand))
    if isinstance(node, ast.BinOp):
        return _joined(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        whole = any if node.func.id in _LARGER else all
        if whole(_is_natural(_sum(each)) for each in node.args):
            return {(ast.unparse(node),): 1}
    raise ValueError(ast.unparse(node))


def _joined(node: ast.BinOp) -> Sum:
    left, right = _sum(node.left), _sum(node.right)
    if isinstance(node.op, ast.Add):
        return _plus(left, right)
    if isinstance(node.op, ast.Sub):
        return _plus(left, _times({(): -1}, right))
    if isinstance(node.op, ast.Mult):
        return _times(left, right)
    if isinstance(node.op, ast.Div | ast.Mod) and _is_natural(left) and _is_natural(right):
        return {(ast.unparse(node),): 1}
    raise ValueError(ast.unparse(node))


def _plus(a: Sum, b: Sum) -> Sum:
    return {key: a.get(key, 0) + b.get(key, 0) for key in dict.fromkeys(chain(a, b))}


def _times(a: Sum, b: Sum) -> Sum:
    found: Sum = {}
    for first, count in a.items():
        for second, other in b.items():
            found = _plus(found, {tuple(sorted((*first, *second))): count * other})
    return found
