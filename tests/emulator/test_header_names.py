"""Names that public programs take from CUDA's and NCCL's headers, with the headers' own values."""

from collections.abc import Callable
from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

PROGRAM = """
#include <builtin_types.h>
#include <common_functions.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <device_types.h>
#include <host_defines.h>
#include <nccl.h>
#include <nccl_device.h>
#include <sm_20_atomic_functions.h>
#include <sm_20_intrinsics.h>
#include <sm_32_atomic_functions.h>
#include <sm_32_intrinsics.h>
#include <sm_35_atomic_functions.h>
#include <sm_35_intrinsics.h>
#include <sm_60_atomic_functions.h>
#include <sm_61_intrinsics.h>
#include <cstdio>

static_assert(NCCL_GIN_MAX_CONNECTIONS == 4);

__global__ void numbers(float* out) {
  out[0] = __bfloat162float(CUDART_ONE_BF16) + __half2float(CUDART_ONE_FP16);
  out[1] = __bfloat162float(CUDART_MAX_NORMAL_BF16);
  out[2] = __half2float(CUDART_MAX_NORMAL_FP16);
  out[3] = __bfloat162float(CUDART_INF_BF16) == __half2float(CUDART_INF_FP16);
  out[4] = __dp4a(0x01020304, 0x01010101, 0);
}

int main() {
  cudaDataType_t type = CUDA_R_16BF;
  float* out;
  cudaMalloc(&out, 5 * sizeof(float));
  numbers<<<1, 1>>>(out);
  float got[5];
  cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost);
  std::printf("%d %g %g %g %g %g\\n", type, got[0], got[1], got[2], got[3], got[4]);
  return 0;
}
"""


def test_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "names.cu").write_text(PROGRAM)
    done = run(build(BuildSpec(tmp_path / "names.cu")), RunOptions(ranks=1))
    assert done.state == "finished", done.findings
    assert done.stdout == "14 2 3.38953e+38 65504 1 10\n"


def test_nvcc_knows_them_too(tmp_path: Path, real_headers: Callable[..., None]) -> None:
    (tmp_path / "names.cu").write_text(PROGRAM)
    real_headers(tmp_path / "names.cu", "2.32.3")
