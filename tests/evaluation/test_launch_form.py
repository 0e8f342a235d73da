"""Whether a rank is a process is what was compiled, not what stands in the text."""

from pathlib import Path

import pytest

from warploom.evaluation.check import check
from warploom.evaluation.compare.reference import reference_for
from warploom.evaluation.runs.plan import Effort, ignore_progress
from warploom.workload.workload import load_target

_ONE_PROCESS = """
#include <cuda_runtime.h>
#include <nccl.h>
#include <cstdio>
#include <vector>
{head}
int main(int argc, char** argv) {{
  {start}
  int n = 0;
  cudaGetDeviceCount(&n);
  if ({ranks}) {{
    std::vector<ncclComm_t> comms(n);
    std::vector<float*> data(n);
    ncclCommInitAll(comms.data(), n, nullptr);
    for (int i = 0; i < n; i++) {{
      cudaSetDevice(i);
      cudaMalloc(&data[i], 256);
      cudaMemset(data[i], 0, 256);
    }}
    ncclGroupStart();
    for (int i = 0; i < n; i++) {{
      ncclAllReduce(data[i], data[i], 64, ncclFloat, ncclSum, comms[i], 0);
    }}
    ncclGroupEnd();
    std::vector<float> host(64);
    for (int i = 0; i < n; i++) {{
      cudaSetDevice(i);
      cudaMemcpy(host.data(), data[i], 256, cudaMemcpyDeviceToHost);
      ncclCommDestroy(comms[i]);
      cudaFree(data[i]);
    }}
  }}
  {end}
  std::puts("done");
}}
"""
_IN_A_BRANCH = {
    "head": "#ifdef USE_MPI\n#include <mpi.h>\n#endif",
    "start": "\n#ifdef USE_MPI\n  MPI_Init(&argc, &argv);\n#endif",
    "end": "\n#ifdef USE_MPI\n  MPI_Finalize();\n#endif",
    "ranks": "true",
}
_BY_VALUE = {
    "head": "#define WITH_MPI 0\n#if WITH_MPI > 0\n#include <mpi.h>\n#endif",
    "start": "\n#if WITH_MPI > 0\n  MPI_Init(&argc, &argv);\n#endif",
    "end": "\n#if WITH_MPI > 0\n  MPI_Finalize();\n#endif",
    "ranks": "true",
}
_BY_HEADER = {
    "head": '#include "settings.h"\n#if defined(DISTRIBUTED)\n#include <mpi.h>\n#endif',
    "start": "\n#if defined(DISTRIBUTED)\n  MPI_Init(&argc, &argv);\n#endif",
    "end": "\n#if defined(DISTRIBUTED)\n  MPI_Finalize();\n#endif",
    "ranks": "true",
}
_FILE_IN_A_BRANCH = {
    "head": """#ifdef BY_FILE
static void join() {
  ncclUniqueId id;
  ncclComm_t comm;
  FILE* f = fopen("id", "wb");
  fwrite(&id, sizeof id, 1, f);
  fclose(f);
  ncclCommInitRank(&comm, 2, id, 0);
}
#endif""",
    "start": "\n#ifdef BY_FILE\n  join();\n#endif",
    "end": "",
    "ranks": "true",
}


def written(folder: Path, parts: dict[str, str]) -> Path:
    (folder / "settings.h").write_text("#pragma once\n")
    program = folder / "form.cu"
    program.write_text(_ONE_PROCESS.format(**parts))
    return program


@pytest.mark.parametrize(
    "parts",
    [_IN_A_BRANCH, _BY_VALUE, _BY_HEADER, _FILE_IN_A_BRANCH],
    ids=["not defined", "by value", "by header", "file"],
)
def test_a_call_that_is_not_compiled_makes_no_process(
    tmp_path: Path, parts: dict[str, str]
) -> None:
    report = check(written(tmp_path, parts), ranks=2, effort=Effort.QUICK)
    assert report.processes == "single"
    assert report.exit_code == 0, report.findings
    assert [run.exit_codes for run in report.runs] == [(0,)]


def test_the_same_text_with_the_branch_is_a_process_per_rank(tmp_path: Path) -> None:
    program = written(tmp_path, {**_IN_A_BRANCH, "ranks": "false"})
    report = check(program, ranks=2, defines={"USE_MPI": ""}, effort=Effort.QUICK)
    assert report.processes == "per_rank"
    assert [run.exit_codes for run in report.runs] == [(0, 0)]


def test_a_call_that_a_macro_makes_is_seen(tmp_path: Path) -> None:
    parts = {
        "head": "#include <mpi.h>\n#define CAT(a, b) a##b\n#define CALL(name) CAT(MPI, name)",
        "start": "CALL(_Init)(&argc, &argv);",
        "end": "CALL(_Finalize)();",
        "ranks": "false",
    }
    report = check(written(tmp_path, parts), ranks=2, effort=Effort.QUICK)
    assert report.processes == "per_rank"


def test_an_evaluation_runs_the_trusted_program_as_it_was_compiled(tmp_path: Path) -> None:
    workload = load_target(written(tmp_path, _IN_A_BRANCH)).with_overrides(ranks=2)
    reference = reference_for(workload, [0], on_progress=ignore_progress)
    assert reference.facts.processes == "single"
    assert not reference.facts.uses_mpi
