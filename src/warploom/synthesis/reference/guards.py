"""What a trace takes for granted of sizes: PyTorch's guards, as text over its symbols."""

import re
from typing import Any

from warploom.synthesis.reference.expressions import condition
from warploom.synthesis.reference.relations import Relation, relations_in
from warploom.synthesis.reference.torch_module import is_tensor

Place = tuple[int, int]
"""An argument of the reference by number, and a dimension of it."""


def guards_of(program: Any) -> list[str]:
    """Return the guards of a program, over the symbols that sizes of its inputs are.

    Raises:
        ReferenceFailedError: one cannot be written.
    """
    found: list[str] = []
    for env in _environments(program):
        for guard in env.guards:
            expr = _replaced(guard.expr, env.replacements)
            names = {str(symbol) for symbol in expr.free_symbols}
            if names and not any(re.match(r"z*u", name) for name in names):
                found.append(condition(expr))
        found += _bounds(program, env)
    return list(dict.fromkeys(found))


def _bounds(program: Any, env: Any) -> list[str]:
    """Return the ranges of symbols that no guard says."""
    found: list[str] = []
    for symbol, bounds in program.range_constraints.items():
        if symbol in env.replacements or not str(symbol).startswith("s"):
            continue
        lower, upper = str(bounds.lower), str(bounds.upper)
        if lower.isdecimal() and int(lower) > 2:  # the least that traces have, and none that holds
            found.append(f"{symbol} >= {lower}")
        if upper.isdecimal():
            found.append(f"{symbol} <= {upper}")
    return found


def _environments(program: Any) -> list[Any]:
    """Return what PyTorch knows of a program's sizes."""
    found: dict[int, Any] = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        mode = getattr(value, "fake_mode", None) if is_tensor(value) else None
        env = getattr(mode, "shape_env", None)
        if env is not None:
            found[id(env)] = env
    return list(found.values())


def _replaced(expr: Any, replacements: Any) -> Any:
    """Return a guard over the symbols that are left, where some are equal to others."""
    for _ in range(len(replacements) + 1):
        other = expr.xreplace(replacements)
        if other == expr:
            break
        expr = other
    return expr


def places_of(program: Any, example: tuple[Any, ...]) -> dict[str, Place]:
    """Return where each symbol is a whole size of the reference's inputs, the first place."""
    user = set(program.graph_signature.user_inputs)
    values = [
        node.meta["val"] for node in program.graph.nodes
        if node.op == "placeholder" and node.name in user and is_tensor(node.meta.get("val"))
    ]  # fmt: skip
    tensors = [at for at, value in enumerate(example) if is_tensor(value)]
    found: dict[str, Place] = {}
    for at, value in zip(tensors, values, strict=True):
        for dim, size in enumerate(value.shape):
            expr = getattr(getattr(size, "node", None), "expr", None)
            if expr is not None and expr.is_Symbol:
                found.setdefault(str(expr), (at, dim))
    return found


def relations_of(
    program: Any, example: tuple[Any, ...]
) -> tuple[tuple[Relation, ...], dict[str, Place]]:
    """Return which sizes of a program follow from others, and where these are."""
    places = places_of(program, example)
    sizes = {name: int(example[at].shape[dim]) for name, (at, dim) in places.items()}
    dims = {name: dim for name, (_, dim) in places.items()}
    return relations_in(guards_of(program), sizes, dims), places
