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
