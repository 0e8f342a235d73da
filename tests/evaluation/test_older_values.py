"""Reads that may miss several stores, stores of other sizes or updates; fences of no help."""

from pathlib import Path

import pytest

from warploom.core.records import Severity, Verdict
from warploom.evaluation.check import check

PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

struct Box { int data, flag, ack, more; unsigned long long both, other; int rest[16]; };

__device__ void wait_for(volatile int* p, int value) {
  while (*p != value) {
  }
}

// --- the older value matters ---
__global__ void twice(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->data = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    __threadfence();
    *out = box->data;  // TWICE
  }
}
__global__ void fenced_late(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag = 1;
    __threadfence();
    box->rest[0] = box->data;
  } else {
    wait_for(&box->flag, 1);
    __threadfence();
    *out = box->data;  // FENCED_LATE
  }
}
__global__ void read_in_parts(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->both = 42ull << 32 | 7;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    *out = ((volatile int*)&box->both)[1];  // READ_IN_PARTS
  }
}
__global__ void read_as_one(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    ((volatile int*)&box->both)[0] = 7;
    ((volatile int*)&box->both)[1] = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    *out = int(box->both >> 32);  // READ_AS_ONE
  }
}
__global__ void read_a_byte(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    *out = *(volatile char*)&box->data;  // READ_A_BYTE
  }
}
__global__ void taken(Box* box, int* out) {
  if (blockIdx.x == 0) {
    atomicExch(&box->data, 42);
    atomicExch(&box->flag, 1);
  } else {
    while (atomicCAS(&box->flag, 1, 2) != 1) {
    }
    *out = atomicExch(&box->data, 0);  // TAKEN
  }
}
__global__ void sum_taken(Box* box, int* out) {
  if (blockIdx.x != 0) {
    atomicAdd(&box->data, 14);
    atomicAdd(&box->flag, 1);
  } else {
    wait_for((volatile int*)&box->flag, 3);
    *out = atomicAnd(&box->data, 0);  // SUM_TAKEN
  }
}
__global__ void another_thread(volatile Box* box, int* out) {
  volatile int* wants = box->rest;
  if (threadIdx.x == 0) wants[blockIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 40) box->rest[4 + blockIdx.x] = wants[1 - blockIdx.x];  // ANOTHER_THREAD
  __syncthreads();
  __threadfence();
  if (threadIdx.x != 40 || atomicAdd((int*)&box->ack, 1) == 0) return;
  __threadfence();
  *out = box->rest[4] + box->rest[5] > 0;
}

// --- it does not, or is not allowed ---
__global__ void twice_fenced(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 41;
    box->data = 42;
    __threadfence();
    box->flag = 1;
    __threadfence();
    box->rest[0] = box->data;
  } else {
    wait_for(&box->flag, 1);
    __threadfence();
    *out = box->data + ((volatile char*)&box->data)[0];
  }
}
__global__ void in_turn(volatile Box* box, int* out) {  // each word is read as it was last seen
  if (blockIdx.x == 0) {
    for (int i = 1; i <= 8; i++) box->both = (unsigned long long)i << 32 | i;
  } else {
    unsigned long long seen = 0;
    int whole = 1;
    while ((int)seen != 8) {
      unsigned long long next = box->both;
      whole &= (int)(next >> 32) == (int)next && next >= seen;
      seen = next;
    }
    *out = whole;
  }
}
__global__ void taken_in_portions(Box* box, int* out) {  // nothing that was added is lost
  if (blockIdx.x != 0) {
    for (int i = 0; i < 4; i++) {
      atomicAdd(&box->data, 3);
      atomicAdd(&box->more, 1);
    }
  } else {
    int sum = 0;
    while (sum != 36) sum += atomicExch(&box->data, 0);
    *out = sum;
  }
}
__global__ void taken_fenced(Box* box, int* out) {
  if (blockIdx.x != 0) {
    atomicAdd(&box->data, 14);
    __threadfence();
    atomicAdd(&box->flag, 1);
  } else {
    wait_for((volatile int*)&box->flag, 3);
    __threadfence();
    *out = atomicExch(&box->data, 0);
  }
}
__global__ void tickets(Box* box, int* out) {  // each gets its own
  const int mine = atomicAdd(&box->data, 1);
  atomicExch(&box->rest[mine], mine + 1);
  atomicAdd(&box->flag, 1);
  out[mine] = mine;
}
__global__ void another_thread_fenced(volatile Box* box, int* out) {
  volatile int* wants = box->rest;
  if (threadIdx.x == 0) wants[blockIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 40) {
    __threadfence();
    box->rest[4 + blockIdx.x] = wants[1 - blockIdx.x];
  }
  __syncthreads();
  __threadfence();
  if (threadIdx.x != 40 || atomicAdd((int*)&box->ack, 1) == 0) return;
  __threadfence();
  *out = box->rest[4] + box->rest[5] > 0;
}

int main(int argc, char** argv) {
  Box* box;
  int *out, back[64] = {};
  cudaMalloc(&box, sizeof(Box));
  cudaMalloc(&out, sizeof back);
  cudaMemset(box, 0, sizeof(Box));
  cudaMemset(out, 0, sizeof back);
  KERNEL<<<BLOCKS, 64>>>(box, out);
  cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; i++) std::printf("%d ", back[i]);
  std::printf("\\n");
  cudaFree(box);
  cudaFree(out);
}
"""
MATTERS = {
    "twice": 2, "fenced_late": 2, "read_in_parts": 2, "read_as_one": 2, "read_a_byte": 2,
    "taken": 2, "sum_taken": 4, "another_thread": 2,
}  # fmt: skip
HARMLESS = {
    "twice_fenced": 2, "in_turn": 2, "taken_in_portions": 4, "taken_fenced": 4, "tickets": 4,
    "another_thread_fenced": 2,
}  # fmt: skip
_WHOLE_BLOCKS = ("another_thread", "another_thread_fenced")


def program(folder: Path, kernel: str, blocks: int) -> Path:
    path = folder / f"{kernel}.cu"
    text = PROGRAM.replace("KERNEL", kernel).replace("BLOCKS", str(blocks))
    path.write_text(text if kernel in _WHOLE_BLOCKS else text.replace(", 64>>>", ", 1>>>"))
    return path


@pytest.mark.parametrize("kernel", MATTERS)
def test_a_program_that_depends_on_the_order_is_accused(kernel: str, tmp_path: Path) -> None:
    path = program(tmp_path, kernel, MATTERS[kernel])
    found = [
        item.finding
        for item in check(path, ranks=1).findings
        if item.finding.severity is Severity.ERROR
    ]
    lines = path.read_text().splitlines()
    marked = next(n for n, line in enumerate(lines, 1) if line.endswith(f"// {kernel.upper()}"))
    assert {(one.kind, one.line) for one in found} == {("stale_read", marked)}


@pytest.mark.parametrize("kernel", HARMLESS)
def test_a_program_that_can_do_with_the_older_value_is_not(kernel: str, tmp_path: Path) -> None:
    report = check(program(tmp_path, kernel, HARMLESS[kernel]), ranks=1)
    assert report.verdict is Verdict.OK
    assert not [one for one in report.findings if one.finding.severity is Severity.ERROR]
