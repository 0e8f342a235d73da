"""Copies in the background and barriers in memory: what they may touch, and what is refused."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.core.errors import WarploomError
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_PROGRAM = """
#include <cuda/ptx>
#include <cuda_runtime.h>
namespace ptx = cuda::ptx;
__global__ void copy(float* data, char* judge) {
  __shared__ alignas(16) float tile[64];
  __shared__ alignas(16) float other[64];
  __shared__ std::uint64_t bar;
  ptx::mbarrier_init(&bar, 1);
  std::uint64_t state = 0;
  %s
}
int main(int argc, char** argv) {
  float* data;
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) || cudaMalloc(&data, 256)) return 1;
  copy<<<1, 1>>>(data, reinterpret_cast<char*>(stream));
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""
_LOAD = (
    "state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,"
    " &bar, 256); ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, %s, %s, 256, &bar);"
    " while (!ptx::mbarrier_try_wait(&bar, state)) continue;"
)
_STORE = (
    "ptx::fence_proxy_async();"
    " ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, %s, %s, %d);"
    " ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());"
)
_FILL = "for (int i = 0; i < 64; i++) tile[i] = 1; "
_FOUND = {
    "writes_the_judge": ("emulator_access", _FILL + _STORE % ("judge", "tile", 256)),
    "reads_the_judge": ("emulator_access", _LOAD % ("tile", "judge")),
    "barrier_of_the_judge": ("emulator_access", "ptx::mbarrier_init((std::uint64_t*)judge, 1);"),
    "past_the_tile": ("out_of_bounds", _LOAD % ("tile + 32", "data")),
    "past_the_allocation": ("out_of_bounds", _FILL + _STORE % ("data + 32", "tile", 256)),
    "past_the_source": ("out_of_bounds", _LOAD % ("tile", "data + 32")),
    "odd_address": ("misaligned", _FILL + _STORE % ("data", "tile + 1", 16)),
    "odd_size": ("misaligned", _FILL + _STORE % ("data", "tile", 20)),
    "four_gigabytes": ("out_of_bounds", _FILL + _STORE % ("data", "tile", 0xFFFFFFF0)),
    "to_a_local_variable": (
        "async_misuse",
        "alignas(16) float mine[64]; " + _FILL + _STORE % ("mine", "tile", 256),
    ),
    "the_closure": (
        "async_misuse",
        _FILL + _STORE % ("(void*)((std::size_t)&data & ~15)", "tile", 16),
    ),
    "local_barrier": (
        "async_misuse",
        "alignas(8) std::uint64_t mine; ptx::mbarrier_init(&mine, 1);"
        " ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, tile, data, 256, &mine);",
    ),
    "odd_barrier": ("misaligned", "ptx::mbarrier_init((std::uint64_t*)((char*)tile + 4), 1);"),
    "barrier_past_the_end": ("out_of_bounds", "ptx::mbarrier_init(&bar + 1, 1);"),
    "no_barrier": ("async_misuse", "ptx::mbarrier_arrive((std::uint64_t*)tile);"),
    "overwritten_barrier": ("async_misuse", "bar = 5; ptx::mbarrier_arrive(&bar);"),
    "too_many_arrivals": ("async_misuse", "ptx::mbarrier_init((std::uint64_t*)tile, 1 << 20);"),
    "too_many_bytes": (
        "async_misuse",
        "for (int i = 0; i < 2; i++) ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cta,"
        " ptx::space_shared, &bar, 1 << 19);",
    ),
    "bytes_wrap_around": (
        "async_misuse",
        "ptx::mbarrier_expect_tx(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar,"
        " 0xFFFFFFFF);",
    ),
    "old_token": (
        "async_misuse",
        "state = ptx::mbarrier_arrive(&bar); ptx::mbarrier_arrive(&bar);"
        " while (!ptx::mbarrier_try_wait(&bar, state)) continue;",
    ),
    "more_arrivals_than_missing": ("async_misuse", "ptx::mbarrier_arrive(&bar, 2);"),
}


@pytest.mark.parametrize("form", _FOUND)
def test_each_side_is_looked_at(tmp_path: Path, form: str) -> None:
    kind, statement = _FOUND[form]
    report = check_program(tmp_path, _PROGRAM % statement)
    assert kind in kinds_of(report), report.findings


# What is written before, the fence, and whether a copy from there may follow.
_WRITTEN = "for (int i = 0; i < 64; i++) data[i] = 1; "
_FENCES = {
    "shared": (True, _FILL + "ptx::fence_proxy_async(ptx::space_shared);", "data", "tile"),
    "shared_by_global": (False, _FILL + "ptx::fence_proxy_async(ptx::space_global);",
                         "data", "tile"),
    "shared_by_ptx": (True, _FILL + 'asm volatile("fence.proxy.async.shared::cta;");',
                      "data", "tile"),
    "shared_by_ptx_global": (False, _FILL + 'asm volatile("fence.proxy.async.global;");',
                             "data", "tile"),
    "global": (True, _WRITTEN + "ptx::fence_proxy_async(ptx::space_global);", "tile", "data"),
    "global_by_all": (True, _WRITTEN + 'asm volatile("fence.proxy.async;");', "tile", "data"),
    "global_by_shared": (False, _WRITTEN + "ptx::fence_proxy_async(ptx::space_shared);",
                         "tile", "data"),
    "global_by_nothing": (False, _WRITTEN, "tile", "data"),
    "global_of_before": (True, "", "tile", "data"),
    # The copy's own way wrote it.
    "global_by_a_copy": (True, _FILL + _STORE % ("data", "tile", 256), "other", "data"),
}  # fmt: skip


@pytest.mark.parametrize("form", _FENCES)
def test_a_proxy_fence_is_of_its_state_space(tmp_path: Path, form: str) -> None:
    good, before, to, source = _FENCES[form]
    store = (
        f"ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, {to}, {source}, 256);"
        " ptx::cp_async_bulk_commit_group(); ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());"
    )
    statement = before + (store if to == "data" else _LOAD % (to, source))
    made = "cudaMalloc(&data, 256)"
    text = _PROGRAM.replace(made, f"{made} || cudaMemset(data, 0, 256)")
    report = check_program(tmp_path, text % statement)
    assert kinds_of(report) == (set() if good else {"missing_proxy_fence"}), report.findings


_TWO_BLOCKS = """
#include <cuda/atomic>
#include <cuda/ptx>
#include <cuda_runtime.h>
namespace ptx = cuda::ptx;
__global__ void pass(int* data, int* flag) {
  __shared__ alignas(16) int tile[64];
  __shared__ std::uint64_t bar;
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    for (int i = 0; i < 64; i++) data[i] = i;
    %s
    ready.store(1, cuda::memory_order_release);
    return;
  }
  while (!ready.load(cuda::memory_order_acquire)) continue;
  %s
  ptx::mbarrier_init(&bar, 1);
  const auto state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                                    ptx::space_shared, &bar, 256);
  ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, tile, data, 256, &bar);
  while (!ptx::mbarrier_try_wait(&bar, state)) continue;
  data[0] = tile[63];
}
int main() {
  int *data, *flag;
  if (cudaMalloc(&data, 256) || cudaMalloc(&flag, 4) || cudaMemset(flag, 0, 4)) return 1;
  pass<<<2, 1>>>(data, flag);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"""


@pytest.mark.parametrize(
    ("writer", "reader", "kinds"),
    [
        ("", "", {"missing_proxy_fence"}),
        ("ptx::fence_proxy_async();", "", set()),
        ("", "ptx::fence_proxy_async(ptx::space_global);", set()),
        ("", "ptx::fence_proxy_async(ptx::space_shared);", {"missing_proxy_fence"}),
    ],
)
def test_a_proxy_fence_for_what_another_block_wrote(
    tmp_path: Path, writer: str, reader: str, kinds: set[str]
) -> None:
    report = check_program(tmp_path, _TWO_BLOCKS % (writer, reader))
    assert kinds_of(report) == kinds, report.findings


def test_copies_that_stay_inside_pass(tmp_path: Path) -> None:
    statement = _FILL + _STORE % ("data", "tile", 256) + _LOAD % ("other", "data")
    report = check_program(tmp_path, _PROGRAM % statement)
    assert kinds_of(report) == set(), report.findings


_HOST = """
#include <cuda/ptx>
#include <cuda_runtime.h>
#include <mpi.h>
#include <sys/mman.h>
namespace ptx = cuda::ptx;
__global__ void put(float* data) {
  __shared__ alignas(16) float tile[64];
  for (int i = 0; i < 64; i++) tile[i] = 1;
  ptx::fence_proxy_async();
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, data, tile, 256);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}
__global__ void store(float* data) { data[0] = 1; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaSetDevice(rank);
  char* page = (char*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  float *data = nullptr, *pinned = nullptr;
  cudaMalloc(&data, 256);
  cudaMallocHost(&pinned, 256);
  float* theirs = %s;
  MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, 1, MPI_COMM_WORLD);
  if (rank == 0) {
    %s
    cudaDeviceSynchronize();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""
_REGISTERED = "cudaHostRegister(page, 4096, 0);"
_OF_RANKS: dict[str, tuple[set[str], str, str]] = {
    "device_memory": ({"peer_not_in_lsa_team"}, "data", "put<<<1, 1>>>(theirs);"),
    "pinned_memory": ({"foreign_memory"}, "pinned", "put<<<1, 1>>>(theirs);"),
    "host_memory": ({"foreign_memory", "async_misuse"}, "(float*)page", "put<<<1, 1>>>(theirs);"),
    "own_host_memory": (
        {"device_dereference_host", "async_misuse"}, "data", "put<<<1, 1>>>((float*)page);",
    ),
    "registered": (set(), "data", _REGISTERED + "put<<<1, 1>>>((float*)page);"),
    "past_what_is_registered": (
        {"device_dereference_host", "async_misuse"},
        "data",
        "cudaHostRegister(page, 128, 0); put<<<1, 1>>>((float*)page);",
    ),
    "freed_under_way": (
        {"use_after_free", "data_race"}, "data", "put<<<1, 1>>>(pinned); cudaFreeHost(pinned);",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", _OF_RANKS)
def test_memory_of_the_host_and_of_other_ranks(tmp_path: Path, form: str) -> None:
    kinds, given, statement = _OF_RANKS[form]
    program = tmp_path / "ranks.cu"
    program.write_text(_HOST % (given, statement))
    report = check(program, ranks=2, effort=Effort.NORMAL)
    found = kinds_of(report)
    assert found <= kinds and bool(found) == bool(kinds), report.findings


_NO_ACCESS = """
#include <cuda_runtime.h>
__global__ void put(int* p) { *p = 1; }
int main() {
  int* there = nullptr;
  cudaSetDevice(1);
  cudaMalloc(&there, 4);
  cudaSetDevice(0);
  put<<<1, 1>>>(there);
  cudaDeviceSynchronize();
}
"""


def test_the_cure_for_memory_of_another_device_is_one_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "devices.cu"
    program.write_text(_NO_ACCESS)
    (found,) = [
        one.finding
        for one in check(program, ranks=2, effort=Effort.QUICK).findings
        if one.finding.kind == "peer_not_in_lsa_team"
    ]
    assert "cudaDeviceEnablePeerAccess" in found.hint and "LSA" not in found.hint


# Rank 1 maps a part of what rank 0 registered and gave back.
_REMAPPED = """
  constexpr std::size_t kLarge = 64 << 20;
  char* middle = nullptr;
  if (rank == 0) {
    char* large = (char*)mmap(nullptr, kLarge, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cudaHostRegister(large, kLarge, 0);
    munmap(large, kLarge);
    middle = large + kLarge / 2;
  }
  MPI_Bcast(&middle, sizeof middle, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    page = (char*)mmap(middle, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
"""


def test_what_was_registered_and_is_anothers_now(tmp_path: Path) -> None:
    statement = "if ((char*)theirs == middle) store<<<1, 1>>>(theirs);"
    text = _HOST.replace("  float* theirs", _REMAPPED + "  float* theirs")
    program = tmp_path / "remapped.cu"
    program.write_text(text % ("(float*)page", statement))
    report = check(program, ranks=2, effort=Effort.QUICK)
    assert kinds_of(report) == {"foreign_memory"}, report.findings


@pytest.mark.parametrize(
    ("name", "instructions"),
    [
        (
            "cp.async.bulk.tensor",
            "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0], [%0];",
        ),
        ("cp.reduce", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%0], 4;"),
        ("a loop of other things", "AGAIN: add.u64 %0, %0, 1; bra AGAIN;"),
        ("bra NOWHERE", "bra NOWHERE;"),
    ],
)
def test_what_is_not_there_is_refused_by_name(tmp_path: Path, name: str, instructions: str) -> None:
    statement = f'asm volatile("{instructions}" : "+l"(state));'
    try:
        report = check_program(tmp_path, _PROGRAM.replace("  %s\n", f"  {statement}\n"))
        told = " ".join(f.finding.message for f in report.findings)
    except WarploomError as error:
        told = str(error)
    assert name in told
