"""Traces a reference: its graph over the few operations that have code, as plain data."""

import inspect
import math
import operator
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from warploom.synthesis.reference.decompositions import table
from warploom.synthesis.reference.expressions import exact, expression, plain_size
from warploom.synthesis.reference.failures import ReferenceFailedError, first_line, line_in
from warploom.synthesis.reference.guards import Place, guards_of, relations_of
from warploom.synthesis.reference.loading import Loaded
from warploom.synthesis.reference.ranks import OPERATIONS
from warploom.synthesis.reference.relations import Relation
from warploom.synthesis.reference.torch_module import dtype_name, is_tensor, torch

_DROPPED = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size",
            "sym_constrain_range", "_assert_async")  # fmt: skip
Json = Any


def trace(loaded: Loaded, example: tuple[Any, ...]) -> tuple[dict[str, Json], Any]:
    """Return the graph of `loaded` for inputs like `example`, sizes as symbols where they may vary.

    It comes as plain data and as PyTorch's program, for `replay`.

    Raises:
        ReferenceFailedError: it cannot be traced.
    """
    lines = operation_lines(loaded, example)
    program = _export(loaded, example)
    data = _Graph(program, example, lines).encode()
    return {**data, "calls": sorted(lines), "guards": guards_of(program)}, program


def replay(program: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """Return what a traced program computes, whatever sizes its trace took for granted."""
    held = {**dict(program.constants.items()), **dict(program.state_dict.items())}
    rest = iter(inputs)
    given = [
        held[spec.target] if spec.target in held else next(rest)
        for spec in program.graph_signature.input_specs
    ]

    class Replay(torch.fx.Interpreter):
        """Runs a graph, and sees that no size is stretched which the trace does not stretch."""

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            result: Any = target(*args, **kwargs)
            if torch.Tag.pointwise in getattr(target, "tags", ()) and is_tensor(result):
                _check_stretch(self.traced, args, result)
            return result

        def run_node(self, node: Any) -> Any:
            self.traced: list[Any] = [
                arg.meta.get("val") if isinstance(arg, torch.fx.Node) else None for arg in node.args
            ]
            result: Any = super().run_node(node)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            return result  # pyright: ignore[reportUnknownVariableType]

    with torch.no_grad():
        return tuple(Replay(program.graph_module).run(*given))


def _check_stretch(traced: list[Any], args: tuple[Any, ...], result: Any) -> None:
    """Refuse an operand that is stretched over a size which its trace takes for equal."""
    for fake, real in zip(traced, args, strict=False):
        if not is_tensor(fake) or not is_tensor(real):
            continue
        whole = result.shape[result.dim() - real.dim() :]
        for said, size, wide in zip(fake.shape, real.shape, whole, strict=True):
            if size == 1 and wide != 1 and plain_size(said) != 1:
                raise ReferenceFailedError("the reference stretches a size of one here")


def _export(loaded: Loaded, example: tuple[Any, ...]) -> Any:
    """Return the reference's program, in which sizes that follow from others are no symbols."""
    program = _exported(loaded, example, (), {})
    relations, places = relations_of(program, example)
    if not relations:
        return program
    try:
        return _exported(loaded, example, relations, places)
    except ReferenceFailedError:
        return program


def _exported(
    loaded: Loaded, example: tuple[Any, ...], relations: Sequence[Relation],
    places: Mapping[str, Place],
) -> Any:  # fmt: skip
    def size(values: tuple[Any, ...], name: str) -> Any:
        at, dim = places[name]
        return values[at].shape[dim]

    class Whole(torch.nn.Module):
        def forward(self, *values: Any) -> Any:
            for one in relations:
                if one.of:
                    torch._check(size(values, one.name) == one.times * size(values, one.of))
            return loaded.function(*values)

    fixed = {places[one.name] for one in relations if not one.of}
    auto = torch.export.Dim.AUTO
    failure: Exception | None = None
    for dynamic in (True, False):
        shapes = tuple(
            ({d: auto for d in range(v.dim()) if v.shape[d] > 1 and (at, d) not in fixed}
             if dynamic else {})
            if is_tensor(v)
            else None
            for at, v in enumerate(example)
        )  # fmt: skip
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                whole = torch.export.export(Whole().eval(), example, dynamic_shapes=(shapes,))
                whole = whole.run_decompositions(table())
            if not dynamic or _solvable(whole):
                return whole
        except Exception as error:  # noqa: BLE001 - whatever it is, the user is told
            failure = failure or error
        if relations:
            break  # the program without them is better than one of fixed sizes
    raise ReferenceFailedError(
        f"PyTorch cannot trace the reference: {first_line(failure) if failure else 'sizes'}",
        line=line_in(loaded.file, failure) if failure else None,
        hint="control flow that depends on the values of tensors has no fixed kernel",
    )


def _solvable(program: Any) -> bool:
    """Whether each symbol is a whole dimension of an input, so that a caller knows its value."""
    known: set[str] = set()
    used: set[str] = set()
    for node in program.graph.nodes:
        if node.op == "placeholder" and is_tensor(node.meta.get("val")):
            for size in node.meta["val"].shape:
                expr = getattr(getattr(size, "node", None), "expr", None)
                if expr is not None:
                    used |= {str(s) for s in expr.free_symbols}
                    if expr.is_Symbol:
                        known.add(str(expr))
    return used <= known


def operation_lines(loaded: Loaded, example: tuple[Any, ...]) -> dict[str, list[int]]:
    """Return the lines of the reference that call each operation, in order."""
    found: dict[str, list[int]] = {}
    file = str(loaded.file)

    def line() -> int | None:
        frame: FrameType | None = inspect.currentframe()
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        return frame.f_lineno if frame else None

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            at = line()
            if at is not None:
                found.setdefault(func.__name__.split(".")[0], []).append(at)
            return func(*args, **(kwargs or {}))

    try:
        with torch.no_grad(), Watch():
            loaded.function(*[v.clone() if is_tensor(v) else v for v in example])
    except ReferenceFailedError:
        raise
    except Exception as error:
        raise ReferenceFailedError(
            f"the reference fails on its own example: {first_line(error)}",
            line=line_in(loaded.file, error),
        ) from error
    return found


class _Graph:
    """Turns an exported program into plain data."""

    def __init__(self, program: Any, example: tuple[Any, ...], lines: dict[str, list[int]]) -> None:
        self.graph = program.graph
        self.example = example
        self.lines = lines
        self.constants = {
            **dict(program.constants.items()),
            **dict(program.state_dict.items()),
        }
        self.signature = program.graph_signature
        self.rename: dict[str, str] = {}
        self.collectives: Counter[str] = Counter()

    def encode(self) -> dict[str, Json]:
        """Return inputs, nodes, outputs and symbols."""
        inputs: list[Json] = []
        nodes: list[Json] = []
        outputs: list[str] = []
        user = list(self.signature.user_inputs)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                if node.name not in user and not isinstance(node.meta.get("val"), int | float):
                    self._constant(node, nodes)
                elif is_tensor(node.meta.get("val")):
                    inputs.append({"name": node.name, **self._kind(node.meta["val"])})
                else:
                    nodes.append(self._scalar_input(node))
            elif node.op == "output":
                outputs = self._outputs(node)
            elif node.op == "call_function":
                self._call(node, nodes)
        text = {"inputs": inputs, "nodes": nodes, "outputs": outputs}
        return {**text, "symbols": self._symbols(inputs)}

    def _constant(self, node: Any, nodes: list[Json]) -> None:
        """Enter a tensor that the reference made itself, where it is one number."""
        value = None
        for spec in self.signature.input_specs:
            if spec.arg.name == node.name:
                value = self.constants.get(spec.target)
        if value is None or value.numel() != 1:
            raise ReferenceFailedError(
                "the reference holds a tensor of its own that is no input",
                hint="make it a parameter, and give it in example_inputs",
            )
        kind = self._kind(node.meta["val"])
        nodes.append({
            "name": node.name, "op": "full", "args": [kind["shape"], self._arg(value.item())],
            "kwargs": {}, "line": None, **kind,
        })  # fmt: skip

    def _scalar_input(self, node: Any) -> Json:
        value = node.meta.get("val")
        return {"name": node.name, "op": "scalar", "args": [self._arg(value)], "kwargs": {},
                "shape": None, "dtype": "", "line": None}  # fmt: skip

    def _outputs(self, node: Any) -> list[str]:
        found: list[str] = []
        for spec in self.signature.output_specs:
            if str(spec.kind) != "OutputKind.USER_OUTPUT":
                raise ReferenceFailedError("the reference must not change its inputs")
        for value in node.args[0]:
            if not isinstance(value, torch.fx.Node) or not is_tensor(value.meta.get("val")):
                raise ReferenceFailedError("the reference must return tensors only")
            found.append(value.name)
        return found

    def _kind(self, value: Any) -> dict[str, Json]:
        if is_tensor(value):
            return {
                "shape": [plain_size(size) for size in value.shape],
                "dtype": dtype_name(value.dtype),
            }
        return {"shape": None, "dtype": ""}

    def _call(self, node: Any, nodes: list[Json]) -> None:
        name = self._op(node)
        if name in _DROPPED:
            return
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return  # written out where it is used
        entry = {
            "name": node.name, "op": name, "args": self._arg(list(node.args)),
            "kwargs": {k: self._arg(v) for k, v in node.kwargs.items()
                       if k not in ("layout", "device", "pin_memory", "memory_format",
                                    "non_blocking")},
            "line": self._line(node, name), **self._kind(value),
        }  # fmt: skip
        if name in ("view", "_unsafe_view", "reshape"):
            entry["groups"] = _groups(node.args[0].meta["val"].shape, value.shape)
        nodes.append(entry)

    def _op(self, node: Any) -> str:
        target = node.target
        if target is operator.getitem:
            return "getitem"
        return str(getattr(target, "__name__", target)).split(".")[0]

    def _line(self, node: Any, name: str) -> int | None:
        lines = self.lines.get(name)
        if not lines:
            base = str(node.meta.get("original_aten", "")).removeprefix("aten.").split(".")[0]
            lines = self.lines.get(base)
        if not lines:
            return None
        at = self.collectives[name] if name in OPERATIONS else 0  # each of its calls is a node
        self.collectives[name] += 1
        return lines[min(at, len(lines) - 1)]

    def _arg(self, value: Any) -> Json:
        if isinstance(value, torch.fx.Node):
            inner = value.meta.get("val")
            if isinstance(inner, torch.SymInt | torch.SymFloat):
                return self._sym(inner)
            return {"node": value.name}
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return self._sym(value)
        if isinstance(value, list | tuple):
            items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            return [self._arg(item) for item in items]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return {"other": str(value)}

    def _sym(self, value: Any) -> Json:
        size = plain_size(value)
        return size if isinstance(size, int) else {"sym": size}

    def _symbols(self, inputs: list[Json]) -> list[Json]:
        """Name each symbol by the first input dimension that it is."""
        found: dict[str, Json] = {}
        for at, entry in enumerate(inputs):
            for dim, size in enumerate(entry["shape"]):
                if isinstance(size, str) and size.isidentifier() and size not in found:
                    found[size] = {"name": size, "input": at, "dim": dim}
        return list(found.values())


def _groups(before: Any, after: Any) -> list[Json]:
    """Pair the dimensions of a view with those that they are made of: equal products, in order."""

    def product(sizes: list[Any]) -> Any:
        total: Any = 1
        for size in sizes:
            node = getattr(size, "node", None)
            total = total * (node.expr if node is not None else size)
        return total

    old, new = list(before), list(after)
    groups: list[Json] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = (i + 1 if i < len(old) else i), (j + 1 if j < len(new) else j)
        done = False
        while not done:
            for x, y in _within(a, b, len(old), len(new)):
                if _alike(product(old[i:x]), product(new[j:y])):
                    groups.append([list(range(i, x)), list(range(j, y))])
                    i, j, done = x, y, True
                    break
            else:
                groups.append([list(range(i, len(old))), list(range(j, len(new)))])
                return groups
    return groups


def _alike(one: Any, other: Any) -> bool:
    """Whether two products are equal, where each division leaves nothing over."""
    if expression(one) == expression(other):
        return True
    return bool(exact(one) - exact(other) == 0)


def _within(a: int, b: int, most_a: int, most_b: int) -> list[tuple[int, int]]:
    """Return the ends of a group to try, the smallest first."""
    pairs = [(x, y) for x in range(a, most_a + 1) for y in range(b, most_b + 1)]
    return sorted(pairs, key=lambda pair: pair[0] + pair[1])
