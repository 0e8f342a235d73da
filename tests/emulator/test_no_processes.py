"""A program can make no process, so that a fork bomb is an endless loop and no more."""

from pathlib import Path

from warploom.core.records import Verdict
from warploom.evaluate.check import check
from warploom.evaluate.plan import Effort

FORKS = """
#include <cuda_runtime.h>
#include <cerrno>
#include <cstdlib>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  errno = 0;
  if (fork() != -1 || errno != EAGAIN) return 1;
  return system("true") == 0 ? 2 : 0;
}
"""


def test_fork_and_system_fail(tmp_path: Path) -> None:
    program = tmp_path / "forks.cu"
    program.write_text(FORKS)
    report = check(program, ranks=1, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, (report.findings, report.output)
    assert report.runs[0].exit_codes == (0,)
