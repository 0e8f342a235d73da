"""The texts of a package's files; `@word@` is filled in."""

GITIGNORE = "__pycache__/\n*.egg-info/\nbuild/\n"

PROJECT = """[build-system]
requires = ["setuptools>=68"]
build-backend = "setuptools.build_meta"

[project]
name = "@name@"
version = "0.1.0"
description = "A CUDA kernel with its PyTorch operator, made and verified by warploom @version@"
requires-python = ">=3.10"
dependencies = ["torch>=2.4"]

[project.optional-dependencies]
test = ["pytest>=8"]

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.package-data]
"*" = ["*.cu", "*.cpp", "*.h", "py.typed"]
"""

README = """# @name@

A CUDA kernel as a PyTorch operator. `VERIFICATION.md` says what was verified, and what was not.

```python
import torch
import @name@

result = torch.ops.@name@.forward(@call@)   # forward@schema@
```

The kernel is compiled when it is first called: by nvcc for CUDA tensors, by the C++ compiler
(`$CXX` or `c++`) for CPU tensors, where it runs slowly, for tests. In a build of your own give nvcc
`@flags@` too: with them the kernel was verified.
Tests: `pip install '.[test]' && pytest`.
"""

BINDING = '''"""PyTorch's operator of a kernel: `torch.ops.@name@.forward@schema@`."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch

_HERE = Path(__file__).parent
_TARGET = "@target@"
_NVCC_FLAGS = @flags@  # as it was verified: with others it may round otherwise


def _check(name: str, tensor: torch.Tensor, dtype: torch.dtype, rank: int) -> None:
    if tensor.dtype != dtype:
        raise TypeError(f"{name} must be {dtype}, got {tensor.dtype}")
    if tensor.dim() != rank:
        raise ValueError(f"{name} must have {rank} dimensions, got {tensor.dim()}")


def _same(name: str, tensor: torch.Tensor, shape: tuple) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {tuple(tensor.shape)}")


def _require(text: str, condition, sizes: dict) -> None:
    """Refuse sizes for which the reference does something else, or fails."""
    try:
        met = condition()
    except ZeroDivisionError:
        met = True
    if not met:
        raise ValueError(f"the kernel is for sizes with {text} only, got {sizes}")


def _plan(@arguments@):
    """Check the inputs; return the sizes that the kernel asks for, and new outputs."""
@rules@
    return @sizes@, @outputs@


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "@name@"


def _compile(command: list, sources: list) -> Path:
    """Run a compiler once for each text of its sources; returns the library."""
    state = hashlib.sha256(" ".join(command).encode())
    for source in sources:
        state.update((_HERE / source).read_bytes())
    library = _cache() / f"{state.hexdigest()[:24]}.so"
    if library.is_file():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / "kernel.so"
        run = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{command[0]} cannot compile the kernel:\\n{run.stderr}")
        made.replace(library)
    return library


@functools.cache
def _library(device: str):
    """Return the entry point for a kind of device, compiled when it is first asked for."""
    if device == "cuda":
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            raise RuntimeError("nvcc must be on the PATH to compile the kernel")
        command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-O3", *_NVCC_FLAGS,
                   f"-arch={_TARGET}", str(_HERE / "kernel.cu")]
        path = _compile(command, ["kernel.cu"])
    else:
        if not (_HERE / "kernel_host.cpp").is_file():
            raise RuntimeError("this kernel has no form for CPU tensors")
        compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
        command = [compiler, "-shared", "-fPIC", "-O2", "-std=c++17", "-ffp-contract=off",
                   str(_HERE / "kernel_host.cpp")]
        path = _compile(command, ["kernel_host.cpp", "host_cuda.h"])
    entry = ctypes.CDLL(str(path)).warploom_forward
    entry.restype = ctypes.c_int
    entry.argtypes = [ctypes.c_void_p] * 4
    return entry


def _call(device: str, tensors: list, sizes: list, outputs: list, stream: int) -> None:
    dense = [tensor.contiguous() for tensor in tensors]
    inputs = (ctypes.c_void_p * max(len(dense), 1))(*[t.data_ptr() for t in dense])
    results = (ctypes.c_void_p * max(len(outputs), 1))(*[t.data_ptr() for t in outputs])
    numbers = (ctypes.c_longlong * max(len(sizes), 1))(*sizes)
    failed = _library(device)(
        ctypes.addressof(inputs), ctypes.addressof(results), ctypes.addressof(numbers), stream
    )
    if failed:
        raise RuntimeError(f"the kernel failed with code {failed}")


@torch.library.custom_op("@name@::forward", mutates_args=(), schema="@schema@",
                         device_types=("cpu", "cuda"))
def forward(@arguments@) -> @returns@:
    """Call the kernel."""
    sizes, outputs = _plan(@plain@)
    tensors = [@plain@]
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        raise ValueError(f"all inputs must be on one device, got {sorted(map(str, devices))}")
    device = tensors[0].device
    if device.type == "cuda":
        with torch.cuda.device(device):
            stream = torch.cuda.current_stream().cuda_stream
            _call("cuda", tensors, sizes, outputs, stream)
    else:
        _call("cpu", tensors, sizes, outputs, 0)
    return tuple(outputs)@single@


@forward.register_fake
def _(@arguments@):
    return tuple(_plan(@plain@)[1])@single@


__all__ = ["forward"]
'''

TESTS = '''"""The kernel against its reference, on the CPU and, where there is one, on a GPU."""

import importlib.util
from pathlib import Path

import pytest
import torch

import @name@

_FILE = Path(__file__).with_name("reference_@reference@.py")
_SPEC = importlib.util.spec_from_file_location("reference_module", _FILE)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)


def _model():
    """Return a Model's function over its inputs and then its parameters, and what draws these."""
    torch.manual_seed(0)
    init = getattr(_MODULE, "get_init_inputs", list)()
    model = (getattr(_MODULE, "@function@", None) or _MODULE.Model)(*init).eval()
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    state = {n: v.detach() for n, v in state.items() if v.dim() > 0 or v.is_floating_point()}

    def call(*values):
        own = values[: len(values) - len(state)]
        with torch.no_grad():
            given = dict(zip(state, values[len(own) :], strict=True))
            return torch.func.functional_call(model, given, own)

    def inputs(seed):
        torch.manual_seed(seed)
        return (*_MODULE.get_inputs(), *(v.clone() for v in state.values()))

    return call, inputs


def _reference():
    for name in ("@function@", "reference", "REFERENCE"):
        found = getattr(_MODULE, name, None) if name else None
        if found is not None and not isinstance(found, type):
            return found, _MODULE.example_inputs
    return _model()


_REFERENCE, _EXAMPLES = _reference()
_DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
_ROOM = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def _inputs(seed):
    values = _EXAMPLES(seed)
    return values if isinstance(values, tuple) else (values,)


def _tensors(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def _flat(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def _close(found, expected):
    for got, right in zip(_flat(found), _flat(expected), strict=True):
        assert got.dtype == right.dtype
        assert got.shape == right.shape
        room = _ROOM.get(right.dtype, 0.0)
        torch.testing.assert_close(got.cpu(), right, rtol=room, atol=room, equal_nan=True)


@pytest.mark.parametrize("device", _DEVICES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_kernel_agrees_with_its_reference(device, seed):
    values = _inputs(seed)
    given = [tensor.to(device) for tensor in _tensors(values)]
    before = [tensor.clone() for tensor in given]
    found = torch.ops.@name@.forward(*given)
    _close(found, _REFERENCE(*values))
    assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))


@pytest.mark.parametrize("device", _DEVICES)
def test_inputs_need_not_be_dense(device):
    values = _inputs(4)
    spread = []
    for tensor in _tensors(values):
        wide = torch.stack([tensor, torch.zeros_like(tensor)], dim=-1).to(device)
        spread.append(wide[..., 0])
    _close(torch.ops.@name@.forward(*spread), _REFERENCE(*values))


def test_a_wrong_type_is_refused():
    given = _tensors(_inputs(5))
    given[0] = given[0].to(torch.complex64)
    with pytest.raises((TypeError, RuntimeError), match="must be"):
        torch.ops.@name@.forward(*given)


def test_the_shapes_are_known_without_data():
    from torch._subclasses import FakeTensorMode

    values = _inputs(6)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(tensor) for tensor in _tensors(values)]
        found = torch.ops.@name@.forward(*fakes)
    for got, right in zip(_flat(found), _flat(_REFERENCE(*values)), strict=True):
        assert got.shape == right.shape
        assert got.dtype == right.dtype
'''
