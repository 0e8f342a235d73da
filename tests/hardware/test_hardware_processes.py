"""A program on GPUs can start threads, which CUDA and NCCL need, but no process."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.hardware import HardwareBuild, HardwareOptions, Setup, run_hardware
from warploom.hardware.run import build_shim
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.mpi import find_mpi
from warploom.toolchain.nccl import NcclHeaders

PROGRAM = r"""
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <spawn.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#define EXPECT(condition) if (!(condition)) { std::printf("line %d\n", __LINE__); std::exit(1); }
struct Early { Early() { EXPECT(fork() == -1 && errno == EAGAIN); } } early;
int main() {
  int seen = 0;
  std::thread([&] { std::thread([&] { seen = 7; }).join(); }).join();
  EXPECT(seen == 7);
  EXPECT(vfork() == -1 && errno == EAGAIN);
  EXPECT(syscall(SYS_clone, 17, 0, 0, 0, 0) == -1 && errno == EAGAIN);
  EXPECT(syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS);
  char name[] = "true";
  char* words[] = {name, nullptr};
  EXPECT(posix_spawnp(nullptr, name, nullptr, nullptr, words, nullptr) == EAGAIN);
  EXPECT(system(nullptr) == 0 && system("mkdir out") == -1 && errno == EAGAIN);
  EXPECT(popen("hostname", "r") == nullptr && errno == EAGAIN);
  std::thread([] { EXPECT(fork() == -1); }).join();
}
"""


def built(folder: Path, text: str, *flags: str) -> Path:
    (folder / "main.cpp").write_text(text)
    command = [*find_compiler().command, "-std=c++20", "-pthread", str(folder / "main.cpp")]
    subprocess.run([*command, "-o", str(folder / "program"), *flags], check=True, timeout=120)
    return folder / "program"


def test_threads_start_and_processes_do_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [built(tmp_path, PROGRAM)], capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.defpath, "LD_PRELOAD": str(build_shim())},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        f"warploom: {call} fails: a checked program cannot start other programs"
        for call in ('system("mkdir out")', 'popen("hostname")')
    ]


@pytest.mark.skipif(shutil.which("mpicc") is None, reason="needs an MPI")
def test_mpi_starts_its_ranks_above_it(tmp_path: Path) -> None:
    text = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum == 1 && fork() == -1 ? 0 : 1;
}
"""
    mpi = find_mpi()
    flags = ["-DOMPI_SKIP_MPICXX", *mpi.compile_flags, *mpi.link_flags]
    program = built(tmp_path, text, *flags)
    (tmp_path / "include").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnccl.so.2").touch()
    headers = NcclHeaders("2.32.3", tmp_path / "include", "test")
    setup = Setup((), headers, mpi, 2, shared=False)
    build = HardwareBuild(program, BuildSpec(tmp_path / "main.cpp"), "sm_90", 0.0, False)
    done = run_hardware(build, setup, HardwareOptions())
    assert done.ok, done.output
