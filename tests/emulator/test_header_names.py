"""Names that public programs take from CUDA's and NCCL's headers, with the headers' own values."""

from collections.abc import Callable
from pathlib import Path

import pytest

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

# What headers bring beside their own names, and the driver's errors.
OF_ONE_HEADER = {
    "nccl.h": "  assert(argc == 1);\n",
    "cuda_fp8.h": "  assert(argc == 1);\n",
    "cooperative_groups.h": "  assert(argc == 1);\n",
    "cub/cub.cuh": '  std::cout << "" << std::endl;\n',
    "thrust/device_ptr.h": """  std::cout << "" << std::endl;
  void (*copy)(thrust::device_ptr<float>, int) = [](thrust::device_ptr<float> p, int n) {
    thrust::copy(p, p + n, p + n);
    thrust::fill(p, p + n, 1.0f);
  };
  (void)copy;
""",
    "cuda.h": """  static_assert(CUDA_ERROR_PROFILER_DISABLED == 5);
  static_assert(CUDA_ERROR_INVALID_IMAGE == 200);
  static_assert(CUDA_ERROR_MAP_FAILED == 205 && CUDA_ERROR_LAUNCH_FAILED == 719);
  static_assert(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED == 102);
  static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16);
  static_assert(static_cast<int>(cudaErrorApiFailureBase) == 10000);
  const char* (*names[])() = {
      [] { const char* name; cuGetErrorName(CUDA_ERROR_MAP_FAILED, &name); return name; },
      [] { const char* text; cuGetErrorString(CUDA_ERROR_LAUNCH_FAILED, &text); return text; }};
  if (argc == 1 && names[1]()[0] != 'u') return 1;
  int reachable = 2;
  CUresult (*ask)(int*, CUdevice, CUdevice) = cuDeviceCanAccessPeer;
  if (argc > 1) return ask(&reachable, 0, 1);
""",
    "cuda_device_runtime_api.h": "  cudaError_t error = cudaSuccess;\n  if (error) return argc;\n",
}


@pytest.mark.parametrize("header", OF_ONE_HEADER)
def test_what_a_header_brings(
    header: str, tmp_path: Path, real_headers: Callable[..., None]
) -> None:
    text = f"#include <{header}>\nint main(int argc, char**) {{\n{OF_ONE_HEADER[header]}}}\n"
    (tmp_path / "one.cu").write_text(text)
    done = run(build(BuildSpec(tmp_path / "one.cu")), RunOptions(ranks=1))
    assert (done.state, done.findings, done.exit_codes) == ("finished", (), {0: 0})
    real_headers(tmp_path / "one.cu", "2.32.3")


def test_what_mpis_header_brings(tmp_path: Path) -> None:
    """Open MPI's, for its C++ part."""
    text = """#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::cout << "one line" << std::endl;
  MPI_Finalize();
}
"""
    (tmp_path / "one.cu").write_text(text)
    done = run(build(BuildSpec(tmp_path / "one.cu")), RunOptions(ranks=1))
    assert (done.state, done.stdout) == ("finished", "one line\n")


def test_peers_and_what_is_not_there_by_the_driver(tmp_path: Path) -> None:
    text = """#include <cuda.h>
#include <cstdio>
#include <cstring>
int main() {
  int reachable = -1, managed = -1;
  const char *name = nullptr, *words = nullptr;
  if (cuInit(0) || cuDeviceCanAccessPeer(&reachable, 0, 1)) return 1;
  if (cuDeviceCanAccessPeer(&reachable, 0, 99) != CUDA_ERROR_INVALID_DEVICE) return 2;
  if (cuDeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 0))
    return 3;
  if (cuGetErrorName(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, &name)) return 4;
  if (cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &words)) return 5;
  if (cuGetErrorName(static_cast<CUresult>(12345), &name) != CUDA_ERROR_INVALID_VALUE) return 6;
  std::printf("%d %d %s\\n", reachable, managed, words);
}
"""
    (tmp_path / "peers.cu").write_text(text)
    options = RunOptions(ranks=2, processes="single")
    done = run(build(BuildSpec(tmp_path / "peers.cu")), options)
    assert done.stdout == "1 0 an illegal memory access was encountered\n", done.findings


def test_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "names.cu").write_text(PROGRAM)
    done = run(build(BuildSpec(tmp_path / "names.cu")), RunOptions(ranks=1))
    assert done.state == "finished", done.findings
    assert done.stdout == "14 2 3.38953e+38 65504 1 10\n"


def test_nvcc_knows_them_too(tmp_path: Path, real_headers: Callable[..., None]) -> None:
    (tmp_path / "names.cu").write_text(PROGRAM)
    real_headers(tmp_path / "names.cu", "2.32.3")
