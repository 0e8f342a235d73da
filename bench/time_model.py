"""Prints modelled times beside what was measured or published; docs/time-model.md keeps the table.

    python bench/time_model.py

The programs of bench/time_model run in the emulator on a topology profile. The measurements of H200
are those of bench/hardware (bench/hardware/results); the published ones are all-to-all times on
GB200 NVL72 that NCCL's authors gave for 16 B to 4 KB a pair.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warploom.core.records import BuildSpec, Limits, Verdict
from warploom.emulator import EmulatorRun, RunOptions, build, find_topology, run

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "time_model"
MEASURED = HERE / "hardware" / "results" / "h200x4-2026-11-20.json"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: `low` and `high` are equal for a single measurement."""

    name: str
    low: float
    high: float
    modelled: float
    unit: str
    fitted: bool

    @property
    def ratio(self) -> float:
        """Modelled over the nearest end of what was measured; 1 inside of its range."""
        return self.modelled / min(max(self.modelled, self.low), self.high)


def timed_run(
    program: str, ranks: int, topology: str, *args: str, defines: Mapping[str, str] | None = None
) -> EmulatorRun:
    """Run a program of bench/time_model in modelled time, one process driving all devices."""
    spec = BuildSpec(PROGRAMS / program, defines=defines or {}, timed=True)
    options = RunOptions(
        ranks=ranks,
        args=args,
        race=False,
        readbacks=False,
        processes="single",
        machine=find_topology(topology),
        limits=Limits(seconds=400.0),
    )
    outcome = run(build(spec), options)
    if outcome.verdict is not Verdict.OK:
        sys.exit(f"{program}: {outcome.state} {outcome.findings} {outcome.stderr}")
    return outcome


def values_of(outcome: EmulatorRun) -> dict[str, float]:
    """Return what a program printed: a name and a number on each line."""
    pairs = (line.split() for line in outcome.stdout.splitlines())
    return {name: float(value) for name, value in pairs}


@cache
def measurements() -> list[dict[str, object]]:
    return json.loads(MEASURED.read_text())["results"]


def measured(bench: str, **wanted: object) -> float:
    """Return the median of the one measurement that fits."""
    found = [
        item["median"]
        for item in measurements()
        if item["bench"] == bench and all(item.get(k) == v for k, v in wanted.items())
    ]
    assert len(found) == 1, (bench, wanted, found)
    return float(str(found[0]))


def kernel_rows(values: Mapping[str, float]) -> Iterator[Row]:
    """Compare the kernels with H200; the memory cases need 16 MiB."""

    def row(name: str, value: float, unit: str, *, fitted: bool = False) -> Row:
        return Row(name, value, value, values[name], unit, fitted)

    for count in (1, 10, 100):
        bench = "device_back_to_back_launches"
        yield row(f"launch/back_to_back/{count}", measured(bench, count=count), "us")
    for ctas in (132, 1056, 10560):
        bench = "device_empty_kernel_queued"
        value = measured(bench, ctas=ctas, threads=32)
        yield row(f"launch/queued/{ctas}", value, "us", fitted=True)
    for kernels in (1, 10, 100):
        value = measured("graph_launch", kernels=kernels)
        yield row(f"launch/graph/{kernels}", value, "us", fitted=True)
    for ctas in (1, 4, 16, 64):
        size = {"bytes": 16 << 20, "ctas": ctas, "threads": 512}
        yield row(f"memory/copy/{ctas}", measured("copy_read_plus_write", **size), "GB/s")
        yield row(f"memory/read/{ctas}", measured("read", **size), "GB/s")
        yield row(f"memory/write/{ctas}", measured("write", **size), "GB/s", fitted=ctas == 1)
    atomics = measured("global_atomic_add", type="float", mode="one_address", ctas=132, threads=256)
    name = "memory/atomic_one_address_us"
    yield row(name, 132 * 256 / atomics * 1e-3 + 4.4, "us", fitted=True)
    cycles = measured("syncthreads", threads=256)
    yield row("arithmetic/barrier_ns", cycles / measured("sm_clock"), "ns", fitted=True)
    for blocks in (1, 132, 264):
        rate = measured("fma_f32", ctas=blocks, threads=256, chains=4)
        yield row(f"arithmetic/fma_gops/{blocks}", rate, "Gop/s")


def exchange_rows(values: Mapping[str, float]) -> Iterator[Row]:
    """Compare the exchanges with 4 x H200."""

    def row(name: str, value: float, *, fitted: bool = False) -> Row:
        return Row(name, value, value, values[name], "us", fitted)

    for blocks in (1, 4, 16):
        value = measured("lsa_barrier", ranks=4, ctas=blocks, threads=256)
        yield row(f"lsa_barrier_us/{blocks}", value, fitted=True)
    for size in (16, 4096, 65536):
        for blocks in (1, 4, 16):
            value = measured(
                "lsa_all_to_all_in_a_row_of_10",
                ranks=4, bytes_per_peer=8 if size == 16 else size, ctas=blocks,
            )  # fmt: skip
            yield row(f"lsa_all_to_all_{blocks}/{size}", value, fitted=size == 16)
    for size, whole in ((16, 64), (4096, 32768), (65536, 262144)):
        # The measurement names the bytes of a rank's whole buffer; these are the nearest.
        value = measured(
            "collective_in_a_row_of_10",
            operation="AlltoAll", ranks=4, memory="cudaMalloc", bytes=whole,
        )  # fmt: skip
        yield row(f"host_all_to_all/{size}", value, fitted=True)


PUBLISHED = {
    ("lsa", 8): (6.5, 7.0),
    ("host", 8): (11.8, 13.1),
    ("lsa", 32): (9.4, 13.2),
    ("host", 32): (28.0, 35.0),
}
"""Microseconds of an all-to-all of 16 B to 4 KB a pair on GB200, by API and GPUs."""


def published_rows(ranks: int, values: Mapping[str, float]) -> Iterator[Row]:
    """Compare with what NCCL's authors published of GB200."""
    for size in (16, 4096):
        if f"host_all_to_all/{size}" not in values:
            continue
        lsa = values[f"lsa_all_to_all_wide/{size}"]
        for api, value in (("lsa", lsa), ("host", values[f"host_all_to_all/{size}"])):
            low, high = PUBLISHED[api, ranks]
            yield Row(f"GB200 x {ranks}, {api}, {size} B", low, high, value, "us", fitted=True)


def pipeline_us(length: float, moving: float, latency: float, chunks: int) -> float:
    """Return T = Tc/k + (k-1) max(Tc, Tb)/k + Tb/k + L in microseconds."""
    return (length + (chunks - 1) * max(length, moving) + moving) / chunks + latency


def show(title: str, rows: list[Row]) -> None:
    print(f"\n{title}\n")
    print("| case | measured or published | modelled | ratio |  |")
    print("|---|---|---|---|---|")
    for r in rows:
        value = f"{r.low:.4g}" if r.low == r.high else f"{r.low:.4g} to {r.high:.4g}"
        note = "fitted" if r.fitted else ""
        print(f"| {r.name} | {value} {r.unit} | {r.modelled:.4g} | {r.ratio:.2f} | {note} |")
    free = [abs(math.log(r.ratio)) for r in rows if not r.fitted]
    if free:
        worst = math.exp(max(free))
        typical = math.exp(sorted(free)[len(free) // 2])
        print(f"\n{len(free)} not fitted: median factor {typical:.2f}, largest {worst:.2f}")


def main() -> None:
    kernels = values_of(timed_run("kernels.cu", 1, "h200-8", str(16 << 20)))
    show("Kernels, H200", list(kernel_rows(kernels)))
    exchanges = values_of(timed_run("exchange.cu", 4, "h200-8"))
    show("Exchanges among ranks, 4 x H200", list(exchange_rows(exchanges)))
    published = [
        row
        for ranks, size, blocks in ((8, 4096, 4), (32, 16, 1))
        for row in published_rows(
            ranks,
            values_of(timed_run("exchange.cu", ranks, "gb200-nvl72", str(size), str(blocks))),
        )
    ]
    show("All-to-all, GB200 NVL72", published)


if __name__ == "__main__":
    main()
