"""What CUDA copies from and to a host's heap must lie in its block."""

from functools import cache
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, RunSpec, Severity, Timing
from warploom.emulator import RunOptions, build, run

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdlib>
#include <vector>
constexpr auto kDefault = cudaMemcpyDefault;
int main(int argc, char** argv) {
  const int way = atoi(argv[1]);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  char* device;
  cudaMalloc(&device, 1 << 20);
  cudaMemset(device, 0, 1 << 20);
  char* small = static_cast<char*>(malloc(100));
  char* large = static_cast<char*>(malloc(300000));
  std::vector<float> values(1000);
  for (int i = 0; i < 100; i++) small[i] = 0;
  for (int i = 0; i < 300000; i++) large[i] = 0;
  switch (way) {
    case 0: cudaMemcpy(small, device, 200, cudaMemcpyDeviceToHost); break;  // TOO LONG 0
    case 1: cudaMemcpy(device, small, 200, cudaMemcpyHostToDevice); break;  // TOO LONG 1
    case 2: cudaMemcpyAsync(large, device, 600000, kDefault, stream); break;  // TOO LONG 2
    case 3: cudaMemcpy(small + 60, device, 100, cudaMemcpyDefault); break;  // TOO LONG 3
    case 4: cudaMemcpy(values.data(), device, 5000, cudaMemcpyDeviceToHost); break;  // TOO LONG 4
    case 5: cudaMemcpy2D(small, 64, device, 64, 32, 4, kDefault); break;  // TOO LONG 5
    case 6:
      cudaMemcpy(small, device, 100, cudaMemcpyDeviceToHost);
      cudaMemcpy(small + 60, device, 40, cudaMemcpyDeviceToHost);
      cudaMemcpyAsync(large, device, 300000, cudaMemcpyDeviceToHost, stream);
      cudaMemcpyAsync(large + 299999, device, 1, cudaMemcpyDeviceToHost, stream);
      cudaMemcpy(&values[500], device, 2000, cudaMemcpyDeviceToHost);
      cudaMemcpy2D(small, 64, device, 64, 32, 2, cudaMemcpyDeviceToHost);
      cudaMemcpy(device, values.data(), 4000, cudaMemcpyHostToDevice);
      break;
  }
  cudaStreamSynchronize(stream);
  free(small);
  free(large);
  cudaFree(device);
  cudaStreamDestroy(stream);
}
"""
FITS = 6


@cache
def written(folder: Path) -> Path:
    path = folder / "blocks.cu"
    path.write_text(PROGRAM)
    return path


def told(folder: Path, way: int) -> list[tuple[str, int | None]]:
    options = RunOptions(ranks=1, args=(str(way),), run=RunSpec(0, Timing.LAZY))
    done = run(build(BuildSpec(written(folder))), options)
    return [(f.kind, f.line) for f in done.findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize("way", range(FITS))
def test_a_copy_beyond_the_block_is_named(way: int, tmp_path_factory: pytest.TempPathFactory):
    lines = PROGRAM.splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith(f"// TOO LONG {way}"))
    found = told(tmp_path_factory.getbasetemp(), way)
    assert found
    assert set(found) == {("out_of_bounds", line)}


def test_copies_within_blocks_are_right(tmp_path_factory: pytest.TempPathFactory):
    assert told(tmp_path_factory.getbasetemp(), FITS) == []
