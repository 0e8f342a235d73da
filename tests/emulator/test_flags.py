"""What decides how a run is judged lies in a page that is closed while a program runs."""

import subprocess
from pathlib import Path

from warploom.emulator.building.runtime_build import RUNTIME_DIR
from warploom.toolchain.compilers import find_compiler

PROGRAM = """
#include <sys/wait.h>
#include <unistd.h>
#include "RUNTIME/base/flags.cpp"
using namespace warploom;
namespace warploom {
Machine g_machine;
}
// Does a write, as of a library that is led astray, end the process?
template <class T>
static bool is_closed(const T& place) {
  if (fork() == 0) {
    *(volatile T*)&place = T{};
    _exit(0);
  }
  int status = 0;
  wait(&status);
  return WIFSIGNALED(status);
}
int main() {
  change_flag(g_watching, true);
  close_flags();
  change_flag(g_carrying, true);
  if (!g_watching || !g_carrying || g_timed) return 1;
  count_finding();
  if (g_flags.findings != 1) return 2;
  return is_closed(g_watching) && is_closed(g_flags.findings) &&
                 is_closed(g_machine.sm_count) && is_closed(g_machine.mpi_gbs)
             ? 0
             : 3;
}
"""


def test_a_flag_changes_by_its_call_alone(tmp_path: Path) -> None:
    program, made = tmp_path / "flags.cpp", tmp_path / "flags"
    program.write_text(PROGRAM.replace("RUNTIME", str(RUNTIME_DIR)))
    options = ["-std=c++20", "-O2"]
    subprocess.run(
        [*find_compiler().command, *options, f"-I{RUNTIME_DIR}", program, "-o", made], check=True
    )
    assert subprocess.run([made], check=False).returncode == 0
