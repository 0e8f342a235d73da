"""Sizes of a traced graph as text: Python's and, with `//` for `/`, C's."""

from typing import Any

from warploom.synthesis.reference.failures import ReferenceFailedError


def expression(value: Any) -> str:
    """Return a size as text over its symbols.

    Raises:
        ReferenceFailedError: it uses what sizes of kernels cannot.
    """
    node = getattr(value, "node", None)
    return _text(node.expr if node is not None else value)


_COMPARED = {"Equality": "==", "Unequality": "!=", "StrictGreaterThan": ">",
             "StrictLessThan": "<", "GreaterThan": ">=", "LessThan": "<="}  # fmt: skip
_JOINED = {"And": " and ", "Or": " or "}


def condition(expr: Any) -> str:
    """Return what a trace takes for granted of sizes as text over its symbols.

    Raises:
        ReferenceFailedError: it uses what sizes of kernels cannot.
    """
    kind = type(expr).__name__
    if kind in _COMPARED:
        return f"{_plain(expr.args[0])} {_COMPARED[kind]} {_plain(expr.args[1])}"
    if kind in _JOINED:
        return "(" + _JOINED[kind].join(sorted(condition(arg) for arg in expr.args)) + ")"
    if kind == "Not":
        return f"(not {condition(expr.args[0])})"
    raise ReferenceFailedError(f"what the reference asks of sizes is beyond the rules: {expr}")


def _plain(expr: Any) -> str:
    """Return one side of a comparison, without brackets around the whole."""
    text = _text(expr)
    if text.startswith("(") and text.find(")") == len(text) - 1 and text.count("(") == 1:
        return text[1:-1]
    return text


def plain_size(value: Any) -> int | str:
    """Return a size as a number where it is one, else as text."""
    text = expression(value)
    return int(text) if text.lstrip("-").isdecimal() else text


def is_division(part: Any) -> bool:
    """Whether a part of an expression is a division of sizes that is rounded down."""
    return type(part).__name__ in ("FloorDiv", "CleanDiv")


def exact(expr: Any) -> Any:
    """Return an expression, or a number, in which no division leaves anything over.

    So `d1 // (d1 // 4 * 2)`, a size as views infer it, is 2: a view fails where something is left.
    A reference that asks for such a size in another way has kernels that acceptance refuses.
    """
    return expr.replace(is_division, _quotient) if hasattr(expr, "replace") else expr


def _quotient(part: Any) -> Any:
    return part.args[0] / part.args[1]


_INFIX = {"Add": " + ", "Mul": "*"}
_CALLS = {"FloorDiv": "//", "CleanDiv": "//", "IntTrueDiv": "/", "FloatTrueDiv": "/", "Mod": "%",
          "PythonMod": "%"}  # fmt: skip


def _text(expr: Any) -> str:
    if isinstance(expr, int | float):
        return repr(expr)
    kind = type(expr).__name__
    if expr.is_Symbol:
        return str(expr)
    if expr.is_Integer:
        return str(int(expr))
    if expr.is_Float or expr.is_Rational:
        return repr(float(expr))
    if kind in _INFIX:
        return "(" + _INFIX[kind].join(sorted(_text(arg) for arg in expr.args)) + ")"
    if is_division(expr) and (whole := exact(expr)).is_Integer:
        return str(int(whole))
    if kind in _CALLS:
        return f"({_text(expr.args[0])}{_CALLS[kind]}{_text(expr.args[1])})"
    if kind == "Pow" and expr.exp.is_Integer and 0 < int(expr.exp) <= 4:
        return "(" + "*".join([_text(expr.base)] * int(expr.exp)) + ")"
    if kind == "FloatPow" or kind == "Pow":
        return f"pow({_text(expr.args[0])}, {_text(expr.args[1])})"
    if kind == "ToFloat":
        return f"float({_text(expr.args[0])})"
    if kind in ("Max", "Min"):
        first, *rest = sorted(_text(arg) for arg in expr.args)
        for other in rest:
            first = f"{kind.lower()}({first}, {other})"
        return first
    if kind == "OpaqueUnaryFn_sqrt":
        return f"pow({_text(expr.args[0])}, 0.5)"
    raise ReferenceFailedError(f"a size of the reference is beyond the rules: {expr}")
