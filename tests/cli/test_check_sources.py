"""`warploom check` of programs of several files, with arguments and data files beside them."""

import json
from pathlib import Path

import pytest

from warploom.cli import main

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
int scaled(int factor);
int main(int argc, char** argv) {
  std::FILE* data = std::fopen("data/number.txt", "r");
  int number = 0;
  if (!data || std::fscanf(data, "%d", &number) != 1) return 2;
  if (argc != 2 || scaled(std::atoi(argv[1])) != number) return 3;
  std::FILE* made = std::fopen("result.txt", "w");
  return made && std::fclose(made) == 0 ? 0 : 4;
}
"""
KERNEL = """\
\ufeff#include <cuda_runtime.h>
__global__ void scale(int* p, int factor) { *p = FACTOR * factor; }
int scaled(int factor) {
  int *p, result = 0;
  if (cudaMalloc(&p, sizeof *p) != cudaSuccess) return -1;
  scale<<<1, 1>>>(p, factor);
  cudaError_t error = cudaMemcpy(&result, p, sizeof *p, cudaMemcpyDeviceToHost);
  if (cudaFree(p) != cudaSuccess || error != cudaSuccess) return -1;
  return result;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "number.txt").write_text("42")
    (tmp_path / "kernel.cu").write_text(KERNEL)
    path = tmp_path / "main.cpp"
    path.write_text(PROGRAM)
    return path


def test_a_program_of_two_files_reads_what_lies_beside_it(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(program), str(program.with_name("kernel.cu"))]
    options = ["-D", "FACTOR=6", "--ranks", "1", "--effort", "quick", "--json"]
    assert main(["check", *files, *options, "--", "7"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "ok"
    assert report["args"] == ["7"]
    assert sorted(path.name for path in program.parent.iterdir()) == [
        *("data", "kernel.cu", "main.cpp"),
    ]
    assert main(["check", *files, *options, "--", "8"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["exit_codes"] == [3]


def test_a_program_that_only_asks_for_properties_is_a_cuda_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ask.cpp"
    path.write_text(
        "#include <cuda_runtime.h>\nint main() { cudaDeviceProp p; "
        "return cudaGetDeviceProperties(&p, 0) != cudaSuccess || p.maxTexture2D[1] < 1; }\n"
    )
    assert main(["check", str(path), "--ranks", "1", "--effort", "quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "ok"
    path.write_text("int main() { return 0; }\n")
    assert main(["check", str(path), "--json"]) == 2
    assert "neither" in json.loads(capsys.readouterr().out)["error"]["message"]


READS_INPUT = """\
#include <mpi.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <iostream>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, first = 0, second = 0, *p;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int got = std::scanf("%d", &first);
  MPI_Barrier(MPI_COMM_WORLD);  // another rank runs in between
  std::cin >> second;
  const bool all = rank == 0 ? first == 5 && second == 6 : got == EOF && std::cin.eof();
  if (cudaMalloc(&p, sizeof *p) != cudaSuccess || cudaFree(p) != cudaSuccess) return 2;
  MPI_Finalize();
  return all ? 0 : 3;
}
"""


def test_standard_input_is_rank_0s_alone_as_under_mpirun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "reads.cpp"
    program.write_text(READS_INPUT)
    given = tmp_path / "given.txt"
    given.write_text("5 6\n")
    options = ["--ranks", "3", "--effort", "quick", "--json"]
    assert main(["check", str(program), *options, "--stdin", str(given)]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "ok"
    (tmp_path / "workload.toml").write_text(
        'program = "reads.cpp"\nranks = 3\nstdin = "given.txt"\n'
    )
    assert main(["check", str(tmp_path), "--effort", "quick", "--json"]) == 0
    assert main(["check", str(program), *options]) == 1  # nothing there to read
    assert main(["check", str(program), "--stdin", str(tmp_path / "no.txt")]) == 2
    assert "no.txt" in capsys.readouterr().err


WRITES_BESIDE = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
int main() {
  char text[8] = {};
  std::FILE* made = std::fopen("results/new.txt", "w");
  if (!made || std::fclose(made) != 0) return 2;
  std::FILE* old = std::fopen("results/old.txt", "a");
  if (!old || std::fputs("2", old) < 0 || std::fclose(old) != 0) return 3;
  std::FILE* again = std::fopen("results/old.txt", "r");
  if (!again || !std::fgets(text, sizeof text, again) || std::strcmp(text, "12") != 0) return 4;
  std::FILE* output = std::fopen("output.txt", "w");
  if (!output || std::fputs("new", output) < 0 || std::fclose(output) != 0) return 5;
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 6;
}
"""


def test_a_program_may_write_over_what_lies_beside_it_and_changes_none_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "writes.cpp"
    program.write_text(WRITES_BESIDE)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "old.txt").write_text("1")
    (tmp_path / "output.txt").write_text("old")
    assert main(["check", str(program), "--ranks", "1", "--effort", "quick"]) == 0
    assert (tmp_path / "results" / "old.txt").read_text() == "1"
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["old.txt"]
    assert (tmp_path / "output.txt").read_text() == "old"


KERNEL_HEADER = """#include <cuda_runtime_api.h>
__global__ void twice(int* p);
struct Box { int* p; };
"""
PLAIN_C = """#include <stdlib.h>
#include "kernels.h"
int launch(int* p);
int main(void) {
  struct Box* box = malloc(sizeof *box);
  int value = 21;
  if (cudaMalloc((void**)&box->p, sizeof value) != cudaSuccess) return 2;
  if (cudaMemcpy(box->p, &value, sizeof value, cudaMemcpyHostToDevice) != cudaSuccess) return 3;
  if (launch(box->p) != 0) return 4;
  if (cudaMemcpy(&value, box->p, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess) return 5;
  if (cudaFree(box->p) != cudaSuccess) return 6;
  free(box);
  return value == 42 ? 0 : 7;
}
"""
C_KERNEL = """#include "kernels.h"
__global__ void twice(int* p) { *p *= 2; }
extern "C" int launch(int* p) {
  twice<<<1, 1>>>(p);
  return cudaGetLastError() != cudaSuccess;
}
"""


def test_c_may_include_a_header_that_declares_kernels(tmp_path: Path) -> None:
    (tmp_path / "kernels.h").write_text(KERNEL_HEADER)
    (tmp_path / "main.c").write_text(PLAIN_C)
    (tmp_path / "kernel.cu").write_text(C_KERNEL)
    files = [str(tmp_path / "main.c"), str(tmp_path / "kernel.cu")]
    assert main(["check", *files, "--ranks", "1", "--effort", "quick"]) == 0
