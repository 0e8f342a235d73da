"""Makes a workload in Python and judges two candidates against its program: a right and a wrong."""

import tempfile
from pathlib import Path

import warploom
from warploom.workload.outputs import Output
from warploom.workload.run_shape import RunShape

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define COUNT 1000

// EVOLVE-BLOCK-START
__global__ void scale(float* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = data[i] * 2.0f + 1.0f;
}
// EVOLVE-BLOCK-END

int main(int argc, char** argv) {
  static float host[COUNT];
  srand(argc > 1 ? atoi(argv[1]) : 0);
  for (float& value : host) value = rand() % 1000 * 0.25f;
  float* data;
  cudaMalloc(&data, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  scale<<<(COUNT + 255) / 256, 256>>>(data, COUNT);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  printf("%f\\n", host[0]);
  cudaFree(data);
}
"""
RIGHT = PROGRAM.replace("data[i] * 2.0f + 1.0f", "fmaf(data[i], 2.0f, 1.0f)")
WRONG = PROGRAM.replace("if (i < count)", "if (i < count - 1)")


def main() -> None:
    """Judge both; the program's argument is each run's secret seed."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "scale.cu"
        program.write_text(PROGRAM)
        workload = warploom.Workload(
            name="scale",
            root=program.parent,
            program=program,
            shape=RunShape(ranks=1),
            args=("{seed}",),
            outputs=(Output.with_defaults("data", "float32"),),
        )
        for name, text in (("right", RIGHT), ("wrong", WRONG)):
            candidate = Path(folder) / f"{name}.cu"
            candidate.write_text(text)
            result = warploom.evaluate(candidate, workload, nvcc=False)
            print(f"{name}: {'passed' if result.passed else 'failed'}, seeds {result.seeds}")
            for item in result.findings:
                print(f"  {item.finding.kind}: {item.finding.message}")


if __name__ == "__main__":
    main()
