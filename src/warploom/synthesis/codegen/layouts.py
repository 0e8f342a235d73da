"""Operations that only say where a value comes from: views, slices, joins, look-ups, constants."""

import re
from typing import Any

from warploom.synthesis.codegen import ctypes_of
from warploom.synthesis.codegen.graph import Node
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.scope import Index, Scope, c_size, linear, product
from warploom.synthesis.codegen.values import Layout, Values

_END = 1 << 62


def _source(values: Values, node: Node, at: int = 0) -> Node:
    found = values.graph.node_of(node.args[at])
    if found is None:
        raise BeyondRulesError(f"{node.op} of what is no tensor", line=node.line)
    return found


def _size_text(argument: Any) -> str:
    if isinstance(argument, dict):
        return c_size(str(argument["sym"]))  # pyright: ignore[reportUnknownArgumentType]
    return str(argument)


def _permute(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    rank = len(source.sizes)
    order = [int(d) % rank for d in node.args[1]]
    inner = [""] * rank
    for at, dim in enumerate(order):
        inner[dim] = index[at]
    return values.value(source, tuple(inner), scope, guard)


def _transpose(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    rank = len(source.sizes)
    a, b = (int(d) % rank for d in (node.args[1:] if len(node.args) > 2 else (0, rank - 1)))
    inner = list(index)
    inner[a], inner[b] = inner[b], inner[a]
    return values.value(source, tuple(inner), scope, guard)


def _expand(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    return values.value(source, values.broadcast(source, node, index), scope, guard)


def _unsqueeze(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    dim = int(node.args[1]) % len(node.sizes)
    return values.value(_source(values, node), (*index[:dim], *index[dim + 1 :]), scope, guard)


def _squeeze(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    rank = len(source.sizes)
    given = node.args[1] if len(node.args) > 1 else list(range(rank))
    dims = [int(d) % rank for d in (given if isinstance(given, list) else [given])]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    dims = [d for d in dims if source.sizes[d] == "1"]
    rest = iter(index)
    inner = tuple("0" if d in dims else next(rest) for d in range(rank))
    return values.value(source, inner, scope, guard)


def _view(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    inner = ["0"] * len(source.sizes)
    for old, new in node.groups:
        kept = [d for d in new if node.sizes[d] != "1"]
        real = [d for d in old if source.sizes[d] != "1"]
        if len(kept) == 1 and len(real) == 1:
            inner[real[0]] = index[kept[0]]
            continue
        flat = linear(tuple(index[d] for d in new), [node.sizes[d] for d in new])
        if len(real) == 1:
            inner[real[0]] = flat
            values.merged[flat] = (
                tuple(index[d] for d in kept), tuple(node.sizes[d] for d in kept)
            )  # fmt: skip
            continue
        for at, d in enumerate(real):
            rest = product(source.sizes[e] for e in real[at + 1 :])
            text = flat if rest == "1" else f"({flat} / ({rest}))"
            inner[d] = text if at == 0 else f"({text} % ({c_size(source.sizes[d])}))"
    return values.value(source, tuple(inner), scope, guard)


def _slice(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    dim = int(node.args[1]) if len(node.args) > 1 else 0
    dim %= len(source.sizes)
    start = node.args[2] if len(node.args) > 2 else 0
    step = node.args[4] if len(node.args) > 4 else 1
    size = c_size(source.sizes[dim])
    begin = _size_text(0 if start is None else start)
    if isinstance(start, int) and start < 0:
        begin = f"({size} + ({begin}) > 0 ? {size} + ({begin}) : 0)"
    elif not re.fullmatch(r"\w+", begin):  # beyond the size nothing is asked for
        begin = f"({begin})"
    text = index[dim] if step == 1 else f"{index[dim]} * {step}"
    text = text if begin == "0" and step == 1 else f"({text})" if begin == "0" else (
        f"({text} + {begin})"
    )  # fmt: skip
    inner = (*index[:dim], text, *index[dim + 1 :])
    return values.value(source, inner, scope, guard)


def _select(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    dim = int(node.args[1]) % len(source.sizes)
    at = _size_text(node.args[2])
    if at.startswith("-"):
        at = f"({c_size(source.sizes[dim])} + ({at}))"
    return values.value(source, (*index[:dim], at, *index[dim:]), scope, guard)


def _flip(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    dims = [int(d) % len(source.sizes) for d in node.args[1]]
    inner = tuple(
        f"({c_size(size)} - 1 - {at})" if d in dims and size != "1" else at
        for d, (at, size) in enumerate(zip(index, source.sizes, strict=True))
    )
    return values.value(source, inner, scope, guard)


def _cat(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    parts = [values.graph.node_of(part) for part in node.args[0]]
    dim = int(node.args[1]) % len(node.sizes) if len(node.args) > 1 else 0
    found = ""
    start = "0"
    at = index[dim]
    for part in parts:
        if part is None or len(part.sizes) != len(node.sizes):
            raise BeyondRulesError("cat of what is not alike", line=node.line)
        end = f"{start} + {c_size(part.sizes[dim])}" if start != "0" else c_size(part.sizes[dim])
        tests = [(at, ">=", start)] if start != "0" else []
        tests += [(at, "<", end)] if part is not parts[-1] or not tests else []
        inside = values.inside(tests, scope, guard)
        before, start = start, end
        if inside is None:
            continue
        place = at if before == "0" else f"({at} - ({before}))"
        inner = (*index[:dim], place, *index[dim + 1 :])
        value = values.value(part, inner, scope, inside)
        ctype = ctypes_of.computed(node.dtype)
        own = f"static_cast<{ctype}>({value})"
        found = f"({inside} ? {own} : {found})" if found and inside != guard else own
    return scope.define(ctypes_of.computed(node.dtype), found)


def _pad(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    pads = node.args[1]
    fill = node.args[2] if len(node.args) > 2 else node.kwargs.get("value", 0)
    rank = len(source.sizes)
    inner = list(index)
    tests: list[tuple[str, str, str]] = []
    for pair in range(len(pads) // 2):
        dim = rank - 1 - pair
        before, after = (_size_text(pads[2 * pair + side]) for side in (0, 1))
        inner[dim] = index[dim] if before == "0" else f"({index[dim]} - ({before}))"
        if _adds(before):
            tests.append((inner[dim], ">=", "0"))
        if _adds(after):
            tests.append((inner[dim], "<", c_size(source.sizes[dim])))
    inside = values.inside(tests, scope, guard)
    other = values.number(fill, node.dtype, node)
    if inside is None:
        return other
    value = values.value(source, tuple(inner), scope, inside)
    if inside == guard:
        return value
    return scope.define(ctypes_of.computed(node.dtype), f"{inside} ? {value} : {other}")


def _adds(pad: str) -> bool:
    """Whether so many elements are added, not cut off; what varies may be."""
    return not re.fullmatch(r"0|-\d+", pad)


def _embedding(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    table, places = _source(values, node, 0), _source(values, node, 1)
    count = len(places.sizes)
    row = values.value(places, _shaped(places, index[:count]), scope, guard)
    return values.value(table, (row, *index[count:]), scope, guard)


def _shaped(node: Node, index: Index) -> Index:
    return tuple("0" if s == "1" else at for s, at in zip(node.sizes, index, strict=True))


def _wrapped(
    values: Values, places: Node, index: Index, size: str, scope: Scope, guard: str
) -> str:
    at = values.value(places, index, scope, guard)
    long = f"static_cast<long long>({at})"
    return scope.define("long long", f"{long} + ({long} >> 63 & {size})")  # from the end below 0


def _index(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    given = [values.graph.node_of(arg) for arg in node.args[1]]
    where = [d for d, item in enumerate(given) if item is not None]
    if not where or where != list(range(where[0], where[-1] + 1)):
        raise BeyondRulesError("indexing by tensors that do not stand together", line=node.line)
    tensors = [item for item in given if item is not None]
    if any(item.dtype == "bool" for item in tensors):
        raise BeyondRulesError("indexing by truth values", line=node.line)
    width = max(len(item.sizes) for item in tensors)
    first = where[0]
    common = index[first : first + width]
    inner = [*index[:first]]
    for d, item in zip(where, tensors, strict=True):
        own = _shaped(item, common[width - len(item.sizes) :])
        inner.append(_wrapped(values, item, own, c_size(source.sizes[d]), scope, guard))
    inner += index[first + width :]
    return values.value(source, tuple(inner), scope, guard)


def _gather(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source, places = _source(values, node, 0), _source(values, node, 2)
    dim = int(node.args[1]) % len(source.sizes)
    at = values.value(places, _shaped(places, index), scope, guard)  # never negative
    return values.value(source, (*index[:dim], at, *index[dim + 1 :]), scope, guard)


def _full(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    del index, scope, guard
    fill = node.args[0] if node.op == "scalar_tensor" else node.args[1]
    return values.number(fill, node.dtype, node)


def _filled(value: int) -> Layout:
    def made(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
        del index, scope, guard
        return values.number(value, node.dtype, node)

    return made


def _arange(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    del guard
    start, step = (node.args[0], 1)
    if len(node.args) > 2:
        step = node.args[2]
    if len(node.args) == 1:
        start = 0
    ctype = ctypes_of.computed(node.dtype)
    first, by = (values.number(v, node.dtype, node) for v in (start, step))
    return scope.define(ctype, f"{first} + {by} * static_cast<{ctype}>({index[0]})")


def _diagonal(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    rank = len(source.sizes)
    defaults: list[Any] = [0, 0, 1]
    offset, a, b = [*node.args[1:], *defaults[len(node.args) - 1 :]]
    if offset != 0:
        raise BeyondRulesError("a diagonal beside the main one", line=node.line)
    a, b = int(a) % rank, int(b) % rank
    rest = iter(index[:-1])
    inner = tuple(index[-1] if d in (a, b) else next(rest) for d in range(rank))
    return values.value(source, inner, scope, guard)


def _parts_before(given: Any, number: int) -> list[Any]:
    """Return the sizes of the parts before one, of a split by one size or by a list."""
    return list(given[:number]) if isinstance(given, list) else [given] * number  # pyright: ignore[reportUnknownArgumentType]


def _getitem(values: Values, node: Node, index: Index, scope: Scope, guard: str) -> str:
    source = _source(values, node)
    if source.op not in ("split", "split_with_sizes", "unbind", "chunk"):
        raise BeyondRulesError(f"the operation {source.op}", line=source.line or node.line)
    whole = _source(values, source)
    number = int(node.args[1])
    dim = int(source.args[2] if len(source.args) > 2 else 0) % len(whole.sizes)
    if source.op == "unbind":
        dim = int(source.args[1] if len(source.args) > 1 else 0) % len(whole.sizes)
        return values.value(whole, (*index[:dim], str(number), *index[dim:]), scope, guard)
    given: list[Any] = list(source.args)
    sizes = [_size_text(s) for s in _parts_before(given[1], number)]
    start = " + ".join(sizes) or "0"
    at = index[dim] if start == "0" else f"({index[dim]} + {start})"
    return values.value(whole, (*index[:dim], at, *index[dim + 1 :]), scope, guard)


LAYOUTS: dict[str, Layout] = {
    "permute": _permute, "transpose": _transpose, "t": _transpose, "expand": _expand,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "view": _view, "_unsafe_view": _view,
    "reshape": _view, "slice": _slice, "select": _select, "flip": _flip, "cat": _cat,
    "constant_pad_nd": _pad, "embedding": _embedding, "index": _index, "gather": _gather,
    "full": _full, "full_like": _full, "scalar_tensor": _full, "zeros_like": _filled(0),
    "ones_like": _filled(1), "zeros": _filled(0), "ones": _filled(1), "arange": _arange,
    "diagonal": _diagonal, "getitem": _getitem,
}  # fmt: skip
"""By operation; each returns the value of the node at an index."""
