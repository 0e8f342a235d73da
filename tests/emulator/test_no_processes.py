"""A program can make no process, so that a fork bomb is an endless loop and no more."""

from pathlib import Path

from warploom.core.records import Verdict
from warploom.evaluate.check import CheckReport, check
from warploom.evaluate.plan import Effort

MAKES = """
#include <cuda_runtime.h>
#include <cerrno>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  errno = 0;
  if (syscall(SYS_clone, 17, 0, 0, 0, 0) != -1 || errno != EAGAIN) return 1;
  return system("true") == 0 ? 2 : 0;
}
"""
FORKS = """
#include <cuda_runtime.h>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  int rank = fork() == 0;
  return cudaSetDevice(rank);
}
"""


def check_quickly(tmp_path: Path, text: str) -> CheckReport:
    program = tmp_path / "makes.cu"
    program.write_text(text)
    return check(program, ranks=1, effort=Effort.QUICK)


def test_system_calls_that_make_processes_fail(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, MAKES)
    assert report.verdict is Verdict.OK, (report.findings, report.output)
    assert report.runs[0].exit_codes == (0,)


def test_fork_is_refused_by_name_and_line(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, FORKS)
    assert report.verdict is Verdict.UNSUPPORTED
    (refusal,) = (f.finding for f in report.findings if f.finding.kind == "unsupported")
    assert refusal.line == 6
    assert "start its ranks by MPI" in refusal.message
