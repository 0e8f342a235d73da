"""Clusters of thread blocks: what they compute, and what is found or refused."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.core.errors import WarploomError
from warploom.core.records import BuildSpec, Verdict
from warploom.emulator import RunOptions, build, find_topology, run
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_PROGRAM = """
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
%s
__global__ void SHAPE work(int* out) {
  auto cluster = cg::this_cluster();
  %s
}
int main() {
  int* out;
  if (cudaMalloc(&out, 4096 * sizeof(int)) || cudaMemset(out, 0, 4096 * sizeof(int))) return 1;
  const dim3 grid(GRID), block(BLOCK);
  work<<<grid, block>>>(out);
  if (cudaGetLastError() != cudaSuccess) return 2;
  int got[4096];
  if (cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  for (int i = 0; i < COUNT; i++) {
    if (got[i] != WANTED(i)) return 4;
  }
}
"""


def _program(
    body: str,
    shape: str = "2, 1, 1",
    grid: str = "4",
    block: str = "32",
    wanted: str = "i",
    count: int = 4,
    more: str = "",
) -> str:
    text = _PROGRAM % (more, body)
    for name, value in (
        ("SHAPE", f"__cluster_dims__({shape})" if shape else ""),
        ("GRID", grid),
        ("BLOCK", block),
        ("COUNT", str(count)),
        ("WANTED(i)", wanted),
    ):
        text = text.replace(name, value)
    return text


def _check(folder: Path, text: str, effort: Effort = Effort.NORMAL) -> set[str]:
    program = folder / "cluster.cu"
    program.write_text(text)
    return kinds_of(check(program, ranks=1, effort=effort))


_INIT_FENCE = "ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);"
_RELAXED = (
    "__shared__ std::uint64_t bar; if (!threadIdx.x) { ptx::mbarrier_init(&bar, 32); %s }"
    " ptx::barrier_cluster_arrive(ptx::sem_relaxed); ptx::barrier_cluster_wait();"
    " std::uint64_t* theirs = cluster.map_shared_rank(&bar, cluster.block_rank() ^ 1);"
    " ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, theirs);"
    " while (!ptx::mbarrier_try_wait_parity(&bar, 0)) continue;"
    " if (!threadIdx.x) out[blockIdx.x] = blockIdx.x; cluster.sync();"
)
# Each writes what WANTED(i) says to out[i].
_GOOD = {
    "places": _program(
        "const dim3 at = cluster.block_index(), shape = cluster.dim_blocks();"
        " const unsigned linear = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;"
        " const bool good = at.x == blockIdx.x % 2 && at.y == blockIdx.y % 2 && at.z == 0"
        " && shape.x == 2 && shape.y == 2 && shape.z == 1 && cluster.num_blocks() == 4"
        " && cluster.block_rank() == at.y * 2 + at.x && cluster.dim_threads().y == 8"
        " && cluster.num_threads() == 4 * 32 && cluster.thread_rank() =="
        " cluster.block_rank() * 32 + threadIdx.y * 8 + threadIdx.x;"
        ' if (!good) asm("trap;"); if (!threadIdx.x && !threadIdx.y) out[linear] = linear;',
        shape="2, 2",
        grid="4, 2, 3",
        block="8, 4",
        count=24,
    ),
    "one_by_default": _program(
        "cluster.sync(); cluster.barrier_arrive(); cluster.barrier_wait(); __shared__ int mine;"
        " mine = blockIdx.x; __syncwarp();"
        " if (!threadIdx.x) out[blockIdx.x] = *cluster.map_shared_rank(&mine, 0);",
        shape="",
        block="1",
    ),
    # Blocks come to their variables in different orders.
    "one_layout": _program(
        "__shared__ int kept;"
        " if (cluster.block_rank()) { __shared__ int rest[7]; rest[threadIdx.x] = 3;"
        ' asm volatile("" :: "l"(rest)); }'
        " __shared__ int mine; if (!threadIdx.x) { kept = 0; mine = blockIdx.x; }"
        " cluster.sync();"
        " if (!threadIdx.x) out[blockIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank())"
        " + 0 * *cluster.map_shared_rank(&kept, 1 - cluster.block_rank());"
        " cluster.sync();",
        block="4",
    ),
    # What the other block itself never names.
    "stored_by_the_other": _program(
        "extern __shared__ int unused[]; __shared__ int mine; cluster.sync();"
        " if (cluster.block_rank() == 0 && !threadIdx.x) {"
        " *cluster.map_shared_rank(&mine, 1) = blockIdx.x + 1; mine = blockIdx.x; }"
        " cluster.sync(); if (!threadIdx.x) out[blockIdx.x] = mine;",
    ),
    "early_exit": _program(
        "if (threadIdx.x >= 8) return; __shared__ int mine; if (!threadIdx.x) mine = blockIdx.x;"
        " cluster.sync(); const unsigned next = cluster.block_rank() ^ 1;"
        " const int other = *cluster.map_shared_rank(&mine, next);"
        " cluster.barrier_arrive(); if (threadIdx.x == 3) return; cluster.barrier_wait();"
        " if (!threadIdx.x) out[blockIdx.x] = other ^ 1;",
        block="64",
    ),
    "ptx_names": _program(
        "__shared__ int mine; if (!threadIdx.x) mine = blockIdx.x;"
        " ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();"
        " int* theirs = ptx::mapa(ptx::space_cluster, &mine, ptx::get_sreg_cluster_ctarank() ^ 1);"
        " if (ptx::getctarank(ptx::space_cluster, theirs) == ptx::get_sreg_cluster_ctarank())"
        ' asm("trap;");'
        " if (!threadIdx.x) out[*theirs] = *theirs;"
        " ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();",
    ),
    # The other block's mbarrier, and a copy in the background from block to block.
    "remote_barrier": _program(
        "__shared__ alignas(16) int from[4]; __shared__ alignas(16) int to[4];"
        " __shared__ std::uint64_t bar; if (threadIdx.x) return;"
        " ptx::mbarrier_init(&bar, 1); for (int& v : from) v = blockIdx.x;"
        " ptx::fence_proxy_async(); cluster.sync();"
        " const unsigned other = cluster.block_rank() ^ 1;"
        " const auto state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster,"
        " ptx::space_shared, &bar, 16);"
        " ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared,"
        " cluster.map_shared_rank(to, other), from, 16, cluster.map_shared_rank(&bar, other));"
        " while (!ptx::mbarrier_try_wait(&bar, state)) continue;"
        " out[blockIdx.x] = to[3] ^ 1; cluster.sync();",
    ),
    # As CUTLASS begins: a fence of what was initialized, and arrivals that release nothing else.
    "relaxed_start": _program(_RELAXED % _INIT_FENCE),
}
_EARLY = "__shared__ int mine; if (!threadIdx.x) mine = blockIdx.x; "
_READ = (
    "if (!threadIdx.x) out[blockIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);"
)
_FOUND = {
    "before_it_begins": (
        {"cluster_misuse", "shared_memory_race"},
        _EARLY + _READ + "cluster.sync();",
    ),
    "after_it_ends": ({"cluster_misuse"}, _EARLY + "cluster.sync();" + _READ),
    # The fence is of barriers alone.
    "init_fence_for_data": (
        {"shared_memory_race"},
        "__shared__ int mine; if (!threadIdx.x) { mine = blockIdx.x; " + _INIT_FENCE + " }"
        " ptx::barrier_cluster_arrive(ptx::sem_relaxed); ptx::barrier_cluster_wait();"
        " if (!threadIdx.x) out[blockIdx.x] ="
        " *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1); cluster.sync();",
    ),
    "no_fence_of_the_barrier": ({"shared_memory_race"}, _RELAXED % ""),
    "two_arrivals": (
        {"cluster_misuse"},
        "cluster.barrier_arrive(); cluster.barrier_arrive(); cluster.barrier_wait();",
    ),
    "no_arrival": ({"cluster_misuse"}, "cluster.barrier_wait();"),
    "no_such_rank": ({"cluster_misuse"}, "__shared__ int mine; cluster.map_shared_rank(&mine, 2);"),
    "no_shared_address": ({"cluster_misuse"}, "cluster.map_shared_rank(out, 0);"),
    "one_block_waits": ({"deadlock"}, "if (cluster.block_rank()) cluster.sync();  else while"
                        " (atomicAdd(out, 0) == 0) continue;"),
    "past_the_end": (
        {"out_of_bounds"},
        "__shared__ int mine[4]; if (threadIdx.x < 4) mine[threadIdx.x] = 1; cluster.sync();"
        " if (!threadIdx.x) out[blockIdx.x] = cluster.map_shared_rank(mine, 1)[4];"
        " cluster.sync();",
    ),
    # Another cluster's memory, by its address.
    "other_cluster": (
        {"out_of_bounds", "cluster_misuse"},
        "__shared__ int mine; if (!threadIdx.x) mine = 1; auto* all = (unsigned long long*)out;"
        " if (!threadIdx.x) atomicExch(all + blockIdx.x, (unsigned long long)&mine);"
        " cluster.sync();"
        " if (blockIdx.x == 0 && !threadIdx.x) { unsigned long long p;"
        " while (!(p = atomicAdd(all + 3, 0ull))) continue; out[100] = *(int*)p; }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", _GOOD)
def test_clusters_compute_what_they_should(tmp_path: Path, form: str) -> None:
    assert _check(tmp_path, _GOOD[form]) == set()


@pytest.mark.parametrize("form", _FOUND)
def test_misuse_is_found(tmp_path: Path, form: str) -> None:
    kinds, body = _FOUND[form]
    found = _check(tmp_path, _program(body, count=0))
    assert found and found <= kinds, found


_HAND_OVER = (
    "if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = 7;"
    ' asm volatile("fence.acq_rel.%s; red.relaxed.gpu.global.add.u32 [%%0], 1;"'
    ' :: "l"(out + 1) : "memory"); }'
    " if (threadIdx.x == 0 && blockIdx.x == 1) { unsigned seen; do"
    ' asm volatile("ld.relaxed.gpu.global.u32 %%0, [%%1];" : "=r"(seen) : "l"(out + 1) : "memory");'
    ' while (!seen); asm volatile("fence.acq_rel.%s;" ::: "memory"); out[2] = out[0]; }'
)


def test_without_clusters_their_scope_is_a_block(tmp_path: Path) -> None:
    """Among the blocks of a cluster the same fences do."""
    narrow, wide = (_HAND_OVER % (scope, scope) for scope in ("cluster", "gpu"))
    assert _check(tmp_path, _program(wide, shape="", count=0)) == set()
    assert _check(tmp_path, _program(narrow, count=0)) == set()
    assert _check(tmp_path, _program(narrow, shape="", count=0)) & {"scope_too_narrow", "data_race"}


@pytest.mark.parametrize(
    "text",
    [
        "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];",
        "{ .reg .pred p; mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%0], 0; }",
    ],
)
def test_arrivals_that_release_nothing_are_not_emulated(tmp_path: Path, text: str) -> None:
    body = "__shared__ std::uint64_t bar; if (!threadIdx.x) ptx::mbarrier_init(&bar, 32);"
    place = '"r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory"'
    program = _program(f'{body} asm volatile("{text}" :: {place});', shape="", count=0)
    assert _check(tmp_path, program) == {"unsupported"}


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ("2, 1, 1", "3"),
        ("9, 1, 1", "9"),
        ("1, 2, 1", "4, 3"),
        ("0, 1, 1", "4"),
        ("4294967295, 4294967295, 1", "4"),
    ],
)
def test_a_grid_that_does_not_fit_is_a_launch_error(tmp_path: Path, shape: str, grid: str) -> None:
    text = _program("cluster.sync();", shape=shape, grid=grid, count=0)
    assert _check(tmp_path, text, Effort.QUICK) == {"launch_error"}


_ATTRIBUTE = """
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = %s;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t error = %s cudaLaunchKernelEx(&config, work, out);
  if (error != %s) return fprintf(stderr, "%%s\\n", cudaGetErrorName(error)), 5;
  cudaGetLastError();
"""
_LARGE = (
    "cudaFuncSetAttribute(work, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ?"
    " cudaErrorUnknown :"
)


@pytest.mark.parametrize(
    ("blocks", "before", "error"),
    [
        ("4", "", "cudaSuccess"),
        ("3", "", "cudaErrorInvalidValue"),
        ("16", "", "cudaErrorInvalidClusterSize"),
        ("16", _LARGE, "cudaSuccess"),
        ("32", _LARGE, "cudaErrorInvalidClusterSize"),
    ],
)
def test_the_launch_attribute(tmp_path: Path, blocks: str, before: str, error: str) -> None:
    body = (
        "__shared__ int mine; if (!threadIdx.x) mine = blockIdx.x; cluster.sync();"
        " const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();"
        " const int other = *cluster.map_shared_rank(&mine, next);"
        " if (!threadIdx.x) out[other] = other; cluster.sync();"
    )
    text = _program(body, shape="", grid="32", count=32 if error == "cudaSuccess" else 0)
    launch = _ATTRIBUTE % (blocks, before, error)
    text = text.replace("  work<<<grid, block>>>(out);\n", launch)
    assert _check(tmp_path, text, Effort.QUICK) == set()


@pytest.mark.parametrize(
    "text",
    [
        "#define PAIRS __cluster_dims__(2, 1, 1)\n__global__ void PAIRS other(int* out) {}",
        "__global__ void __cluster_dims__(2) other(int* out);\n__global__ void other(int*) {}",
    ],
)
def test_what_the_rewriter_does_not_see_is_refused(tmp_path: Path, text: str) -> None:
    try:
        report = check_program(tmp_path, _program("", more=text))
        told = " ".join(f.finding.message for f in report.findings)
    except WarploomError as error:
        told = str(error)
    assert "__cluster_dims__" in told


@pytest.mark.parametrize("form", ["early_exit", "ptx_names", "remote_barrier"])
def test_they_run_in_modelled_time(tmp_path: Path, form: str) -> None:
    program = tmp_path / "cluster.cu"
    program.write_text(_GOOD[form])
    options = RunOptions(ranks=1, race=False, machine=find_topology("h200-8"))
    outcome = run(build(BuildSpec(program, timed=True)), options)
    assert outcome.verdict is Verdict.OK, outcome.findings


_ROOM = """
#include <cuda_runtime.h>
constexpr int kShared = 200 << 10;  // one block on each multiprocessor
__device__ unsigned arrived;
__global__ void SHAPE meet() {
  extern __shared__ int reserve[];
  reserve[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < gridDim.x * gridDim.y) {
    }
  }
}
int main() {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute asked[2] = {};
  asked[0].id = cudaLaunchAttributeClusterDimension;
  asked[0].val.clusterDim = {CLUSTER};
  asked[1].id = cudaLaunchAttributeCooperative;
  asked[1].val.cooperative = 1;
  config.gridDim = dim3(GRID);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = kShared;
  config.attrs = asked;
  config.numAttrs = ATTRIBUTES;
  cudaFuncSetAttribute(meet, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  cudaFuncSetAttribute(meet, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, meet, &config) != cudaSuccess) return 1;
  if (MOST && clusters != MOST) return 2;
  if (cudaLaunchKernelEx(&config, meet) != cudaSuccess) return 3;
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def _room(cluster: str, grid: str, *, attributes: int = 1, most: int = 0, shape: str = "") -> str:
    text = _ROOM
    for name, value in (
        ("SHAPE", shape and f"__cluster_dims__({shape})"),
        ("CLUSTER", cluster),
        ("GRID", grid),
        ("ATTRIBUTES", str(attributes)),
        ("MOST", str(most)),
    ):
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("cluster", "grid", "most"),
    [
        ("2, 1, 1", "132", 66),
        ("4, 1, 1", "128", 32),
        ("8, 1, 1", "128", 16),
        ("2, 2, 1", "64, 2", 32),
    ],
)
def test_clusters_that_fit_can_meet(tmp_path: Path, cluster: str, grid: str, most: int):
    for attributes in (1, 2):
        text = _room(cluster, grid, most=most, attributes=attributes)
        assert not kinds_of(check_program(tmp_path, text))


@pytest.mark.parametrize(
    ("cluster", "grid"), [("4, 1, 1", "132"), ("2, 2, 1", "66, 2"), ("6, 1, 1", "132")]
)
def test_a_cluster_lies_within_one_part_of_the_device(tmp_path: Path, cluster: str, grid: str):
    assert "not_resident" in kinds_of(check_program(tmp_path, _room(cluster, grid)))
    refused = {"launch_error", "exit_code"}  # of a cooperative launch
    assert kinds_of(check_program(tmp_path, _room(cluster, grid, attributes=2))) == refused
    only_kernel = _room(cluster, grid, attributes=0, shape=cluster)
    assert "not_resident" in kinds_of(check_program(tmp_path, only_kernel))


def test_a_cooperative_kernel_with_clusters_of_its_own_is_refused(tmp_path: Path):
    text = _room("4, 1, 1", "132", attributes=2, shape="4, 1, 1")
    text = text.replace("asked[0].id = cudaLaunchAttributeClusterDimension;", "")
    report = check_program(tmp_path, text)
    assert any("__cluster_dims__(4, 1, 1)" in one.finding.message for one in report.findings)
