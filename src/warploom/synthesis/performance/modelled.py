"""The modelled time of an accepted kernel on a machine whose numbers are known.

No clock of this machine goes into it: the emulator counts what the kernel does, and prices that
(docs/time-model.md). Outputs of the timed call are compared as well, and a time below what moving
the data takes is refused.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from warploom.core.errors import ToolFailedError
from warploom.core.records import Timing
from warploom.emulator import Topology, find_topology, run
from warploom.synthesis.codegen.ctypes_of import BYTES
from warploom.synthesis.codegen.graph import Graph, names_in
from warploom.synthesis.codegen.values import IDENTITIES
from warploom.synthesis.correctness.building import BuiltCandidate
from warploom.synthesis.correctness.compare import compare
from warploom.synthesis.correctness.expectations import PreparedCase
from warploom.synthesis.correctness.running import (
    lay_out,
    options_for,
    results_of,
    write_cases,
)
from warploom.synthesis.records import KernelSpec, PerformanceReport
from warploom.synthesis.sizes import shape_value

_MACHINES = {"sm_80": "a100-8", "sm_90": "h100-8", "sm_90a": "h100-8", "sm_100": "gb200-nvl72",
             "sm_120": "gb200-nvl72"}  # fmt: skip
_NS = 1e-6
_FREE = IDENTITIES | {
    "permute", "transpose", "t", "expand", "unsqueeze", "squeeze", "view", "_unsafe_view",
    "reshape", "slice", "select", "diagonal", "getitem", "scalar",
}  # fmt: skip
"""Operations for which PyTorch starts no kernel: their results are views."""
_LOOK_UPS = ("embedding", "index", "gather")


def machine_of(target: str) -> Topology:
    """Return the machine whose time is modelled for a target."""
    return find_topology(_MACHINES[target])


def model_time(
    built: BuiltCandidate, spec: KernelSpec, graph: Graph, case: PreparedCase, seconds: float
) -> PerformanceReport | None:
    """Return the modelled time of one call; None where that call is not right.

    Raises:
        ToolFailedError: the kernel did not build.
    """
    machine = machine_of(spec.target)
    if built.program is None:
        raise ToolFailedError("only a kernel that builds can be timed, but this one does not")
    with tempfile.TemporaryDirectory(prefix="warploom-") as name:
        folder = Path(name)
        laid = lay_out(case, [tensor.dtype for tensor in spec.inputs], case.plan.seed)
        write_cases([laid], folder / "cases")
        options = options_for(folder / "cases", 1, Timing.EAGER, seconds, machine)
        outcome = run(built.program, options)
    results = results_of(outcome, [laid])
    timeline = outcome.timeline
    if results is None or timeline is None or outcome.state != "finished":
        return None
    pairs = zip(results[0].outputs, case.outputs, spec.tolerances, strict=True)
    if not all(compare(got, expected, rule).passed for got, expected, rule in pairs):
        return None
    kernels = [span for span in timeline.spans if span.kind == "kernel"]
    if not kernels:
        return None
    time = (max(s.end for s in kernels) - min(s.start for s in kernels)) * _NS
    symbols = {s.name: v for s, v in zip(spec.symbols, case.sizes, strict=True)}
    moved = _bytes(spec, symbols)
    floor = moved / (machine.values["dram_gbs"] * 1e9) * 1e3
    if time < floor:
        return None
    baseline = _one_by_one(graph, symbols, machine)
    return PerformanceReport(
        time_source="modelled", machine=machine.name, sizes=symbols, time_ms=time,
        floor_ms=floor, baseline_ms=baseline, bytes_moved=moved, kernels=len(kernels),
        bottleneck=_bottleneck(time, floor, len(kernels), machine),
        note="modelled by the emulator at these sizes; no GPU has measured it",
    )  # fmt: skip


def _bytes(spec: KernelSpec, symbols: Mapping[str, int]) -> int:
    return sum(
        _elements(tensor.shape, symbols) * BYTES[tensor.dtype]
        for tensor in (*spec.inputs, *spec.outputs)
    )


def _elements(shape: tuple[str, ...], symbols: Mapping[str, int]) -> int:
    count = 1
    for size in shape_value(shape, symbols):
        count *= size
    return count


def _one_by_one(graph: Graph, symbols: Mapping[str, int], machine: Topology) -> float:
    """Return the time of one kernel for each operation, each as quick as memory allows (ms)."""
    rate = machine.values["dram_gbs"] * 1e9
    each = machine.values["kernel_start_ns"] + machine.values["kernel_gap_ns"]
    total = 0.0
    for node in graph.nodes:
        if node.shape is None or not node.dtype or node.op in _FREE:
            continue
        made = moved = _elements(node.shape, symbols) * BYTES[node.dtype]
        for name in names_in([*node.args]):
            source = graph.by_name[name]
            if source.shape is not None and source.dtype:
                read = _elements(source.shape, symbols) * BYTES[source.dtype]
                moved += min(read, made) if node.op in _LOOK_UPS else read
        total += moved / rate * 1e3 + each * _NS
    return total


def _bottleneck(time: float, floor: float, kernels: int, machine: Topology) -> str:
    starts = kernels * machine.values["kernel_start_ns"] * _NS
    if starts > time / 2:
        return "starting kernels: the sizes are small"
    return "memory bandwidth" if floor > time / 2 else "latency and arithmetic within blocks"
