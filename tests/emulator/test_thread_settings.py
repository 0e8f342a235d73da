"""What a program sets of its threads, which are none of the system's, it reads again."""

from pathlib import Path

import pytest

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

_PROGRAM = """
#include <cuda_runtime.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
static int settings(const char* own) {
  char name[16];
  if (pthread_setname_np(pthread_self(), own)) return 1;
  if (pthread_setname_np(pthread_self(), "0123456789abcdef") != ERANGE) return 12;
  if (pthread_getname_np(pthread_self(), name, sizeof name) || std::strcmp(name, own)) return 2;
  cpu_set_t some, got;
  CPU_ZERO(&some);
  if (pthread_setaffinity_np(pthread_self(), sizeof some, &some) != EINVAL) return 3;
  if (pthread_getaffinity_np(pthread_self(), sizeof got, &got) || CPU_COUNT(&got) == 0) return 4;
  CPU_SET(1, &some);
  if (pthread_setaffinity_np(pthread_self(), sizeof some, &some)) return 5;
  if (pthread_getaffinity_np(pthread_self(), sizeof got, &got) || !CPU_EQUAL(&some, &got)) return 6;
  int policy = -1;
  sched_param with{};
  if (pthread_getschedparam(pthread_self(), &policy, &with) || policy != SCHED_OTHER) return 7;
  if (pthread_setschedparam(pthread_self(), policy, &with)) return 8;
  pthread_attr_t attributes;
  return pthread_getattr_np(pthread_self(), &attributes) ? 9 : 0;
}
static int words() {
  char text[] = ",a,,b c,", *rest;
  int sum = 0;
  for (char* word = strtok_r(text, ", ", &rest); word; word = strtok_r(nullptr, ", ", &rest)) {
    sum = 10 * sum + (word[0] - 'a' + 1);
  }
  return sum;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cudaSetDevice(0);
  int other = 0, one = settings("main");
  std::atomic<bool> goes_on{false};
  std::thread thread([&] {
    other = settings("other");
    while (!goes_on) sched_yield();
  });
  if (pthread_tryjoin_np(thread.native_handle(), nullptr) != EBUSY) one = 10;
  goes_on = true;
  thread.join();
  MPI_Finalize();
  if (words() != 123) one = 11;
  return one ? one : other;
}
"""


def test_settings_of_threads_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "settings.cu"
    path.write_text(_PROGRAM)
    report = check(path, ranks=2, effort=Effort.QUICK)
    assert report.verdict == Verdict.OK, report.findings
    assert not {f.finding.kind for f in report.findings} & {"unseen_call"}


@pytest.mark.parametrize(
    "call",
    [
        "pthread_cancel(pthread_self())",
        "pthread_timedjoin_np(pthread_self(), nullptr, nullptr)",
        "pthread_setschedprio(pthread_self(), 1)",
    ],
)
def test_what_would_need_threads_of_the_system_is_refused(call: str, tmp_path: Path) -> None:
    path = tmp_path / "refused.cu"
    head = "#include <cuda_runtime.h>\n#include <pthread.h>\nint main() {\n  cudaSetDevice(0);\n"
    path.write_text(f"{head}  {call};\n}}\n")
    report = check(path, ranks=1, effort=Effort.QUICK)
    assert [(f.finding.kind, f.finding.line) for f in report.findings][:1] == [("unsupported", 5)]
