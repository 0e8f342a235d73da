"""Reads that a GPU may answer with an older value: which of them matter."""

import re
from pathlib import Path

import pytest

from warploom.core.records import Severity, Timing, Verdict
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.runs.plan import Effort, parse_replay

PROGRAM = """\
#include <cuda/atomic>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

struct Box { int data, flag, more, ack; unsigned long long both; int rest[56]; };
using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
constexpr auto kRelaxed = cuda::memory_order_relaxed;

__device__ void wait_for(volatile int* p, int value) {
  while (*p != value) {
  }
}

// --- the older value matters ---
__global__ void hand_over(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    *out = box->data;  // HAND_OVER
  }
}
__global__ void by_a_block(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->rest[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) box->flag = 1;
  } else {
    if (threadIdx.x == 0) wait_for(&box->flag, 1);
    __syncthreads();
    out[threadIdx.x] = box->rest[threadIdx.x];  // BY_A_BLOCK
  }
}
__global__ void arrivals(volatile Box* box, int* out) {
  box->rest[blockIdx.x] = blockIdx.x + 1;
  if (atomicAdd((int*)&box->ack, 1) != gridDim.x - 1) return;
  __threadfence();
  int sum = 0;
  for (int i = 0; i < gridDim.x; i++) sum += box->rest[i];  // ARRIVALS
  *out = sum;
}
__global__ void hang(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->more = 5;
    box->flag = 1;
    wait_for(&box->ack, 5);
  } else {
    wait_for(&box->flag, 1);
    box->ack = box->more;  // HANG
    *out = 1;
  }
}
__global__ void ptx(Box* box, int* out) {
  if (blockIdx.x == 0) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(&box->data), "r"(42) : "memory");
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(&box->flag), "r"(1) : "memory");
  } else {
    int seen = 0, got;
    while (!seen) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(&box->flag) : "memory");
    }
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(got) : "l"(&box->data));  // PTX
    *out = got;
  }
}
__device__ volatile int g_data, g_flag;
__global__ void variables(int* out) {
  if (blockIdx.x == 0) {
    g_data = 42;
    g_flag = 1;
  } else {
    wait_for(&g_flag, 1);
    *out = g_data;  // VARIABLES
  }
}

// --- it does not, or is not allowed ---
__global__ void fenced(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    __threadfence();
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    __threadfence();
    *out = box->data;
  }
}
__global__ void unused(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    *out = box->data >= 0 ? 7 : 8;
  }
}
__global__ void looks_again(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->data = 42;
    box->flag = 1;
  } else {
    wait_for(&box->flag, 1);
    wait_for(&box->data, 42);
    *out = box->data;
  }
}
__global__ void in_one_word(volatile Box* box, int* out) {
  if (blockIdx.x == 0) {
    box->both = 42ull << 32 | 1;
  } else {
    unsigned long long seen = 0;
    while ((seen & 1) == 0) seen = box->both;
    *out = int(seen >> 32);
  }
}
__global__ void in_one_vector(Box* box, int* out) {
  int* line = box->rest;
  if (blockIdx.x == 0) {
    asm volatile("st.volatile.global.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(line + 8), "r"(41),
                 "r"(1), "r"(1), "r"(1) : "memory");
  } else {
    int low, first, high, second;
    do {
      asm volatile("ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(low), "=r"(first), "=r"(high), "=r"(second) : "l"(line + 8) : "memory");
    } while (first != 1 || second != 1);
    *out = low + high;
  }
}
__global__ void hint(Box* box, int* out) {  // a guess that a compare-and-swap checks
  Ref data(box->data), flag(box->flag);
  for (int i = 0; i < 4; i++) {
    int old = data.load(kRelaxed);
    while (!data.compare_exchange_weak(old, old + 1, kRelaxed)) {
    }
    flag.fetch_add(1, kRelaxed);
  }
  if (flag.load(kRelaxed) == 4 * gridDim.x) *out = data.fetch_add(0, kRelaxed);
}
__global__ void statistics(Box* box, int* out) {  // what is printed depends on the schedule
  if (blockIdx.x < 4) {
    for (int i = 0; i < 8; i++) {
      atomicAdd(&box->data, 1);
      atomicAdd(&box->more, 1);
    }
    atomicAdd(&box->flag, 1);
    return;
  }
  volatile Box* seen = box;
  for (int i = 0; i < 6; i++) out[i] = seen->more + 100 * seen->data;
  wait_for(&seen->flag, 4);
}
__global__ void peterson(volatile Box* box, int* out) {
  volatile int* wants = box->rest;
  const int me = blockIdx.x;
  for (int i = 0; i < 5; i++) {
    wants[me] = 1;
    __threadfence();
    box->flag = 1 - me;
    __threadfence();
    while (wants[1 - me] && box->flag == 1 - me) {
    }
    __threadfence();
    box->data = box->data + 1;
    __threadfence();
    wants[me] = 0;
  }
  __threadfence();
  atomicAdd((int*)&box->ack, 1);
  wait_for(&box->ack, 2);
  __threadfence();
  if (me == 0) *out = box->data;
}
__global__ void in_shared_memory(int* out) {
  __shared__ volatile int data, flag;
  if (threadIdx.x == 0) data = flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42;
    flag = 1;
  }
  if (threadIdx.x == 32) {
    wait_for(&flag, 1);
    *out = data;
  }
}
__global__ void grid_barrier(volatile Box* box, int* out) {
  for (int round = 1; round <= 3; round++) {
    box->rest[blockIdx.x] = round * 10 + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd((int*)&box->ack, 1);
      while (box->ack < round * (int)gridDim.x) {
      }
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = box->rest[(blockIdx.x + 1) % gridDim.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd((int*)&box->more, 1);
      while (box->more < round * (int)gridDim.x) {
      }
      __threadfence();
    }
    __syncthreads();
  }
}

int main(int argc, char** argv) {
  Box* box;
  int *out, back[64] = {};
  cudaMalloc(&box, sizeof(Box));
  cudaMalloc(&out, sizeof back);
  cudaMemset(box, 0, sizeof(Box));
  cudaMemset(out, 0, sizeof back);
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  if (is("hand_over")) hand_over<<<2, 1>>>(box, out);
  if (is("by_a_block")) by_a_block<<<2, 40>>>(box, out);
  if (is("arrivals")) arrivals<<<6, 1>>>(box, out);
  if (is("hang")) hang<<<2, 1>>>(box, out);
  if (is("ptx")) ptx<<<2, 1>>>(box, out);
  if (is("variables")) variables<<<2, 1>>>(out);
  if (is("fenced")) fenced<<<2, 1>>>(box, out);
  if (is("unused")) unused<<<2, 1>>>(box, out);
  if (is("looks_again")) looks_again<<<2, 1>>>(box, out);
  if (is("in_one_word")) in_one_word<<<2, 1>>>(box, out);
  if (is("in_one_vector")) in_one_vector<<<2, 1>>>(box, out);
  if (is("hint")) hint<<<4, 1>>>(box, out);
  if (is("statistics")) statistics<<<5, 1>>>(box, out);
  if (is("peterson")) peterson<<<2, 1>>>(box, out);
  if (is("in_shared_memory")) in_shared_memory<<<1, 64>>>(out);
  if (is("grid_barrier")) grid_barrier<<<4, 32>>>(box, out);
  cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; i++) std::printf("%d ", back[i]);
  std::printf("\\n");
  cudaFree(box);
  cudaFree(out);
}
"""
MATTERS = ["hand_over", "by_a_block", "arrivals", "hang", "ptx", "variables"]
HARMLESS = [
    "fenced", "unused", "looks_again", "in_one_word", "in_one_vector", "hint", "statistics",
    "peterson", "in_shared_memory", "grid_barrier",
]  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stale") / "program.cu"
    path.write_text(PROGRAM)
    return path


def line_of(mark: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {mark}"))


def accused(report: CheckReport) -> list[MergedFinding]:
    return [item for item in report.findings if item.finding.severity is Severity.ERROR]


@pytest.mark.parametrize("what", MATTERS)
def test_a_program_that_depends_on_the_order_is_accused(program: Path, what: str) -> None:
    (item,) = accused(check(program, ranks=1, effort=Effort.QUICK, args=[what]))
    assert (item.finding.kind, item.finding.line) == ("stale_read", line_of(what.upper()))
    assert item.finding.other is not None
    assert item.finding.kernel == what


@pytest.mark.parametrize("what", HARMLESS)
def test_a_program_that_can_do_with_the_older_value_is_not(program: Path, what: str) -> None:
    report = check(program, ranks=1, args=[what])
    assert accused(report) == []
    assert report.verdict is Verdict.OK


def test_a_replay_says_the_same(program: Path) -> None:
    whole = check(program, ranks=1, args=["hand_over"])
    finding = accused(whole)[0].finding
    assert accused(whole)[0].runs == len(whole.runs)
    again = check(program, ranks=1, replay=parse_replay("1:random"), args=["hand_over"])
    replayed = accused(again)[0].finding
    assert (replayed.message, replayed.hint) == (finding.message, finding.hint)
    assert replayed.timing is Timing.RANDOM


@pytest.mark.parametrize(
    ("what", "advice"),
    [("hand_over", "put the writes in order: __threadfence()"), ("ptx", "put the writes in order")],
)
def test_the_advice_names_the_side_and_the_fence(program: Path, what: str, advice: str) -> None:
    (item,) = accused(check(program, ranks=1, effort=Effort.QUICK, args=[what]))
    assert item.finding.hint.startswith(advice)
    assert re.search(r"\(line \d+\)", item.finding.message)
