"""What the runtime follows of a program's pointers it looks at, behind every interface."""

import re
import subprocess
from pathlib import Path

import pytest
from host_program import check_program, kinds_of
from test_stated_effects import declarations, parameters

from warploom.emulator.building.elf import dynamic_symbols
from warploom.emulator.building.host_imports import OWN_CODE, TABLE, Held
from warploom.emulator.building.runtime_build import RUNTIME_DIR, build_runtime, exported
from warploom.toolchain.compilers import find_compiler

_HEAD = """
#include <cuda_runtime.h>
#include <cuda/barrier>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <sstream>
#define OK(call) do { if (call) { printf("%d\\n", __LINE__); } } while (0)
__global__ void fill(int* p) { for (int i = 0; i < 64; i++) p[i] = 0; }
__global__ void take(const int* p) { if (*p == 77) __trap(); }
__global__ void gather(unsigned long* p) { warploom::warp_gather(~0u, 7, p); }
int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int* h;
  cudaStream_t s;
  OK(cudaMallocHost(&h, 4096));
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  char* judge = (char*)s;
  memset(h, 0, 4096);
  ncclComm_t comm;
  ncclUniqueId id;
  OK(ncclGetUniqueId(&id));
  OK(ncclCommInitRank(&comm, 1, id, 0));
  void* memory;
  ncclWindow_t window;
  OK(ncclMemAlloc(&memory, 4096));
  OK(ncclCommWindowRegister(comm, memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC));
  int in[4] = {}, out[4] = {}, ones[4] = {1, 1, 1, 1}, zeros[4] = {};
  struct tm at = {};
  at.tm_mday = 1;
  char text[64];
"""
_TAIL = """
  OK(cudaStreamSynchronize(s));
  OK(ncclCommWindowDeregister(comm, window));
  OK(ncclMemFree(memory));
  OK(ncclCommDestroy(comm));
  OK(cudaFreeHost(h));
  OK(MPI_Finalize());
  return argc > 1000;
}
"""
_LAUNCH = "fill<<<1, 1, 0, s>>>(h); OK(cudaGetLastError());"
_REQUEST = (
    "ncclDevResourceRequirements_t more = {}; more.ginSignalCount = 1; %s"
    "ncclDevCommRequirements_t r = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;"
    "r.resourceRequirementsList = &more; r.ginSignalCount = 2;"
    "r.ginConnectionType = NCCL_GIN_CONNECTION_FULL; ncclDevComm_t dc;"
    "OK(ncclDevCommCreate(comm, &r, &dc)); OK(ncclDevCommDestroy(comm, &dc));"
)
_HONEST = (
    """
  void* found = nullptr;
  OK(ncclGetLsaDevicePointer(window, 0, 0, &found));
  OK(found != memory);
  OK(MPI_Alltoallv(in, ones, zeros, MPI_INT, out, ones, zeros, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Gatherv(in, 1, MPI_INT, out, ones, zeros, MPI_INT, 0, MPI_COMM_WORLD));
  MPI_Datatype type;
  OK(MPI_Type_indexed(0, nullptr, nullptr, MPI_INT, &type));
  OK(MPI_Type_indexed(2, ones, zeros, MPI_INT, &type));
  struct tm left;
  memset(&left, 0xA5, sizeof left);
  left.tm_year = 100; left.tm_mon = 1; left.tm_mday = 2;
  OK(strftime(text, sizeof text, "%Y", &left) != 4);
  time_t now = 0;
  OK(strftime(text, sizeof text, "%Z", localtime(&now)) == 0);
  OK(strcmp(tzname[0], "UTC") != 0 && !*tzname[0]);
  OK(timezone < -90000 || !*program_invocation_name || !program_invocation_short_name);
  const int event = eventfd(0, 0);
  eventfd_t value = 0;
  OK(eventfd_write(event, 3)); OK(eventfd_read(event, &value)); OK(value != 3);
  const int file = open("lines.txt", O_RDWR | O_CREAT, 0600);
  OK(fsync(file)); OK(fdatasync(file)); OK(flock(file, LOCK_EX)); OK(fchmod(file, 0644));
  OK(posix_fallocate(file, 0, 16)); OK(lockf(file, F_TLOCK, 0));
  OK(fsync(-1) == 0);
  double number = 0;
  float small = 0;
  char one = 0;
  const auto made = std::to_chars(text, text + 64, 2.5);
  OK(made.ec != std::errc() || std::from_chars(text, made.ptr, number).ptr != made.ptr);
  OK(number != 2.5);
  OK(std::to_chars(text, text + 2, 2.5).ec != std::errc::value_too_large);
  OK(std::from_chars("x", "x" + 1, small).ec != std::errc::invalid_argument);
  OK(std::to_chars(text, text + 64, 1.0f, std::chars_format::fixed, 2).ptr != text + 4);
  std::istringstream in_text("q r");
  in_text.get(one);
  OK(one != 'q');
  in_text >> one;
  OK(one != 'r');
"""
    + _REQUEST % "ncclGinSignal_t first; more.outGinSignalStart = &first;"
)
_FOUND = {
    "requirement": (
        "emulator_access", _REQUEST % "more.outGinSignalStart = (ncclGinSignal_t*)judge;"
    ),
    "requirement_counter": (
        "emulator_access", _REQUEST % "more.outGinCounterStart = (ncclGinCounter_t*)judge;"
    ),
    "requirement_raced": (
        "data_race", _LAUNCH + _REQUEST % "more.outGinSignalStart = (ncclGinSignal_t*)h;"
    ),
    "lsa_pointer": ("emulator_access", "ncclGetLsaDevicePointer(window, 0, 0, (void**)judge);"),
    "lsa_pointer_raced": (
        "data_race", _LAUNCH + "ncclGetLsaDevicePointer(window, 0, 0, (void**)h);"
    ),
    "barrier": (
        "emulator_access", "init((cuda::barrier<cuda::thread_scope_system>*)judge, 3);"
    ),
    "gathered": ("emulator_access", "gather<<<1, 32>>>((unsigned long*)judge);"),
    "zone": (
        "emulator_access", 'at.tm_zone = judge; strftime(text, sizeof text, "%a %Z", &at);'
    ),
    "counts": (
        "readback_before_sync",
        "h[16] = 1; " + _LAUNCH +
        "MPI_Alltoallv(in, ones, zeros, MPI_INT, out, h + 16, zeros, MPI_INT, MPI_COMM_WORLD);",
    ),
    "lengths": (
        "readback_before_sync",
        _LAUNCH + "MPI_Datatype type; MPI_Type_indexed(2, h, zeros, MPI_INT, &type);",
    ),
    "ranks": (
        "readback_before_sync",
        "MPI_Group all, some; MPI_Comm_group(MPI_COMM_WORLD, &all);"
        + _LAUNCH + "MPI_Group_incl(all, 1, h, &some);",
    ),
    "volume": (
        "readback_before_sync",
        "auto* p = new (h) cudaMemcpy3DParms(); p->extent = {};" + _LAUNCH + "cudaMemcpy3D(p);",
    ),
    "pool": (
        "emulator_access", "cudaMemPool_t p; cudaMemPoolCreate(&p, (cudaMemPoolProps*)judge);"
    ),
    "eventfd_write": (
        "emulator_access", "for (int i = 3; i < 1100000; i++) eventfd_write(i, 3);"
    ),
    "fdatasync": ("emulator_access", "for (int i = 3; i < 1100000; i++) fdatasync(i);"),
    "to_chars": (
        "data_race", "take<<<1, 1, 0, s>>>(h); OK(cudaGetLastError());"
        "std::to_chars((char*)h, (char*)h + 32, 1.5);",
    ),
    "to_chars_in_the_judge": (
        "emulator_access", "std::to_chars(judge, judge + 32, 1.5, std::chars_format::fixed, 2);"
    ),
    "from_chars": (
        "data_race", "take<<<1, 1, 0, s>>>(h); OK(cudaGetLastError());"
        'std::from_chars("1.5", "1.5" + 3, *(double*)h);',
    ),
    "character": (
        "data_race", "take<<<1, 1, 0, s>>>(h); OK(cudaGetLastError());"
        'std::istringstream letters("ab"); letters.get(*(char*)h);',
    ),
    "character_by_operator": (
        "data_race", "take<<<1, 1, 0, s>>>(h); OK(cudaGetLastError());"
        'std::istringstream letters("ab"); letters >> *(char*)h;',
    ),
    "timezone": ("emulator_access", "timezone = 3;"),
    "invocation": ("emulator_access", "program_invocation_name = text;"),
}  # fmt: skip
# Of a descriptor they only tell something.
_TELL = frozenset(
    {"isatty", "fpathconf", "isfdtype", "sockatmark", "fstat", "fstat64", "fstatfs", "fstatfs64",
     "fstatvfs", "fstatvfs64", "tcgetattr", "ttyname_r", "ptsname_r", "inotify_rm_watch"}
)  # fmt: skip
_ROW = re.compile(r"^LOOKED_AT\((\w+), (.*)\)$", re.MULTILINE)
_DESCRIPTOR = re.compile(r"\bint (?:__)?(?:fd|fildes|filedes|epfd|sockfd|ufd)$")
# What becomes of the pointers that the runtime's own functions get, those of the headers.
_STATED = {
    "looked at by the call": (
        "arrive_at arrive_behind_copies arrive_early bulk_copy copy_later complete_bytes "
        "constant_copy drop_from end_barrier expect_bytes "
        "parity_is_over check_token phase_is_over start_barrier wait_at wait_parity config_of "
        "copy_from_symbol copy_to_symbol note_argument "
        "symbol_address register_variable nccl::create_devcomm nccl::describe_comm "
        "nccl::query_properties nccl::flush_async nccl::wait_request nccl::host_pointer "
        "nccl::host_multimem_pointer multimem::load_reduce multimem::reduce multimem::store "
        "warp_values mrg32k3a_jump xorwow_jump"
    ),
    "the access that is looked at": (
        "atomic_access atomic_load_access read_only_access vector_access nccl::put nccl::get"
    ),
    "a number that is looked up": (
        "copies_later kernel_name launch_pointer register_kernel shared_slot ptx::shared_offset "
        "cluster_map cluster_rank_of "
        "nccl::find_window nccl::destroy_devcomm nccl::declare_barrier nccl::multimem_pointer "
        "nccl::window_pointer"
    ),
    "names a device communicator, which is looked up": (
        "nccl::barrier_arrive nccl::barrier_wait nccl::check_context nccl::close_barrier "
        "nccl::flush nccl::increase_shadow nccl::open_barrier nccl::read_counter "
        "nccl::read_shadow nccl::read_signal nccl::reset_counter nccl::reset_signal "
        "nccl::shadow_pointer nccl::wait_counter nccl::wait_signal nccl::wait_signal_for "
        "nccl::write_shadow"
    ),
    "a text that only messages have": (
        "allow_dynamic_shared allow_large_clusters device_assert launch_kernel nccl::check_slot "
        "nccl::sync_block nccl::sync_lanes nccl::sync_warps texture_view unset_word unsupported"
    ),
}


def test_ordinary_calls_pass(tmp_path: Path) -> None:
    report = check_program(tmp_path, f"{_HEAD}{_HONEST}{_TAIL}")
    assert kinds_of(report) == set(), report.findings


@pytest.mark.parametrize("form", _FOUND)
def test_each_pointer_is_looked_at(tmp_path: Path, form: str) -> None:
    kind, statement = _FOUND[form]
    report = check_program(tmp_path, f"{_HEAD}  {statement}{_TAIL}")
    assert kind in kinds_of(report), report.findings


def _demangled(names: frozenset[str]) -> list[str]:
    done = subprocess.run(
        ["c++filt"], input="\n".join(sorted(names)), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_each_pointer_of_our_own_functions_is_stated() -> None:
    offered = dynamic_symbols(build_runtime(find_compiler())).exports
    ours = frozenset(
        name
        for name in offered
        if name.startswith("_ZN8warploom") and f"__wrap_{name}" not in offered
    )
    with_pointers = {
        text.split("(")[0].removeprefix("warploom::")
        for text in _demangled(ours)
        if re.search(r"[*&]", text.partition("(")[2])
    }
    assert len(with_pointers) > 40
    stated = {name for names in _STATED.values() for name in names.split()}
    assert sorted(with_pointers - stated) == []


def test_programs_bind_to_nothing_that_only_shares_a_word_with_a_header() -> None:
    own = frozenset(
        {
            "_ZN8warploom7releaseEPNS_10AllocationERKNS_6FramesE",
            "_ZN8warploom4nccl4sendESt10shared_ptrINS0_8TransferEE",
            "_ZN8warploom4nccl13multimem_baseERNS0_6CliqueEiii",
            "_ZN8warploom5BlockD1Ev",
        }
    )
    shown = frozenset(
        {
            "_ZN8warploom14copy_to_symbolEPvmPKvmmP11CUstream_stb",
            "_ZN8warploom11warp_valuesEjPm",
            "_ZN8warploom4nccl11flush_asyncERKNS0_3GinENS0_4TeamEiPm",
        }
    )
    assert exported(own | shown) == shown


def test_each_descriptor_is_asked_for(tmp_path: Path) -> None:
    declared = parameters(declarations(tmp_path))
    source = re.sub(r",\n\s+", ", ", (RUNTIME_DIR / "host/libc_effects.cpp").read_text())
    rows = dict(_ROW.findall(source))
    harmless = {n for entry in TABLE if entry.held is Held.HARMLESS for n in entry.names}
    stated = {name for how in OWN_CODE.values() for name in how}
    unasked = [
        f"{name}: {text.strip()}"
        for name in sorted((harmless | rows.keys()) - stated - _TELL)
        for at, text in enumerate(declared.get(name, []))
        if _DESCRIPTOR.search(text.strip())
        and not name.endswith(("at", "at64", "at2"))  # of folders
        and f"Asks<{at}>" not in rows.get(name, "")
    ]
    assert {"fsync", "eventfd_write", "fchmod"} <= rows.keys()
    assert unasked == []
