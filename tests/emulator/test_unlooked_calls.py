"""What calls write or follow where the program points is looked at, whoever defines the call."""

from pathlib import Path

import pytest
from host_program import check_program, kinds_of

from warploom.core.records import Verdict
from warploom.evaluation.check import CheckReport

_HEAD = """
#include <cuda_runtime.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>
__global__ void fill(int* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
static void* give(void* value) { return value; }
static void nothing() {}
static void* folder(const char*) { return nullptr; }
static char own[4096] __attribute__((aligned(16)));
int main() {
  char* h;
  cudaMallocHost((void**)&h, 4096);
  memset(h, 0, 4096);
  cudaStream_t s;
  cudaStreamCreate(&s);
  char* judge = (char*)s;
  pthread_t t;
"""
_LAUNCH = "  fill<<<4, 256, 0, s>>>((int*)h); if (cudaGetLastError()) return 1;\n"

_HONEST = """
  jmp_buf before;
  volatile int times = 0;
  if (setjmp(before) == 0) times = times + 1;
  std::once_flag flag;
  std::mutex mutex;
  std::condition_variable condition;
  bool go = false;
  int calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      std::call_once(flag, [&] { calls++; });
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return go; });
      calls++;
    });
  }
  { std::lock_guard lock(mutex); go = true; }
  condition.notify_all();
  for (auto& thread : threads) thread.join();
  if (calls != 5 || times != 1) return 2;
  // Memory that devices can use: each object is used by two threads, one after the other.
  auto* once = new (h) pthread_once_t(PTHREAD_ONCE_INIT);
  auto* shared = new (h + 64) pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
  auto use = [=] {
    pthread_once(once, nothing);
    pthread_mutex_lock(shared);
    sched_yield();
    pthread_mutex_unlock(shared);
  };
  std::thread one(use), other(use);
  one.join();
  other.join();
  int ends[2], there = 0;
  if (pipe(ends) || write(ends[1], "abc", 3) != 3) return 3;
  if (ioctl(ends[0], FIONREAD, &there) || there != 3) return 4;
  if (fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK)) return 5;
  struct flock area{};
  area.l_type = F_WRLCK;
  FILE* file = fopen("lines.txt", "w+");
  if (!file || fcntl(fileno(file), F_GETLK, &area)) return 6;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  timeval now{};
  if (select(ends[0] + 1, &set, nullptr, nullptr, &now) != 1) return 7;
  fputs("rank 0\\nrank 1\\n", file);
  rewind(file);
  char* line = nullptr;
  size_t room = 0;
  int lines = 0;
  while (getline(&line, &room, file) > 0) lines++;
  free(line);
  fclose(file);
  glob_t found{};
  if (lines != 2 || glob("lines.txt", 0, nullptr, &found)) return 8;
  if (glob("lines.*", GLOB_APPEND, nullptr, &found) || found.gl_pathc != 2) return 9;
  globfree(&found);
  void* block = reallocarray(reallocarray(nullptr, 10, 10), 100, 10);
  if (!block || posix_memalign(&block, 64, 64)) return 10;
  free(block);
  char text[64], host[99];
  FILE* memory = fmemopen(text, sizeof text, "w+");
  fprintf(memory, "%d", 5);
  fflush(nullptr);
  fclose(memory);
  if (text[0] != '5' || gethostname(host, sizeof host)) return 11;
"""


def checked(folder: Path, body: str) -> CheckReport:
    """Check a program with this in its main function."""
    return check_program(folder, f"{_HEAD}{body}\n  cudaDeviceSynchronize();\n  return 0;\n}}\n")


@pytest.mark.parametrize(
    "call",
    [
        "void* got; pthread_join((pthread_t)judge, &got);",
        "pthread_tryjoin_np((pthread_t)judge, nullptr);",
        "pthread_create(&t, nullptr, give, h); pthread_join(t, (void**)(judge + 24));",
        "pthread_create((pthread_t*)(judge + 24), nullptr, give, h);",
        "pthread_once((pthread_once_t*)(judge + 24), nothing);",
        "pthread_mutex_lock((pthread_mutex_t*)judge);",
        "posix_memalign((void**)judge, 64, 64);",
        "gethostname(judge, 64);",
        "setjmp(*(jmp_buf*)judge);",
        "int p[2]; if (pipe(p)) return 2; ioctl(p[0], FIONREAD, judge + 24);",
    ],
)
def test_calls_do_not_reach_into_the_judge(call: str, tmp_path: Path) -> None:
    assert "emulator_access" in kinds_of(checked(tmp_path, f"  {call}"))


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("pthread_create(&t, nullptr, give, s);", "pthread_join(t, (void**)h);"),
        ("", "pthread_create((pthread_t*)h, nullptr, give, s);"),
        ("", "if (setjmp(*(jmp_buf*)h)) return 2;"),
        ("int f = open(\"x\", O_CREAT | O_RDWR, 0600);", "fcntl(f, F_GETOWN_EX, h);"),
        (
            'int f = open("x", O_CREAT | O_RDWR, 0600), g = open("y", O_CREAT | O_RDWR, 0600);',
            "sendfile(g, f, (off_t*)h, 40);",
        ),
        (
            "int p[2]; if (pipe(p)) return 2; int high = fcntl(p[0], F_DUPFD, 3000);"
            " timeval now{};",
            "select(high + 1, (fd_set*)(h + 4096 - 256), nullptr, nullptr, &now);",
        ),
        ('FILE* f = fmemopen(h, 4096, "w+");', 'fputs("text", f); fflush(f);'),
    ],
)  # fmt: skip
def test_calls_race_with_kernels(before: str, call: str, tmp_path: Path) -> None:
    report = checked(tmp_path, f"  {before}\n{_LAUNCH}  {call}")
    assert kinds_of(report) & {"data_race", "readback_before_sync", "out_of_bounds"}


@pytest.mark.parametrize(
    "call",
    [
        "glob_t g{}; g.gl_opendir = folder; glob(\"/tmp/*\", GLOB_ALTDIRFUNC, nullptr, &g);",
        "ioctl(0, 0xabcdef, h);",
        "fcntl(0, 4711, h);",
    ],
)  # fmt: skip
def test_what_nobody_knows_of_is_refused_by_name(call: str, tmp_path: Path) -> None:
    report = checked(tmp_path, f"  {call}")
    assert report.verdict is Verdict.UNSUPPORTED
    assert "unsupported" in kinds_of(report)


@pytest.mark.parametrize(
    "call",
    [
        "char* p = (char*)realloc(h + 16, 400); own[0] = p != nullptr;",
        'char* p = own + 16; asm("" : "+r"(p)); free(p);',
        'char* p = judge; asm("" : "+r"(p)); free(p);',
        "size_t n = 1; char* p = h + 16; FILE* f = tmpfile(); fputs(\"text\", f); rewind(f);"
        " getline(&p, &n, f);",
    ],
)  # fmt: skip
def test_only_blocks_of_the_heap_are_freed(call: str, tmp_path: Path) -> None:
    body = f"  *(unsigned long*)(h + 8) = *(unsigned long*)(own + 8) = 0x91; {call}"
    assert "invalid_free" in kinds_of(checked(tmp_path, body))


def test_honest_calls_stay_as_they_are(tmp_path: Path) -> None:
    report = checked(tmp_path, _HONEST)
    assert report.verdict is Verdict.OK, (report.output, [f.finding for f in report.findings])
    assert kinds_of(report) == set()
