"""A run is a function of its options: clocks and random bytes follow from the seed."""

import re

import pytest

from warploom.core.records import BuildSpec, RunSpec, Timing
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, build, run

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
static int rank;
static void say(const char* name, long value) { printf("@%d %s %ld\\n", rank, name, value); }
template <class Function> static long bytes(Function fill) {
  uint32_t value = 0;
  fill(&value, sizeof value);
  return value;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaFree(nullptr);
  time_t stored = 0;
  say("time", time(&stored));
  say("stored", stored);
  timespec now{};
  say("base", timespec_get(&now, TIME_UTC));
  say("timespec_get", now.tv_sec);
  tms used{};
  say("times", times(&used));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  say("getrusage", usage.ru_utime.tv_sec);
  struct sysinfo info{};
  sysinfo(&info);
  say("uptime", info.uptime);
  say("chrono", std::chrono::system_clock::now().time_since_epoch().count());
  say("random_device", std::random_device{}());
  say("getrandom", bytes([](void* p, size_t n) { return (void)!getrandom(p, n, 0); }));
  say("getentropy", bytes([](void* p, size_t n) { return (void)!getentropy(p, n); }));
#if __GLIBC_PREREQ(2, 36)
  say("arc4random", arc4random());
  say("arc4random_uniform", arc4random_uniform(1 << 30));
  say("arc4random_buf", bytes([](void* p, size_t n) { arc4random_buf(p, n); }));
#endif
  char many[300];
  if (getentropy(many, sizeof many) == 0 || getrandom(many, 8, 64) != -1) return 2;
  MPI_Finalize();
}
"""
RANDOM = re.compile("random|getentropy")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> EmulatorBuild:
    source = tmp_path_factory.mktemp("repeatable") / "program.cu"
    source.write_text(PROGRAM)
    return build(BuildSpec(source))


def said(program: EmulatorBuild, seed: int) -> list[dict[str, int]]:
    """What each of two ranks says, by name."""
    done: EmulatorRun = run(program, RunOptions(ranks=2, run=RunSpec(seed, Timing.RANDOM)))
    assert done.state == "finished", (done.findings, done.stderr)
    ranks: list[dict[str, int]] = [{}, {}]
    for rank, name, value in re.findall(r"^@(\d) (\w+) (-?\d+)$", done.stdout, re.MULTILINE):
        ranks[int(rank)][name] = int(value)
    return ranks


def test_equal_options_give_equal_times_and_numbers(program: EmulatorBuild) -> None:
    first = said(program, 7)
    assert said(program, 7) == first
    assert len(first[0]) >= 11
    assert first[0]["stored"] == first[0]["time"]


def test_another_seed_gives_others(program: EmulatorBuild) -> None:
    one, other = said(program, 7)[0], said(program, 8)[0]
    assert [name for name in one if one[name] == other[name]] == ["base"]


def test_processes_draw_numbers_of_their_own(program: EmulatorBuild) -> None:
    one, other = said(program, 7)
    drawn = [name for name in one if RANDOM.search(name)]
    assert len(drawn) >= 3
    assert [name for name in drawn if one[name] == other[name]] == []
    assert len({one[name] for name in drawn}) == len(drawn)
