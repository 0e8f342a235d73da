"""Orders that nobody promises: news that others pass on, writes that overtake, flags in shared
memory, updates of all kinds, kernels that do not wait for the one ahead of them."""

from pathlib import Path

import pytest

from warploom.core.records import Severity, Verdict
from warploom.evaluation.check import check

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>

struct Box { int data, flag[4], more, count; };

__device__ void wait_for(volatile int* p, int value) {
  while (*p != value) {
  }
}

// --- the order matters ---
__global__ void passed_on(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    __threadfence();
    box->flag[0] = 1;
  } else if (blockIdx.x == 1) {
    wait_for(&box->flag[0], 1);
    box->flag[1] = 1;
  } else {
    wait_for(&box->flag[1], 1);
    __threadfence();
    *out = box->data;  // PASSED_ON
  }
}
__global__ void passed_on_twice(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    __threadfence();
    box->flag[0] = 1;
  } else if (blockIdx.x < 3) {
    wait_for(&box->flag[blockIdx.x - 1], 1);
    box->flag[blockIdx.x] = 1;
  } else {
    wait_for(&box->flag[2], 1);
    __threadfence();
    *out = box->data;  // PASSED_ON_TWICE
  }
}
__global__ void overtaken(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 7;
    box->flag[0] = 1;
  } else {
    wait_for(&box->flag[0], 1);
    box->data = 42;  // OVERTAKEN
  }
}
__global__ void reset_late(Box* box, int* out) {
  if (blockIdx.x == 0) {
    *(volatile int*)&box->data = 1;
    *(volatile int*)&box->flag[0] = 1;
  } else {
    wait_for((volatile int*)&box->flag[0], 1);
    atomicAdd(&box->data, 41);  // RESET_LATE
  }
}
__global__ void flag_in_shared(volatile Box* box, int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    box->data = 42;
    flag = 1;
  }
  if (threadIdx.x == 32) {
    wait_for(&flag, 1);
    *out = box->data;  // FLAG_IN_SHARED
  }
}
__global__ void cast_away(Box* box, int* out) {
  if (blockIdx.x == 0) {
    (void)atomicAdd(&box->data, 42);
    atomicExch(&box->flag[0], 1);
  } else {
    wait_for((volatile int*)&box->flag[0], 1);
    *out = atomicExch(&box->data, 0);  // CAST_AWAY
  }
}
__global__ void in_assembly(Box* box, int* out) {
  if (blockIdx.x == 0) {
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(&box->data), "r"(42) : "memory");
    atomicExch(&box->flag[0], 1);
  } else {
    wait_for((volatile int*)&box->flag[0], 1);
    *out = atomicExch(&box->data, 0);  // IN_ASSEMBLY
  }
}
__global__ void largest(Box* box, int* out) {
  if (blockIdx.x == 0) {
    atomicMax(&box->data, 42);
    atomicExch(&box->flag[0], 1);
  } else {
    wait_for((volatile int*)&box->flag[0], 1);
    *out = atomicExch(&box->data, 0);  // LARGEST
  }
}
__global__ void bits(Box* box, int* out) {
  if (blockIdx.x == 0) {
    atomicOr(&box->data, 42);
    atomicExch(&box->flag[0], 1);
  } else {
    wait_for((volatile int*)&box->flag[0], 1);
    *out = atomicExch(&box->data, 0);  // BITS
  }
}
__global__ void looked_often(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag[0] = 1;
  } else {
    wait_for(&box->flag[0], 1);
    for (int i = 0; i < 6; i++) *out = box->data;  // LOOKED_OFTEN
  }
}
__global__ void stored_often(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 6; i++) box->data = 42;
    box->flag[0] = 1;
  } else {
    wait_for(&box->flag[0], 1);
    *out = box->data;  // STORED_OFTEN
  }
}

// --- it does not, or there are fences ---
__global__ void passed_on_fenced(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    __threadfence();
    box->flag[0] = 1;
  } else if (blockIdx.x < 3) {
    wait_for(&box->flag[blockIdx.x - 1], 1);
    __threadfence();
    box->flag[blockIdx.x] = 1;
  } else {
    wait_for(&box->flag[2], 1);
    __threadfence();
    *out = box->data;
  }
}
__global__ void passed_on_by_counts(volatile Box* box, int* out) {  // updates go on with a release
  if (blockIdx.x == 0) {
    box->data = 42;
    __threadfence();
    atomicAdd((int*)&box->count, 1);
  } else if (blockIdx.x < 3) {
    wait_for(&box->count, blockIdx.x);
    atomicAdd((int*)&box->count, 1);
  } else {
    wait_for(&box->count, 3);
    __threadfence();
    *out = box->data;
  }
}
__global__ void overtaken_fenced(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 7;
    __threadfence();
    box->flag[0] = 1;
  } else {
    wait_for(&box->flag[0], 1);
    __threadfence();
    box->data = 42;
  }
}
__global__ void seen_before(volatile Box* box, int* out) {  // who has read it stores behind it
  if (blockIdx.x == 0) {
    box->data = 7;
    box->flag[0] = 1;
  } else {
    wait_for(&box->data, 7);
    wait_for(&box->flag[0], 1);
    box->data = 42;
  }
}
__global__ void flag_in_shared_fenced(volatile Box* box, int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    box->data = 42;
    __threadfence_block();
    flag = 1;
  }
  if (threadIdx.x == 32) {
    wait_for(&flag, 1);
    __threadfence_block();
    *out = box->data;
  }
}
__global__ void bits_fenced(Box* box, int* out) {
  if (blockIdx.x != 0) {
    atomicOr(&box->data, 1 << blockIdx.x);
    atomicMax(&box->more, (int)blockIdx.x);
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(&box->flag[1]), "r"(42) : "memory");
    __threadfence();
    atomicAdd(&box->flag[0], 1);
  } else {
    wait_for((volatile int*)&box->flag[0], 3);
    __threadfence();
    *out = atomicExch(&box->data, 0) + atomicExch(&box->more, 0) + atomicExch(&box->flag[1], 0);
  }
}

int main() {
  Box* box;
  int *out, got = 0, data = 0;
  cudaMalloc(&box, sizeof(Box));
  cudaMalloc(&out, sizeof got);
  cudaMemset(box, 0, sizeof(Box));
  cudaMemset(out, 0, sizeof got);
  KERNEL<<<SHAPE>>>(box, out);
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  cudaMemcpy(&data, &box->data, sizeof data, cudaMemcpyDeviceToHost);
  std::printf("%d %d\\n", got, data);
  cudaFree(box);
  cudaFree(out);
}
"""
DEPENDENT = """\
#include <cuda_runtime.h>
#include <cstdio>
__device__ volatile int data;
__global__ void first() {
  data = 42;
  __threadfence();
  cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void second(int* out) {
  BEFORE
  *out = data;  // READ
  AFTER
}
int main() {
  cudaStream_t stream;
  int *out, got = 0;
  cudaStreamCreate(&stream);
  cudaMalloc(&out, sizeof got);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  first<<<1, 1, 0, stream>>>();
  cudaLaunchKernelEx(&config, second, out);
  cudaMemcpyAsync(&got, out, sizeof got, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("%d\\n", got);
  cudaFree(out);
  cudaStreamDestroy(stream);
}
"""
WAIT = "cudaGridDependencySynchronize();"
MATTERS = {
    "passed_on": 3, "passed_on_twice": 4, "overtaken": 2, "reset_late": 2, "flag_in_shared": 0,
    "cast_away": 2, "in_assembly": 2, "largest": 2, "bits": 2, "looked_often": 2,
    "stored_often": 2,
}  # fmt: skip
HARMLESS = {
    "passed_on_fenced": 4, "passed_on_by_counts": 4, "overtaken_fenced": 2, "seen_before": 2,
    "flag_in_shared_fenced": 0, "bits_fenced": 4,
}  # fmt: skip
"""By kernel: how many blocks of one thread, or 0 for one block of 64."""


def program(folder: Path, kernel: str, blocks: int) -> Path:
    path = folder / f"{kernel}.cu"
    shape = f"{blocks}, 1" if blocks else "1, 64"
    path.write_text(PROGRAM.replace("KERNEL", kernel).replace("SHAPE", shape))
    return path


def errors(path: Path) -> set[tuple[str, int | None]]:
    report = check(path, ranks=1)
    found = [one.finding for one in report.findings if one.finding.severity is Severity.ERROR]
    assert found or report.verdict is Verdict.OK
    return {(one.kind, one.line) for one in found}


def line_of(path: Path, mark: str) -> int:
    lines = path.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"// {mark}"))


@pytest.mark.parametrize("kernel", MATTERS)
def test_a_program_that_counts_on_the_order_is_accused(kernel: str, tmp_path: Path) -> None:
    path = program(tmp_path, kernel, MATTERS[kernel])
    assert errors(path) == {("stale_read", line_of(path, kernel.upper()))}


@pytest.mark.parametrize("kernel", HARMLESS)
def test_a_program_with_fences_is_right(kernel: str, tmp_path: Path) -> None:
    assert not errors(program(tmp_path, kernel, HARMLESS[kernel]))


@pytest.mark.parametrize(("before", "after"), [("", ""), ("", WAIT)], ids=["never", "later"])
def test_a_kernel_that_does_not_wait_for_the_one_ahead_is_accused(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "dependent.cu"
    path.write_text(DEPENDENT.replace("BEFORE", before).replace("AFTER", after))
    assert errors(path) == {("stale_read", line_of(path, "READ"))}


def test_a_kernel_that_waits_is_right(tmp_path: Path) -> None:
    path = tmp_path / "dependent.cu"
    path.write_text(DEPENDENT.replace("BEFORE", WAIT).replace("AFTER", ""))
    assert not errors(path)
