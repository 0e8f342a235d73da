"""Writes the package: the kernel, PyTorch's binding, tests, and what was verified."""

import importlib.resources
import json
from collections.abc import Sequence
from pathlib import Path

from warploom.core.records import to_json
from warploom.core.version import VERSION
from warploom.synthesis.correctness.building import kernel_file
from warploom.synthesis.export.host_text import host_text
from warploom.synthesis.export.templates import (
    BINDING,
    GITIGNORE,
    PROJECT,
    README,
    TESTS,
)
from warploom.synthesis.export.verification import verification_text
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.records import KernelSpec, TensorArg
from warploom.synthesis.result import SynthesisResult
from warploom.synthesis.sizes import named_in


def write_package(
    result: SynthesisResult, body: str, reference: Path, folder: Path
) -> tuple[Path, ...]:
    """Write the package of a verified kernel to `folder`; returns its files."""
    spec = result.spec
    assert spec is not None
    name = package_name(spec)
    source, tests = folder / "src" / name, folder / "tests"
    source.mkdir(parents=True, exist_ok=True)
    tests.mkdir(parents=True, exist_ok=True)
    host = host_text(body)
    files = {
        folder / "pyproject.toml": _fill(PROJECT, name=name),
        folder / "README.md": _fill(
            README, name=name, schema=_schema(spec), call=", ".join(t.name for t in spec.inputs),
            flags=" ".join(NVCC_FLAGS),
        ),
        folder / "VERIFICATION.md": verification_text(result, has_host=host is not None),
        folder / ".gitignore": GITIGNORE,
        folder / "spec.json": json.dumps(to_json(spec), indent=2) + "\n",
        source / "__init__.py": binding_text(spec, name),
        source / "kernel.cu": kernel_file(body),
        source / "py.typed": "",
        tests / "test_kernel.py": _fill(
            TESTS, name=name, reference=reference.stem, function=_function_of(result),
            sizes=repr(_sizes(spec)), symbols=repr([s.name for s in spec.symbols]),
        ),
        tests / f"reference_{reference.stem}.py": reference.read_text(),
    }  # fmt: skip
    if host is not None:
        files[source / "kernel_host.cpp"] = host
        shim = importlib.resources.files("warploom.synthesis.export") / "host_cuda.h"
        files[source / "host_cuda.h"] = shim.read_text()
    for path, text in files.items():
        path.write_text(text)
    return tuple(files)


def package_name(spec: KernelSpec) -> str:
    """Return the name under which the package is imported."""
    return f"kernel_{spec.name}"


def _function_of(result: SynthesisResult) -> str:
    name = result.reference.rpartition(":")[2]
    return name if name.isidentifier() else ""


def _sizes(spec: KernelSpec) -> list[dict[str, int]]:
    return [{s.name: s.example for s in spec.symbols}]


def _fill(template: str, **values: str) -> str:
    for key, value in values.items():
        template = template.replace(f"@{key}@", value)
    return template.replace("@version@", VERSION)


def _schema(spec: KernelSpec) -> str:
    inputs = ", ".join(f"Tensor {tensor.name}" for tensor in spec.inputs)
    count = len(spec.outputs)
    outputs = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
    return f"({inputs}) -> {outputs}"


def _shape(tensor: TensorArg) -> str:
    return f"({''.join(size + ', ' for size in tensor.shape)})"


def binding_text(spec: KernelSpec, name: str) -> str:
    """Return the module that offers a kernel to PyTorch."""
    names = [tensor.name for tensor in spec.inputs]
    rules = [
        f'    _check("{t.name}", {t.name}, torch.{t.dtype}, {len(t.shape)})' for t in spec.inputs
    ]
    symbols = [f"    {s.name} = {spec.inputs[s.input].name}.shape[{s.dim}]" for s in spec.symbols]
    shapes = [f'    _same("{t.name}", {t.name}, {_shape(t)})' for t in spec.inputs if t.shape]
    conditions = [
        f'    _require("{text}", lambda: {text}, {_named(spec, text)})' for text in spec.conditions
    ]
    device = names[0]
    outputs = [
        f"torch.empty({_shape(t)}, dtype=torch.{t.dtype}, device={device}.device)"
        for t in spec.outputs
    ]
    return _fill(
        BINDING, name=name, schema=_schema(spec), arguments=_arguments(names),
        plain=", ".join(names), rules="\n".join([*rules, *symbols, *shapes, *conditions]),
        sizes=f"[{', '.join(s.name for s in spec.symbols)}]", outputs=f"[{', '.join(outputs)}]",
        target=spec.target, flags=repr(NVCC_FLAGS), single="[0]" if len(spec.outputs) == 1 else "",
        returns="torch.Tensor" if len(spec.outputs) == 1 else "tuple[torch.Tensor, ...]",
    )  # fmt: skip


def _named(spec: KernelSpec, text: str) -> str:
    """Return the sizes that a condition names, with their values, as an expression."""
    names = named_in(text, [s.name for s in spec.symbols])
    return f"dict({', '.join(f'{name}={name}' for name in names)})"


def _arguments(names: Sequence[str]) -> str:
    return ", ".join(f"{name}: torch.Tensor" for name in names)
