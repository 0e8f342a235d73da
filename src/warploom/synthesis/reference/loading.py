"""Reads a reference file: a function over tensors and the examples of its inputs."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.synthesis.reference import ranks
from warploom.synthesis.reference.failures import ReferenceFailedError, first_line, line_in
from warploom.synthesis.reference.torch_module import is_tensor, torch

Function = Callable[..., Any]
_NAMES = ("reference", "REFERENCE")
_EXAMPLES = (
    "def example_inputs(seed):\n"
    "    g = torch.Generator().manual_seed(seed)\n"
    "    return (torch.randn(33, 48, generator=g),)"
)


@dataclass(frozen=True)
class Loaded:
    """A reference: `function` over `names`; `examples` gives its inputs for a seed.

    `model` is there where the function is a `torch.nn.Module`'s, whose parameters come last.
    """

    file: Path
    form: str
    function: Function
    names: tuple[str, ...]
    examples: Callable[[int], tuple[Any, ...]]
    doc: str = ""
    model: Any = None


def load(file: Path, name: str) -> Loaded:
    """Import the reference file and find what it defines.

    Raises:
        ReferenceFailedError: it cannot be imported, or lacks what is needed.
    """
    module = _import(file)
    if name:
        found = getattr(module, name, None)
        if found is None:
            raise ReferenceFailedError(f"defines no {name!r}", hint=_defined(module))
        if inspect.isclass(found):
            return _model(file, module, found)
        return _function(file, module, found)
    for known in _NAMES:
        found = getattr(module, known, None)
        if callable(found):
            return _function(file, module, found)
    model = getattr(module, "Model", None)
    if inspect.isclass(model):
        return _model(file, module, model)
    raise ReferenceFailedError(
        "must define a function `reference` (or REFERENCE, or a class `Model`), but has none",
        hint=_defined(module),
    )


def _import(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(ranks.MODULE, file)
    if spec is None or spec.loader is None:
        raise ReferenceFailedError("must be a Python file that can be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.append(str(file.parent))  # last: a file beside it is not taken for PyTorch's own
    try:
        spec.loader.exec_module(module)
    except (KeyboardInterrupt, ReferenceFailedError):
        raise
    except BaseException as error:
        raise ReferenceFailedError(
            f"cannot be imported: {first_line(error)}", line=line_in(file, error)
        ) from error
    return module


def _defined(module: Any) -> str:
    names = [n for n in dir(module) if callable(getattr(module, n)) and n[0] != "_"]
    return f"it defines: {', '.join(sorted(names)) or 'nothing'}"


def _function(file: Path, module: Any, found: Any) -> Loaded:
    if not callable(found):
        raise ReferenceFailedError(f"the reference must be a function, got {type(found).__name__}")
    parameters = inspect.signature(found).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise ReferenceFailedError(
            "the reference must name its parameters: *args and **kwargs have no specification",
            line=_line_of(found),
        )
    needed = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    examples = getattr(module, "example_inputs", None)
    if not callable(examples):
        raise ReferenceFailedError(
            "must define example_inputs(seed), which returns a tuple of CPU tensors and scalars",
            line=_line_of(found),
            hint=f"for instance:\n{_EXAMPLES}",
        )
    names = tuple(p.name for p in needed)
    return Loaded(
        file, "function", found, names, _seeded(file, examples), inspect.getdoc(found) or ""
    )


def _line_of(found: Any) -> int | None:
    try:
        return inspect.getsourcelines(found)[1]
    except (OSError, TypeError):
        return None


def _seeded(file: Path, examples: Any) -> Callable[[int], tuple[Any, ...]]:
    takes = len(inspect.signature(examples).parameters)

    def draw(seed: int) -> tuple[Any, ...]:
        if takes < 2:  # each rank has numbers of its own
            seed = seed * ranks.ranks() + ranks.rank()
        torch.manual_seed(seed)
        given = (seed, ranks.rank(), ranks.ranks())
        try:
            found = examples(*given[:takes])
        except Exception as error:
            raise ReferenceFailedError(
                f"example_inputs failed: {first_line(error)}", line=line_in(file, error)
            ) from error
        if is_tensor(found):
            found = (found,)
        if not isinstance(found, Sequence) or isinstance(found, str):
            raise ReferenceFailedError(
                f"example_inputs must return a tuple of tensors and scalars, "
                f"got {type(found).__name__}",
                line=_line_of(examples),
            )
        return tuple(found)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    return draw


def _model(file: Path, module: Any, model: Any) -> Loaded:
    """Read KernelBench's form: a module, `get_inputs` and `get_init_inputs`."""
    inputs = getattr(module, "get_inputs", None)
    if not callable(inputs):
        raise ReferenceFailedError("a file with a Model must define get_inputs(), but has none")
    init = getattr(module, "get_init_inputs", None)
    torch.manual_seed(0)
    try:
        arguments = list(init()) if callable(init) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportArgumentType]
        built = model(*arguments).eval()
    except Exception as error:
        raise ReferenceFailedError(
            f"the Model cannot be made: {first_line(error)}", line=line_in(file, error)
        ) from error
    parameters = dict(built.named_parameters()) | dict(built.named_buffers())
    order = [n for n, v in parameters.items() if v.dim() > 0 or v.is_floating_point()]
    forward = list(inspect.signature(built.forward).parameters)
    draw = _seeded(file, inputs)

    def call(*values: Any) -> Any:
        own = values[: len(values) - len(order)] if order else values
        state = dict(zip(order, values[len(own) :], strict=True))
        return torch.func.functional_call(built, state, own)

    def examples(seed: int) -> tuple[Any, ...]:
        return (*draw(seed), *(parameters[n].detach().clone() for n in order))

    names = (*forward, *(n.replace(".", "_") for n in order))
    return Loaded(file, "model", call, names, examples, inspect.getdoc(model) or "", built)
