"""A program touches its own memory only: no other process's, and nothing of the emulator."""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_HEAD = """
#include <cuda_runtime.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
char buffer[64];  // for all to see: what is stored there is not optimized away
static void* runtime() { return reinterpret_cast<void*>(&cudaGetDeviceCount); }
__global__ void touch(const int* from, int* out) { *out = *from; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> own(4096, 'x');
  char* theirs = own.data();
  char* pinned = nullptr;
  cudaMallocHost(&pinned, 64);
  MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&pinned, sizeof pinned, MPI_BYTE, 0, MPI_COMM_WORLD);
  int* device = nullptr;
  cudaMalloc(&device, 64);
  (void)theirs;
"""
_TAIL = """
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""

FOREIGN = [
    "buffer[0] = theirs[5];",
    "theirs[5] = 1;",
    "memcpy(buffer, theirs, 39 + argc);",
    "memcpy(theirs, buffer, 39 + argc);",
    'snprintf(buffer, 8, "%.4s", theirs);',
    "cudaMemcpy(device, theirs, 64, cudaMemcpyHostToDevice);",
    "cudaMemcpy(theirs, device, 64, cudaMemcpyDeviceToHost);",
    "MPI_Bcast(rank == 1 ? theirs : buffer, 8, MPI_BYTE, 1, MPI_COMM_WORLD);",
    "buffer[0] = pinned[3];",
    "touch<<<1, 1>>>((int*)pinned, device); cudaDeviceSynchronize();",
    "modf(1.5, (double*)theirs);",
    "fwrite(theirs, 1, 8, stderr);",
]
EMULATOR = [
    "buffer[0] = *(char*)runtime();",
    "memcpy(buffer, runtime(), 39 + argc);",
    "std::vector<char> all(66 << 20); memcpy(all.data(), &rank, all.size());",  # past a stack's end
    "cudaMemcpy(device, runtime(), 64, cudaMemcpyHostToDevice);",
    "MPI_Bcast(runtime(), 8, MPI_BYTE, 0, MPI_COMM_WORLD);",
    "touch<<<1, 1>>>((int*)runtime(), device); cudaDeviceSynchronize();",
    "write(5, buffer, 8);",
    "pread(4, buffer, 8, 0);",
    "dup2(1, 3);",
    'open("/proc/self/mem", O_RDWR);',
    'fopen("/proc/self/maps", "r");',
    'std::ifstream maps("/proc/thread-self/maps");',
    'symlink("/proc/self/fd/5", "/tmp/work/five"); open("/proc/self/fd/5", O_RDONLY);',
    "mprotect((void*)((uintptr_t)runtime() & ~4095ul), 4096, PROT_READ | PROT_WRITE);",
    "mmap((void*)((uintptr_t)runtime() & ~4095ul), 4096, 3, MAP_FIXED | 0x22, -1, 0);",
    "iovec one{buffer, 8}, other{runtime(), 8}; process_vm_readv(getpid(), &one, 1, &other, 1, 0);",
]
OWN = [
    "static int global = 1; global++; buffer[0] = (char)global;",
    "thread_local int local = 1; local++; buffer[0] = (char)local;",
    "int on_stack = 1; std::thread([&] { on_stack++; }).join(); buffer[0] = (char)on_stack;",
    "argv[0][0] = 'x'; buffer[0] = argv[0][0];",
    "buffer[0] = (char)isalpha(buffer[1]); errno = 3;",
    'std::cout << std::string(3000, 0x78) << 1.5 << std::endl; std::cerr << "x" << std::flush;',
    'std::ostringstream text; text << 3 << "x"; std::string s = text.str(); buffer[0] = s[0];',
    'fprintf(stderr, "%s %d %5.2f %n", "x", 3, 1.0, (int*)buffer); fflush(stdout);',
    'char* copy = strdup("abc"); copy[0] = 1; copy = (char*)realloc(copy, 100000); free(copy);',
    'char* line = nullptr; asprintf(&line, "%d", 3); buffer[0] = line[0]; free(line);',
    "void* m = mmap(nullptr, 8192, 3, 0x22, -1, 0); memset(m, 1, 8192); munmap(m, 8192);",
    'FILE* f = fopen("own.txt", "w+"); fputs("abc", f); rewind(f); fgets(buffer, 9, f); fclose(f);',
    'int d = open("/proc/cpuinfo", O_RDONLY); if (d >= 0) { read(d, buffer, 8); close(d); }',
    "int p[2]; pipe(p); write(p[1], buffer, 3); read(p[0], buffer, 3); close(p[0]); close(p[1]);",
    'setlocale(0, "C"); buffer[0] = std::use_facet<std::ctype<char>>({}).toupper(buffer[1]);',
    "std::ios_base::sync_with_stdio(false); std::cout << 1.0 / 3 << std::endl; std::clog << 2;",
    "std::ios::sync_with_stdio(false); std::cin.tie(nullptr); std::cerr << 5 << std::flush;",
    "const int place = std::ios_base::xalloc(); std::cout.pword(place + 30) = &buffer;"
    " buffer[0] = (char)std::cout.iword(place);",
    "for (int d = 3; d < 64; d++) close(d);",
    "try { throw std::string(100, 0x79); } catch (const std::string& s) { buffer[0] = s[3]; }",
    'buffer[0] = *cudaGetErrorString(cudaSuccess); buffer[1] = *getenv("PATH");',
]


def _report(folder: Path, statement: str, ranks: int):
    program = folder / "touches.cu"
    program.write_text(
        f"#include <cerrno>\n#include <clocale>\n{_HEAD}  {statement}  // HERE{_TAIL}"
    )
    report = check(program, ranks=ranks, effort=Effort.QUICK)
    lines = program.read_text().split("\n")
    here = next(n for n, line in enumerate(lines, 1) if line.endswith("// HERE"))
    return report, here


@pytest.mark.parametrize("statement", FOREIGN)
def test_memory_of_another_process_is_not_there(tmp_path: Path, statement: str) -> None:
    report, here = _report(tmp_path, statement, ranks=2)
    found = [f.finding for f in report.findings if f.finding.kind == "foreign_memory"]
    kernel = statement.startswith("touch")
    assert found and (kernel or found[0].line == here), report.findings
    assert found[0].rank == 1 or kernel


@pytest.mark.parametrize("statement", EMULATOR)
def test_nothing_of_the_emulator_is_in_reach(tmp_path: Path, statement: str) -> None:
    report, here = _report(tmp_path, statement, ranks=1)
    found = [f.finding for f in report.findings if f.finding.kind == "emulator_access"]
    assert found and (statement.startswith("touch") or found[0].line == here), report.findings


def test_a_programs_own_memory_is_its_own(tmp_path: Path) -> None:
    blocks = "\n".join("  { " + statement + " }" for statement in OWN)
    program = tmp_path / "own.cu"
    program.write_text(f"#include <cerrno>\n#include <clocale>\n{_HEAD}{blocks}{_TAIL}")
    report = check(program, ranks=2, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, [f.finding for f in report.findings]


def test_system_calls_by_number_are_refused(tmp_path: Path) -> None:
    report, _ = _report(tmp_path, "syscall(1, 5, buffer, 8);", ranks=1)
    assert report.verdict is Verdict.UNSUPPORTED
