"""Operations on single values: C expressions over operands of one type."""

from collections.abc import Callable

from warploom.synthesis.codegen.ctypes_of import FLOATING

UNARY: dict[str, str] = {
    "neg": "(-{a})", "reciprocal": "({one} / {a})", "sqrt": "sqrt{f}({a})",
    "rsqrt": "({one} / sqrt{f}({a}))", "exp": "exp{f}({a})", "exp2": "exp2{f}({a})",
    "expm1": "expm1{f}({a})", "log": "log{f}({a})", "log2": "log2{f}({a})",
    "log10": "log10{f}({a})", "log1p": "log1p{f}({a})", "sin": "sin{f}({a})",
    "cos": "cos{f}({a})", "tan": "tan{f}({a})", "asin": "asin{f}({a})", "acos": "acos{f}({a})",
    "atan": "atan{f}({a})", "sinh": "sinh{f}({a})", "cosh": "cosh{f}({a})",
    "tanh": "tanh{f}({a})", "asinh": "asinh{f}({a})", "acosh": "acosh{f}({a})",
    "atanh": "atanh{f}({a})", "erf": "erf{f}({a})", "erfc": "erfc{f}({a})",
    "sigmoid": "({one} / ({one} + exp{f}(-{a})))",
    "relu": "({a} < {zero} ? {zero} : {a})",
}  # fmt: skip
"""Of one operand; `{f}` is the suffix of the function for its type."""

ROUNDING: dict[str, str] = {
    "floor": "floor{f}({a})", "ceil": "ceil{f}({a})", "round": "rint{f}({a})",
    "trunc": "trunc{f}({a})",
}  # fmt: skip
"""As above; integers stay as they are."""

BINARY: dict[str, str] = {
    "mul": "({a} * {b})", "atan2": "atan2{f}({a}, {b})",
    "maximum": "({a} > {b} || {a} != {a} ? {a} : {b})",
    "minimum": "({a} < {b} || {a} != {a} ? {a} : {b})",
    "fmod": "fmod{f}({a}, {b})", "hypot": "hypot{f}({a}, {b})", "copysign": "copysign{f}({a}, {b})",
    "bitwise_and": "({a} & {b})", "bitwise_or": "({a} | {b})", "bitwise_xor": "({a} ^ {b})",
    "bitwise_left_shift": "({a} << {b})", "bitwise_right_shift": "({a} >> {b})",
    "__lshift__": "({a} << {b})", "__rshift__": "({a} >> {b})",
}  # fmt: skip
"""Of two operands of one type."""

COMPARISONS: dict[str, str] = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "logical_and": "&&", "logical_or": "||",
}  # fmt: skip
"""Two operands to a truth value."""

TESTS: dict[str, str] = {
    "logical_not": "(!{a})", "isnan": "({a} != {a})",
    "isinf": "(fabs{f}({a}) == (1 / {zero}))",
}  # fmt: skip
"""One operand to a truth value."""

Template = Callable[[str], str]


def suffix(dtype: str) -> str:
    """Return the suffix of mathematical functions for a type."""
    return "" if dtype == "float64" else "f"


def literal(value: object, dtype: str) -> str:
    """Return a number as C text of a type that is computed in."""
    if dtype in FLOATING:
        number = float(value)  # pyright: ignore[reportArgumentType]
        if number != number:
            return "static_cast<double>(NAN)" if dtype == "float64" else "NAN"
        if number in (float("inf"), float("-inf")):
            text = "static_cast<double>(INFINITY)" if dtype == "float64" else "INFINITY"
            return text if number > 0 else f"(-{text})"
        text = repr(number)
        text = text if dtype == "float64" else f"{text}f"
        return f"({text})" if number < 0 else text
    if dtype == "bool":
        return "true" if value else "false"
    number = int(value)  # pyright: ignore[reportArgumentType]
    if dtype == "int64":
        return f"(-{-number}LL)" if number < 0 else f"{number}LL"
    return f"({number})" if number < 0 else str(number)


def fill(template: str, dtype: str, a: str, b: str = "") -> str:
    """Return a template with its operands."""
    return template.format(a=a, b=b, f=suffix(dtype), one=literal(1, dtype), zero=literal(0, dtype))
