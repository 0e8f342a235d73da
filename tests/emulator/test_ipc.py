"""Memory and events of other processes (cudaIpc*): what calls give, and what is found."""

from pathlib import Path

import pytest
from host_program import kinds_of

from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_PROGRAM = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define EXPECT(wanted, call) \\
  do { \\
    const cudaError_t got = (call); \\
    if (got == (wanted)) break; \\
    fprintf(stderr, "%%d: %%s\\n", __LINE__, cudaGetErrorName(got)); \\
    exit(3); \\
  } while (0)
#define OK(call) EXPECT(cudaSuccess, call)
constexpr unsigned kLazy = cudaIpcMemLazyEnablePeerAccess;
__global__ void put(int* p) { p[0] = 7; }
template <class T>
T from_one(T value) {
  MPI_Bcast(&value, sizeof value, MPI_BYTE, 1, MPI_COMM_WORLD);
  return value;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(cudaGetDeviceCount(&devices));
  OK(cudaSetDevice(rank %% devices));
  int* data = nullptr;
  void *theirs = nullptr, *again = nullptr;
  cudaIpcMemHandle_t mine{}, handle{};
  cudaEvent_t event, opened;
  cudaIpcEventHandle_t event_handle{};
  OK(cudaMalloc(&data, 4096));
  OK(cudaMemset(data, 0, 4096));
  OK(cudaDeviceSynchronize());
  OK(cudaIpcGetMemHandle(&mine, data));
  OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  OK(cudaIpcGetEventHandle(&event_handle, event));
  handle = from_one(mine);
  event_handle = from_one(event_handle);
  %s
  MPI_Barrier(MPI_COMM_WORLD);
  OK(cudaFree(data));
  MPI_Finalize();
}
"""
_OPEN = "if (rank == 0) OK(cudaIpcOpenMemHandle(&theirs, handle, kLazy));"
_CLOSE = "if (rank == 0) OK(cudaIpcCloseMemHandle(theirs));"
_PUT = "if (rank == 0) { put<<<1, 1>>>((int*)theirs); OK(cudaGetLastError()); }"
_SYNC = "OK(cudaDeviceSynchronize());"
_GOOD = {
    "opened_twice": _OPEN
    + "if (rank == 0) { OK(cudaIpcOpenMemHandle(&again, handle, kLazy));"
    + " if (again != theirs) exit(4); OK(cudaIpcCloseMemHandle(again)); }"
    + _PUT
    + _SYNC
    + _CLOSE
    + "if (rank == 0) EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(theirs));",
    "own_process": "if (rank == 1) EXPECT(cudaErrorDeviceUninitialized,"
    " cudaIpcOpenMemHandle(&theirs, handle, kLazy));"
    " if (rank == 1) EXPECT(cudaErrorDeviceUninitialized,"
    " cudaIpcOpenEventHandle(&opened, event_handle));",
    "other_bytes": "handle.reserved[5] ^= 1; if (rank == 0) EXPECT(cudaErrorInvalidResourceHandle,"
    " cudaIpcOpenMemHandle(&theirs, handle, kLazy));",
    "no_flag": "if (rank == 0) EXPECT(cudaErrorInvalidValue,"
    " cudaIpcOpenMemHandle(&theirs, handle, 0));",
    "inside": "mine = {}; OK(cudaIpcGetMemHandle(&mine, data + 5)); mine = from_one(mine);"
    " if (memcmp(&mine, &handle, sizeof mine)) exit(5);",
    "closed_inside": _OPEN
    + "if (rank == 0) EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle((int*)theirs + 1));"
    + _CLOSE,
    "other_kinds": "void* p; OK(cudaMallocHost(&p, 64));"
    " EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&mine, p));"
    " OK(cudaMallocManaged(&p, 64));"
    " EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&mine, p));"
    " OK(cudaMallocAsync(&p, 64, 0));"
    " EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&mine, p));"
    " EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&mine, &rank));",
    "events": "cudaEvent_t other; EXPECT(cudaErrorInvalidValue,"
    " cudaEventCreateWithFlags(&other, cudaEventInterprocess));"
    " OK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming)); EXPECT("
    "cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&event_handle, other));",
}
_RANKS_SHARE_NOTHING = {
    "machines": "if (rank == 0) EXPECT(cudaErrorInvalidResourceHandle,"
    " cudaIpcOpenMemHandle(&theirs, handle, kLazy));",
}
_FOUND = {
    "closed_too_early": (
        {"use_after_free"},
        _OPEN + _PUT + _CLOSE + _SYNC,
    ),
    "freed_before": (
        {"use_after_free"},
        "if (rank == 1) { OK(cudaFree(data)); data = nullptr; } MPI_Barrier(MPI_COMM_WORLD);"
        + _OPEN,
    ),
    "close_is_not_waited_for": (
        {"use_after_free"},
        _OPEN + "if (rank == 1) { OK(cudaFree(data)); data = nullptr; }" + _CLOSE,
    ),
    "work_is_not_waited_for": (
        {"data_race", "use_after_free"},
        _OPEN + _PUT + "if (rank == 1) { OK(cudaFree(data)); data = nullptr; }" + _SYNC + _CLOSE,
    ),
    "destroyed_event": (
        {"use_after_destroy"},
        "if (rank == 0) OK(cudaIpcOpenEventHandle(&opened, event_handle));"
        " MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) OK(cudaEventDestroy(event));"
        " MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) OK(cudaStreamWaitEvent(0, opened, 0));",
    ),
    "event_handle_itself": (
        {"foreign_memory"},
        "event = from_one(event); OK(cudaEventSynchronize(event));",
    ),
    "freed_by_the_other": (
        {"invalid_free"},
        _OPEN + "if (rank == 0) EXPECT(cudaErrorInvalidValue, cudaFree(theirs));" + _CLOSE,
    ),
    "async_free_by_the_other": (
        {"invalid_free"},
        _OPEN + "if (rank == 0) EXPECT(cudaErrorInvalidValue, cudaFreeAsync(theirs, 0));" + _CLOSE,
    ),
}  # fmt: skip


def _check(folder: Path, statement: str, **more: int) -> set[str]:
    program = folder / "ipc.cu"
    program.write_text(_PROGRAM % statement)
    return kinds_of(check(program, ranks=2, effort=Effort.NORMAL, **more))


@pytest.mark.parametrize("form", _GOOD)
def test_calls_give_what_the_reference_says(tmp_path: Path, form: str) -> None:
    assert _check(tmp_path, _GOOD[form]) == set()


@pytest.mark.parametrize("form", _RANKS_SHARE_NOTHING)
def test_handles_mean_nothing_on_other_machines(tmp_path: Path, form: str) -> None:
    assert _check(tmp_path, _RANKS_SHARE_NOTHING[form], node_size=1) == set()


@pytest.mark.parametrize("form", _FOUND)
def test_misuse_is_found(tmp_path: Path, form: str) -> None:
    kinds, statement = _FOUND[form]
    found = _check(tmp_path, statement)
    # The program ends where a call fails.
    assert found & kinds and found <= kinds | {"exit_code", "deadlock"}, found


_ONE_DEVICE = _PROGRAM.replace("  OK(cudaSetDevice(rank %% devices));\n", "")


@pytest.mark.parametrize("writer", [0, 1])
@pytest.mark.parametrize("opened", [True, False])
def test_processes_that_share_a_device_share_no_addresses(
    tmp_path: Path, writer: int, opened: bool
) -> None:
    raw = "theirs = from_one((void*)data);"
    statement = _OPEN + _PUT + _SYNC + _CLOSE if opened else raw + _PUT + _SYNC
    program = tmp_path / "shared.cu"
    text = _ONE_DEVICE % statement
    if writer == 1:
        text = text.replace("rank == 0", "rank == 1").replace("MPI_BYTE, 1,", "MPI_BYTE, 0,")
    program.write_text(text)
    found = kinds_of(check(program, ranks=2, effort=Effort.NORMAL))
    assert found == (set() if opened else {"foreign_memory"})
