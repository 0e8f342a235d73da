"""Modelled time against what was measured, what was published, and what must hold of any model.

The programs are those of bench/time_model, and the rows those that `python bench/time_model.py`
prints; docs/time-model.md states the errors that are allowed here.
"""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from warploom.emulator import EmulatorRun

BENCH = Path(__file__).resolve().parents[2] / "bench" / "time_model.py"
MEASURED_FACTOR = 1.45
"""How far the model may be from a measurement that no constant was fitted to, either way."""
PUBLISHED_FACTOR = 1.3


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_time_model", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


bench = load()
Values = Mapping[str, float]


@pytest.fixture(scope="module")
def kernel_run() -> EmulatorRun:
    return bench.timed_run("kernels.cu", 1, "h200-8", str(16 << 20))


@pytest.fixture(scope="module")
def kernels(kernel_run: EmulatorRun) -> Values:
    return bench.values_of(kernel_run)


@pytest.fixture(scope="module")
def exchange_run() -> EmulatorRun:
    return bench.timed_run("exchange.cu", 4, "h200-8")


@pytest.fixture(scope="module")
def exchanges(exchange_run: EmulatorRun) -> Values:
    return bench.values_of(exchange_run)


def within(rows: list[object], factor: float) -> None:
    far = {r.name: r.ratio for r in rows if not 1 / factor <= r.ratio <= factor}
    assert rows and not far


def test_kernels_take_what_was_measured_on_h200(kernels: Values):
    rows = list(bench.kernel_rows(kernels))
    within([r for r in rows if not r.fitted], MEASURED_FACTOR)
    within([r for r in rows if r.fitted], 1.2)


def test_exchanges_take_what_was_measured_on_four_h200(exchanges: Values):
    rows = list(bench.exchange_rows(exchanges))
    within([r for r in rows if not r.fitted], MEASURED_FACTOR)
    within([r for r in rows if r.fitted], 1.3)


@pytest.mark.parametrize(("ranks", "size", "blocks"), [(8, 4096, 4), (32, 16, 1)])
def test_all_to_all_on_gb200_takes_what_was_published(ranks: int, size: int, blocks: int):
    run = bench.timed_run("exchange.cu", ranks, "gb200-nvl72", str(size), str(blocks))
    values = bench.values_of(run)
    within(list(bench.published_rows(ranks, values)), PUBLISHED_FACTOR)
    assert values["lsa_all_to_all_1/16"] < values["host_all_to_all/16"]


def test_identical_runs_take_identical_time():
    one, two = (bench.timed_run("exchange.cu", 2, "h200-8", "4096", "4") for _ in range(2))
    assert one.timeline == two.timeline and one.stdout == two.stdout


def test_chunks_overlap_as_the_analytic_model_says(exchanges: Values):
    modelled = {k: exchanges[f"pipeline_us/{k}"] for k in (1, 2, 4, 8, 16)}
    # Copies of 96 MiB at the profile's rate; a chunk costs the host some calls.
    moving = (96 << 20) / 392e3
    for k, value in modelled.items():
        assert value == pytest.approx(bench.pipeline_us(320, moving, 10, k), rel=0.2), k
    assert modelled[1] > modelled[2] > modelled[4] > modelled[8]
    gain = modelled[1] / modelled[8]
    assert gain == pytest.approx(
        bench.pipeline_us(320, moving, 10, 1) / bench.pipeline_us(320, moving, 10, 8), rel=0.12
    )


def test_variants_rank_as_published_and_measured(exchanges: Values):
    # More blocks pay for large messages, and cost a little for small ones.
    large = [exchanges[f"lsa_all_to_all_{blocks}/65536"] for blocks in (1, 4, 16)]
    small = [exchanges[f"lsa_all_to_all_{blocks}/16"] for blocks in (1, 4, 16)]
    assert large == sorted(large, reverse=True) and small == sorted(small)
    assert large[0] > 2 * large[2]
    # Loads and stores beat host calls for small messages, and the network is slowest in a node.
    for size in (16, 4096):
        lsa, host = exchanges[f"lsa_all_to_all_1/{size}"], exchanges[f"host_all_to_all/{size}"]
        assert lsa < host < exchanges[f"gin_all_to_all/{size}"]


def test_blocks_beyond_residency_run_in_waves(kernels: Values):
    one, full = kernels["arithmetic/fma_gops/1"], kernels["arithmetic/fma_gops/132"]
    assert full == pytest.approx(132 * one, rel=0.1)
    assert kernels["arithmetic/fma_gops/1056"] < 132 * 111 * 1.98


def test_a_queue_of_work_is_shared_by_its_blocks(kernels: Values):
    """Blocks run one after another here; in modelled time they take pieces side by side."""
    alone = kernels["arithmetic/queue_us/1"]
    assert kernels["arithmetic/queue_us/4"] == pytest.approx(alone / 4, rel=0.1)
    assert kernels["arithmetic/queue_us/16"] < alone / 10


def test_sectors_count_and_not_bytes(kernels: Values):
    strided = [kernels[f"memory/strided_us/{stride}"] for stride in (1, 2, 8, 16)]
    assert strided[0] <= strided[1] < strided[2]
    assert strided[2] == pytest.approx(strided[3], rel=0.2)


def test_streams_overlap_and_launches_return_at_once(kernels: Values):
    assert kernels["streams/two"] < 0.6 * kernels["streams/one"]
    assert kernels["streams/launched_us"] < 10 < kernels["streams/done_us"]
    assert kernels["streams/done_us"] == pytest.approx(kernels["streams/one"] / 2, rel=0.1)
    assert kernels["streams/asked"] > 10  # cudaEventQuery said "not ready" meanwhile


def test_device_clocks_agree(kernels: Values):
    ratio = kernels["ticks/cycles"] / kernels["ticks/nanoseconds"]
    assert ratio == pytest.approx(1.97, rel=0.02)


def test_the_breakdown_adds_up(exchange_run: EmulatorRun):
    timeline = exchange_run.timeline
    assert timeline is not None
    for part in timeline.breakdown():
        whole = part.compute + part.exposed + part.waiting + part.host
        assert whole == pytest.approx(part.total, rel=1e-6)
        assert part.exposed > 0
    events = timeline.chrome_trace()["traceEvents"]
    assert isinstance(events, list) and len(events) > len(timeline.spans)
