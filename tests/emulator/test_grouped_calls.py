"""Who must put the calls of several devices into one group, and who need not."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

_TEXT = """
#include <cuda_runtime.h>
#include <nccl.h>
#include <thread>
#include <vector>
int main() {{
  ncclComm_t comms[2];
  ncclCommInitAll(comms, 2, nullptr);
  float* data[2];
  for (int i = 0; i < 2; i++) {{
    cudaSetDevice(i);
    cudaMalloc(&data[i], 256);
    cudaMemset(data[i], 0, 256);
  }}
  const auto one = [&](int i) {{
    cudaSetDevice(i);
    ncclAllReduce(data[i], data[i], 64, ncclFloat, ncclSum, comms[i], 0);
  }};
  {calls}
  for (int i = 0; i < 2; i++) {{
    cudaSetDevice(i);
    cudaDeviceSynchronize();
    ncclCommDestroy(comms[i]);
    cudaFree(data[i]);
  }}
}}
"""
_LOOP = "for (int i = 0; i < 2; i++) one(i);"


def _kinds(folder: Path, calls: str) -> set[str]:
    program = folder / "calls.cu"
    program.write_text(_TEXT.format(calls=calls))
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=2, processes="single"))
    return {finding.kind for finding in outcome.findings}


@pytest.mark.parametrize(
    "calls",
    [
        f"ncclGroupStart(); {_LOOP} ncclGroupEnd();",
        "std::thread a(one, 0), b(one, 1); a.join(); b.join();",
        f"\n#pragma omp parallel for num_threads(2)\n{_LOOP}",
        f'_Pragma("omp parallel for") {_LOOP}',
    ],
    ids=["group", "threads", "openmp", "openmp in a macro"],
)
def test_one_group_or_a_thread_for_each_is_right(tmp_path: Path, calls: str) -> None:
    assert _kinds(tmp_path, calls) == set()


@pytest.mark.parametrize(
    "calls",
    [_LOOP, f"// no omp parallel here\n{_LOOP}", f"std::thread([&] {{ {_LOOP} }}).join();"],
    ids=["main", "comment", "one thread for all"],
)
def test_one_thread_in_turn_is_found(tmp_path: Path, calls: str) -> None:
    assert _kinds(tmp_path, calls) == {"group_required"}
