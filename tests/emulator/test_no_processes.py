"""A program can make no process, so that a fork bomb is an endless loop and no more."""

from pathlib import Path

from warploom.core.records import Severity, Verdict
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs.plan import Effort

MAKES = """
#include <cuda_runtime.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  return syscall(SYS_clone, 17, 0, 0, 0, 0) != -1;
}
"""
FAILS = """
#include <cuda_runtime.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <spawn.h>
int main() {
  cudaFree(nullptr);
  if (system(nullptr) != 0) return 1;
  for (int i = 0; i < 3; i++)
    if (system("mkdir -p out\\n") != -1 || errno != EAGAIN) return 2;
  if (popen("hostname", "r")) return 3;
  char name[] = "true";
  char* words[] = {name, nullptr};
  if (posix_spawnp(nullptr, name, nullptr, nullptr, words, nullptr) != EAGAIN) return 4;
  return fopen("out/sums.txt", "w") ? 0 : 5;
}
"""
BECOMES = """
#include <cuda_runtime.h>
#include <unistd.h>
int main() {
  cudaFree(nullptr);
  return execl("/bin/true", "true", (char*)nullptr);
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


def test_system_calls_by_number_are_refused_by_name_and_line(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, MAKES)
    assert report.verdict is Verdict.UNSUPPORTED, (report.findings, report.output)
    (refusal,) = (f.finding for f in report.findings if f.finding.kind == "unsupported")
    assert refusal.line == 7 and refusal.message.startswith("syscall is not emulated")


def test_fork_is_refused_by_name_and_line(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, FORKS)
    assert report.verdict is Verdict.UNSUPPORTED
    (refusal,) = (f.finding for f in report.findings if f.finding.kind == "unsupported")
    assert refusal.line == 6
    assert "start its ranks by MPI" in refusal.message


def test_becoming_another_program_is_refused_by_name_and_line(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, BECOMES)
    assert report.verdict is Verdict.UNSUPPORTED
    (refusal,) = (f.finding for f in report.findings if f.finding.kind == "unsupported")
    assert refusal.line == 6 and refusal.message.startswith("execl is not emulated: a program ")


def test_a_command_that_fails_is_told_once_a_place_before_what_comes_of_it(tmp_path: Path) -> None:
    report = check_quickly(tmp_path, FAILS)
    assert report.runs[0].exit_codes == (5,)
    found = [item.finding for item in report.findings]
    told = [(f.line, f.severity, f.message.split(" fails here")[0]) for f in found[:3]]
    assert told == [
        (11, Severity.WARNING, 'system("mkdir -p out?")'),
        (12, Severity.WARNING, 'popen("hostname")'),
        (15, Severity.WARNING, 'posix_spawnp("true")'),
    ]
    assert found[3].kind == "exit_code"
    assert [f.kind for f in found].count("process_refused") == 3
