"""How near to the machine's roof a synthesized kernel is: the roof that memory makes.

The model of time counts bytes, no operations of a kernel: where it stands below the roof of
arithmetic is not known, only from where on that would be the lower one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.core.errors import WarploomError
from warploom.core.records import Json
from warploom.emulator.running.topology import Topology, find_topology
from warploom.reports.queries.clean import clean


@dataclass(frozen=True, slots=True)
class MemoryRoof:
    """Times in microseconds of the same work, and bandwidths in GB/s.

    `floor_us` is what moving the bytes takes at the machine's full bandwidth, `separate_us` what
    one kernel for each operation takes in the same model. `most_gflops` is the machine's own roof
    of arithmetic in 32 bits (without tensor cores): above `balance` operations a byte it would be
    the lower one. How many operations the kernel does, no record says.
    """

    machine: str
    time_source: str
    bytes_moved: float
    time_us: float
    floor_us: float
    separate_us: float | None
    reached_gbs: float
    most_gbs: float | None
    most_gflops: float | None
    balance: float | None
    bottleneck: str
    note: str


def memory_roof(performance: Mapping[str, Json]) -> MemoryRoof | None:
    """Return where a kernel is below the roof; None where its report has no times."""
    time, moved = _number(performance.get("time_ms")), _number(performance.get("bytes_moved"))
    floor, machine = _number(performance.get("floor_ms")), performance.get("machine")
    if not time or not moved or not floor or not isinstance(machine, str):
        return None
    separate = _number(performance.get("baseline_ms"))
    bandwidth, peak = _machine(machine)
    return MemoryRoof(
        clean(machine), clean(str(performance.get("time_source", ""))), moved, time * 1e3,
        floor * 1e3, None if separate is None else separate * 1e3, moved / (time * 1e6),
        bandwidth, peak, peak / bandwidth if bandwidth and peak else None,
        clean(str(performance.get("bottleneck", ""))),
        clean(str(performance.get("note", ""))),
    )  # fmt: skip


def peak_gflops(machine: Topology) -> float:
    """Return the arithmetic that a machine can do: a multiplication and an addition a lane."""
    values = machine.values
    return 2 * values["sm_count"] * values["lanes_per_sm"] * values["clock_ghz"]


def _machine(name: str) -> tuple[float | None, float | None]:
    """Return the bandwidth in GB/s and the arithmetic in GFLOP/s of a machine, where known."""
    try:
        machine = find_topology(name)
    except WarploomError:
        return None, None
    return machine.values["dram_gbs"], peak_gflops(machine)


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
