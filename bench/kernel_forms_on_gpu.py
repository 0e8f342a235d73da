"""Times several texts of the internal suite's kernels side by side, by turns with torch.compile.

    python bench/kernel_forms_on_gpu.py write FOLDER [--only TASK,...] [--set NAME=VALUE,...]
    python bench/kernel_forms_on_gpu.py time OUT.json FOLDER... [--only TASK,...] [--modes MODE,...]

`write` has the rules write each task's kernel, with their usual parameters or other ones
(`--set`), beside sizes that fill a GPU; it needs none. The texts may be changed by hand then.
`time` builds those of each folder, calls them in PyTorch's process, on the same memory as the
reference, and takes turns: `--rounds` calls of each, and of copies of as many bytes. OUT.json has
their medians in microseconds, by the names of the folders.

It is quick (seconds for a task), so that forms can be tried. It believes what it calls: outputs
are compared with the reference only roughly, and those that differ are marked. Whether a kernel is
right, and the figures of the suite, are for `kernels_on_gpu.py`.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from kernels_on_gpu import filling, names_of

from warploom.core.errors import BadInputError, WarploomError
from warploom.synthesis.codegen import BeyondRulesError, TuningParameters, generate
from warploom.synthesis.correctness.frame import HEADERS
from warploom.synthesis.interview import interview
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.performance.measured import FLUSH_BYTES, require_gpu
from warploom.synthesis.reference.client import ReferenceProcess
from warploom.synthesis.reference.loading import load
from warploom.synthesis.reference.timing import timed
from warploom.synthesis.sizes import shape_value
from warploom.synthesis.suite import SuiteTask, find_suite
from warploom.toolchain.nvcc import find_nvcc

_CLOSE = 2e-3
_FEW = 100  # integers are below it
Call = Callable[[], object]


def write(folder: Path, task: SuiteTask, chosen: TuningParameters, mib: int) -> None:
    """Write a task's kernel and its sizes; one that the rules have no code for is left out."""
    with ReferenceProcess(task.file, "") as reference:
        try:
            found = interview(reference, task.prompt, "sm_90", [41, 42, 43])
            kernel = generate(found.graph, chosen)
        except BeyondRulesError as error:
            print(f"{task.name}: {error.message}")
            return
    sizes = filling(found.spec, mib << 20)

    def laid(tensors: Sequence[Any]) -> list[dict[str, Any]]:
        return [
            {"dtype": one.dtype, "shape": shape_value(one.shape, sizes),
             "below": sizes.get(one.index_of, 0)}
            for one in tensors
        ]  # fmt: skip

    about = {
        "task": task.name, "sizes": [sizes[s.name] for s in found.spec.symbols],
        "inputs": laid(found.spec.inputs), "outputs": laid(found.spec.outputs),
    }  # fmt: skip
    (folder / f"{task.name}.cu").write_text(kernel.text)
    (folder / f"{task.name}.json").write_text(json.dumps(about, indent=1))


def built(text: Path, folder: Path) -> ctypes.CDLL:
    """Build a text as a library and load it."""
    source = folder / f"{text.parent.name}-{text.name}"
    includes = "".join(f"#include <{name}>\n" for name in HEADERS)
    source.write_text(includes + text.read_text())
    library = source.with_suffix(".so")
    command = [str(find_nvcc().path), *NVCC_FLAGS, "-O2", "-w", "-arch=native", "-shared",
               "-Xcompiler", "-fPIC", "-o", str(library), str(source)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInputError(f"nvcc rejects {text}: {done.stderr[:400]}")
    return ctypes.CDLL(str(library))


class Task:
    """One task on the GPU: its tensors, its reference, and the texts that are called."""

    def __init__(self, torch: Any, about: Mapping[str, Any]) -> None:
        self._torch, self._sizes = torch, about["sizes"]
        self.inputs = [self._values(one) for one in about["inputs"]]
        self.outputs = [
            torch.zeros(one["shape"], dtype=getattr(torch, one["dtype"]), device="cuda")
            for one in about["outputs"]
        ]
        (task,) = find_suite("internal", [about["task"]])
        self.reference = load(task.file, "").function

    def _values(self, one: Mapping[str, Any]) -> Any:
        torch, dtype = self._torch, getattr(self._torch, one["dtype"])
        if one["dtype"] == "bool":
            return torch.rand(one["shape"], device="cuda") > 0.5
        if not dtype.is_floating_point:
            below = one["below"] or _FEW
            return torch.randint(0, below, one["shape"], device="cuda", dtype=dtype)
        return torch.randn(one["shape"], device="cuda").to(dtype)

    def caller(self, library: ctypes.CDLL) -> Call:
        """Return what calls a text on the tensors."""
        given = (ctypes.c_void_p * len(self.inputs))(*[one.data_ptr() for one in self.inputs])
        made = (ctypes.c_void_p * len(self.outputs))(*[one.data_ptr() for one in self.outputs])
        sizes = (ctypes.c_longlong * (len(self._sizes) + 1))(*self._sizes)
        stream = ctypes.c_void_p(self._torch.cuda.current_stream().cuda_stream)
        return lambda: library.warploom_forward(given, made, sizes, stream)

    def is_close(self, call: Call) -> bool:
        """Whether a text returns roughly what the reference does."""
        for one in self.outputs:
            one.zero_()
        call()
        wanted = self.reference(*self.inputs)
        pairs = zip(self.outputs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True)
        return all(
            self._torch.allclose(
                a.float(), b.float(), rtol=_CLOSE, atol=1.0 if a.dtype == self._torch.int8 else
                _CLOSE, equal_nan=True,
            )
            for a, b in pairs
        )  # fmt: skip

    def copy(self) -> Call:
        """Return what copies as many bytes as the tensors have."""
        torch = self._torch
        moved = sum(one.numel() * one.element_size() for one in (*self.inputs, *self.outputs))
        source = torch.ones(max(moved // 2, 1), dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        return lambda: target.copy_(source)


def time_task(
    torch: Any,
    dirt: Any,
    about: Mapping[str, Any],
    texts: Mapping[str, Future[ctypes.CDLL]],
    options: argparse.Namespace,
) -> dict[str, float]:
    """Return the medians of one task's texts, of PyTorch and of a copy, in microseconds."""
    task = Task(torch, about)
    calls: dict[str, Call] = {}
    for name, library in texts.items():
        call = task.caller(library.result())
        calls[name if task.is_close(call) else f"{name} (differs)"] = call
    for mode in options.modes.split(","):
        torch.compiler.reset()
        made = torch.compile(task.reference, mode=mode)
        for _ in range(3):
            made(*task.inputs)
        calls[f"torch.compile {mode}"] = lambda made=made: made(*task.inputs)
    calls["copy"] = task.copy()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.rounds):
        for name, call in calls.items():
            times[name].append(timed(call, dirt) * 1e3)
    return {name: round(statistics.median(values), 2) for name, values in times.items()}


def time_all(options: argparse.Namespace) -> int:
    """Time all tasks that the first folder has; print a line for each, and the median ratios."""
    require_gpu()
    import torch

    out, *folders = options.paths
    only = names_of(options.only)
    about = {path.stem: json.loads(path.read_text()) for path in sorted(folders[0].glob("*.json"))}
    names = [name for name in about if not only or name in only]
    found: dict[str, dict[str, float]] = {}
    dirt = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    with (
        tempfile.TemporaryDirectory() as name,
        ThreadPoolExecutor() as pool,
        torch.no_grad(),
    ):
        texts = {
            task: {
                folder.name: pool.submit(built, folder / f"{task}.cu", Path(name))
                for folder in folders
                if (folder / f"{task}.cu").is_file()
            }
            for task in names
        }
        for task in names:
            try:
                found[task] = time_task(torch, dirt, about[task], texts[task], options)
            except Exception as error:  # noqa: BLE001 - the other tasks' times are worth more
                print(f"{task}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            words = [f"{form} {us:.1f}" for form, us in found[task].items()]
            print(f"{task}: {', '.join(words)}", flush=True)
            out.write_text(json.dumps(found, indent=1) + "\n")
    for form in (folder.name for folder in folders):
        ratios = [
            min(us for name, us in one.items() if name.startswith("torch.compile")) / one[form]
            for one in found.values()
            if form in one
        ]
        if ratios:
            print(f"{form}: {len(ratios)} tasks, median ratio {statistics.median(ratios):.3f}")
    return 0


def write_all(options: argparse.Namespace) -> int:
    """Write the kernels of all tasks, several at a time."""
    (folder,) = options.paths
    folder.mkdir(parents=True, exist_ok=True)
    only = names_of(options.only)
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda task: write(folder, task, options.set, options.mib),
                      find_suite("internal", only)))  # fmt: skip
    return 0


def tuning(text: str) -> TuningParameters:
    """Return the parameters that `NAME=VALUE,...` sets."""
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    try:
        return TuningParameters(**{name: int(value) for name, _, value in pairs})
    except (TypeError, ValueError, BadInputError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main() -> int:
    """Do what the command line asks; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("write", "time"))
    parser.add_argument("paths", type=Path, nargs="+", metavar="path")
    parser.add_argument("--only", default="", help="tasks, by comma")
    parser.add_argument(
        "--set", type=tuning, default="", help="parameters of the rules, NAME=VALUE by comma"
    )
    parser.add_argument("--mib", type=int, default=128, help="of all tensors together, at least")
    parser.add_argument("--jobs", type=int, default=2, help="tasks that are written at a time")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--modes", default="default,max-autotune-no-cudagraphs")
    options = parser.parse_args()
    try:
        return write_all(options) if options.what == "write" else time_all(options)
    except WarploomError as error:
        print(error.message, file=sys.stderr)
        return int(error.exit_code)


if __name__ == "__main__":
    sys.exit(main())
