"""No machine code runs that was not built here, and calls that nothing looks into are named."""

import subprocess
from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.core.records import Severity, Verdict
from warploom.emulator.building.runtime_build import RUNTIME_DIR
from warploom.evaluation.check import CheckReport
from warploom.toolchain.compilers import find_compiler

_HEAD = """
#include <cuda_runtime.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <filesystem>
extern "C" size_t strlcpy(char*, const char*, size_t) noexcept;  // of glibc 2.38 and later
extern "C" size_t strlcat(char*, const char*, size_t) noexcept;
extern "C" int __open_2(const char*, int), __openat64_2(int, const char*, int);
extern "C" ssize_t __readlink_chk(const char*, char*, size_t, size_t) noexcept;
extern "C" char* __realpath_chk(const char*, char*, size_t) noexcept;
static char* runtime() { return reinterpret_cast<char*>(&cudaGetDeviceCount); }
static int by_value(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static int by_value_r(const void* a, const void* b, void*) { return by_value(a, b); }
int main(int argc, char** argv) {
  void* device = nullptr;
  cudaMalloc(&device, 64);
"""

_FILTERED = """
#include <dlfcn.h>
#include <sys/mman.h>
#include "machine/confine.h"
int main() {
  warploom::forbid_processes();
  auto* plain = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (plain == MAP_FAILED || mprotect(plain, 4096, PROT_READ)) return 1;
  if (!mprotect(plain, 4096, PROT_READ | PROT_EXEC)) return 2;
  if (mmap(nullptr, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) return 3;
  return dlopen("libutil.so.1", RTLD_NOW) || dlopen("libm.so.6", RTLD_NOW) ? 0 : 4;
}
"""


def checked(folder: Path, body: str, head: str = "") -> CheckReport:
    """Check a program with this in its main function."""
    return check_program(folder, f"{head}{_HEAD}{body}\n  return 0;\n}}\n")


@pytest.mark.parametrize(
    "call",
    [
        "mmap(nullptr, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
        "mprotect(mmap(nullptr, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 5);",
        "mprotect(aligned_alloc(4096, 4096), 4096, PROT_READ | PROT_EXEC);",
        'mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, memfd_create("a", 0), 0);',
        'FILE* o = fopen("mine.so", "w"); fputs("x", o); fclose(o); dlopen("./mine.so", RTLD_NOW);',
        'dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);',
    ],
)
def test_code_that_was_not_built_here_is_refused(tmp_path: Path, call: str) -> None:
    report = checked(tmp_path, f"  {call}")
    assert report.verdict is Verdict.UNSUPPORTED
    found = next(f.finding for f in report.findings if f.finding.kind == "unsupported")
    text = (tmp_path / "calls.cu").read_text().splitlines()
    assert found.line == text.index(f"  {call}") + 1


def test_the_system_refuses_it_too(tmp_path: Path) -> None:
    """What stands behind the calls of the C library: the filter of the run."""
    program = tmp_path / "filter.cpp"
    program.write_text(_FILTERED)
    made = tmp_path / "filter"
    sources = [str(program), str(RUNTIME_DIR / "machine/confine.cpp")]
    command = [
        find_compiler().command[0],
        "-std=c++20",
        f"-I{RUNTIME_DIR}",
        *sources,
        "-o",
        str(made),
    ]
    subprocess.run(command, check=True)
    assert subprocess.run([str(made)], check=False).returncode == 0


def test_libraries_of_the_system_may_be_asked_for_by_name(tmp_path: Path) -> None:
    body = """
  auto* map = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap64");
  if (!map || !dlsym(RTLD_DEFAULT, "sin") || !dlsym(dlopen("libm.so.6", RTLD_NOW), "cos")) return 3;
  if (dlopen("libnothing.so.1", RTLD_NOW)) return 4;
  map(nullptr, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"""
    report = checked(tmp_path, body)
    assert report.verdict is Verdict.UNSUPPORTED, [f.finding.message for f in report.findings]


def test_functions_by_name_are_those_that_are_looked_at(tmp_path: Path) -> None:
    body = """
  auto* copy = (void* (*)(void*, const void*, size_t))dlsym(RTLD_DEFAULT, "memcpy");
  copy(device, argv[0], 4);"""
    assert "host_dereference" in kinds_of(checked(tmp_path, body))


@pytest.mark.parametrize(
    "call",
    [
        "memccpy(device, argv[0], 300, 8);",
        'FILE* f = fmemopen(device, 8, "r+"); fputc(65, f);',
        "getrandom(device, 8, 0);",
        "getentropy(device, 8);",
        "qsort_r(device, 4, 4, by_value_r, nullptr);",
        "uname((utsname*)device);",
        "stat(argv[0], (struct stat*)device);",
        "wmemset((wchar_t*)device, 0, 4);",
        "rand_r((unsigned*)device);",
        'strlcpy((char*)device, "text", 3);',
        "time_t t = 0; localtime_r(&t, (tm*)device);",
        "pipe((int*)device);",
    ],
)
def test_what_calls_write_is_looked_at(tmp_path: Path, call: str) -> None:
    assert "host_dereference" in kinds_of(checked(tmp_path, f"  {call}"))


def test_what_no_list_knows_is_named_with_its_line(tmp_path: Path) -> None:
    body = """
  void* root = nullptr;
  static int key = 3;
  tsearch(&key, &root, by_value);
  char text[8] = {};
  argv[0] = (char*)getdate(text);"""
    report = checked(tmp_path, body)
    assert report.verdict is Verdict.OK
    named = [f.finding for f in report.findings if f.finding.kind == "unseen_call"]
    assert [f.severity for f in named] == [Severity.WARNING] * 2
    text = (tmp_path / "calls.cu").read_text().splitlines()
    for finding in named:
        name = finding.message.split("'")[1]
        assert f"{name}(" in text[(finding.line or 0) - 1]
    assert {f.message.split("'")[1] for f in named} == {"tsearch", "getdate"}


@pytest.mark.parametrize(
    "call",
    [
        'opendir("/proc/self/map_files");',
        'opendir("/proc/self/fd");',
        'opendir("/dev/fd");',
        'chdir("/proc/self"); opendir("task");',
        'dirent** all; scandir("/proc/self/task", &all, nullptr, nullptr);',
        'std::filesystem::directory_iterator all("/proc/self/map_files");',
        'glob_t all; glob("/proc/self/map_files/*", 0, nullptr, &all);',
        'fdopendir(open("/proc/self/fd", O_RDONLY | O_DIRECTORY));',
        'char to[99]; readlink("/proc/self/fd/0", to, 99);',
        '__open_2("/proc/self/map_files", O_RDONLY | O_DIRECTORY);',
        '__openat64_2(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY);',
        'char to[99]; __readlink_chk("/proc/self/fd/0", to, 99, 99);',
        'char to[4096]; __realpath_chk("/proc/self/map_files", to, 4096);',
    ],
)
def test_folders_of_proc_are_closed(tmp_path: Path, call: str) -> None:
    assert "emulator_access" in kinds_of(checked(tmp_path, f"  {call}"))


@pytest.mark.parametrize(
    "call",
    [
        'FILE* f = fopen("/dev/null", "w"); static long own[64]; memcpy(own, f, 216);'
        " fputc(65, (FILE*)own);",
        'FILE* f = fopen("/dev/null", "w"); f->_IO_write_base = runtime(); fputc(65, f);',
        'FILE* f = fopen("/dev/null", "w"); f->_IO_write_ptr = runtime(); fputc(65, f);',
        'FILE* f = fopen("/dev/null", "w"); fclose(f); fputc(65, f);',
        "static long own[64]; fseek((FILE*)own, 0, SEEK_SET);",
        "static long own[64]; readdir((DIR*)own);",
        'static long own[256]; dlsym(own, "x");',
    ],
)
def test_what_the_c_library_has_not_made_is_refused(tmp_path: Path, call: str) -> None:
    assert "emulator_access" in kinds_of(checked(tmp_path, f"  {call}"))


def test_honest_calls_stay_as_they_are(tmp_path: Path) -> None:
    body = """
  FILE* f = fopen("data.bin", "w+b");
  int numbers[64], back[64] = {};
  for (int i = 0; i < 64; i++) numbers[i] = 64 - i;
  if (!f || fwrite(numbers, 4, 64, f) != 64) return 1;
  rewind(f);
  if (fread(back, 4, 64, f) != 64 || fgetc(f) != EOF || !feof(f)) return 2;
  fseek(f, 0, SEEK_SET);
  int c = getc_unlocked(f);
  if (c != 64 || ungetc(c, f) != 64 || ftell(f) != 0 || ferror(f)) return 3;
  fclose(f);
  FILE* t = tmpfile();
  fprintf(t, "%d", 7);
  putc_unlocked('a', t);
  fflush(nullptr);
  fclose(t);
  char memory[32] = {};
  FILE* m = fmemopen(memory, sizeof memory, "w");
  fprintf(m, "text");
  fclose(m);
  if (strcmp(memory, "text")) return 4;
  { std::ofstream o("lines.txt"); o << "a\\nb\\n"; }
  std::ifstream in("lines.txt");
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) lines++;
  if (lines != 2) return 5;
  qsort_r(back, 64, 4, by_value_r, nullptr);
  if (back[0] != 1) return 6;
  DIR* d = opendir(".");
  bool seen = false;
  while (dirent* e = readdir(d)) seen = seen || !strcmp(e->d_name, "data.bin");
  closedir(d);
  for (auto& e : std::filesystem::directory_iterator(".")) seen = seen && e.exists();
  if (!seen) return 7;
  char self[256], whole[4096];
  ssize_t n = readlink("/proc/self/exe", self, 255);
  if (n <= 0 || !realpath("data.bin", whole) || !realpath(".", nullptr)) return 8;
  if (std::filesystem::canonical("data.bin").filename() != "data.bin") return 9;
  void* mapped = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(mapped, 4096, PROT_READ);
  if (msync(mapped, 4096, MS_ASYNC) || munmap(mapped, 8192)) return 10;
  pthread_mutex_t mutex;
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &how);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);
  struct stat about;
  if (stat("data.bin", &about) || about.st_size != 256 || remove("data.bin")) return 11;
  time_t now = time(nullptr);
  tm parts;
  localtime_r(&now, &parts);
  if (mktime(&parts) != now || std::isnan(nan("")) == 0) return 12;
  unsigned seed = 3;
  rand_r(&seed);
  uint64_t random;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return 13;
  auto* cosine = (double (*)(double))dlsym(dlopen("libm.so.6", RTLD_NOW), "cos");
  if (!cosine || cosine(0) != 1) return 14;
  if (dlopen("libcuda.so.1", RTLD_NOW) && false) return 15;
  glob_t found = {};  // nothing, or what a machine with a GPU has
  const int gpus = glob("/proc/driver/nvidia/gpus/*", 0, nullptr, &found);
  if (gpus != 0 && gpus != GLOB_NOMATCH) return 17;
  DIR* driver = opendir("/proc/driver/nvidia/gpus");
  if (gpus == 0 && !driver) return 18;
  if (driver) closedir(driver);
  char part[8];
  if (strlcpy(part, "lengthy", 5) != 7 || strcmp(part, "leng")) return 19;
  if (strlcat(part, "then", 8) != 8 || strcmp(part, "lengthe")) return 20;
  wchar_t wide[16];
  wcscpy(wide, L"wide");
  if (wcslen(wide) != 4 || access("lines.txt", R_OK)) return 16;"""
    report = checked(tmp_path, body)
    assert report.verdict is Verdict.OK, (report.output, [f.finding for f in report.findings])
    assert kinds_of(report) == set()
