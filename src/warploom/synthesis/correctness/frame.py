"""The program around a candidate: reads cases from a file, calls the entry point, reads back.

The candidate is the one mutable region of it. What is expected of a case is in no file that this
program can open, and not in its process.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.synthesis.correctness.frame_ranks import HEADER, STRUCT, WINDOW_GUARD, of_ranks

HEADERS = ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "math.h")
_GIVEN = re.compile(
    rf"^[ \t]*#[ \t]*include[ \t]*<(?:{'|'.join(HEADERS)}|cmath)>[ \t]*\n", re.MULTILINE
)
"""The headers that a candidate finds included; it may include no others."""
CASES_FILE = "cases.bin"
EMPTY_BODY = """extern "C" int warploom_forward(void* const* inputs, void* const* outputs,
                                const long long* sizes, void* stream_handle) {
  cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  void* scratch = nullptr;
  if (cudaMallocAsync(&scratch, 16, stream) != cudaSuccess) return 1;
  cudaFreeAsync(scratch, stream);
  return inputs == nullptr || outputs == nullptr || sizes == nullptr;
}
"""
"""What stands in the region of the trusted program: the least that is an entry point."""

_MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int warploom_forward(void* const* inputs, void* const* outputs, const long long* sizes,
                                void* stream_handle);

namespace {

const int kMostBuffers = 64;
const int kMostSizes = 64;
const int kFills = 64;  // of `flush` bytes: milliseconds in which the host queues what is timed

struct HarnessBuffer {
  long long bytes, offset, end, filled, shared;  // the tensor: from offset to end
  char* image;
  char* device;
  char* others;  // what somebody else writes around the tensor
};

void harness_need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "harness: %s\n", what);
  std::exit(9);
}

long long harness_number(std::FILE* file) {
  long long value = 0;
  harness_need(std::fread(&value, sizeof value, 1, file) == 1, "the cases end too early");
  return value;
}

void harness_read(std::FILE* file, HarnessBuffer* all, int at) {
  HarnessBuffer& one = all[at];
  one.bytes = harness_number(file);
  one.offset = harness_number(file);
  one.end = harness_number(file);
  one.filled = harness_number(file);
  one.shared = harness_number(file);
  one.image = static_cast<char*>(std::malloc(one.bytes > 0 ? one.bytes : 1));
  harness_need(one.image != nullptr, "no memory");
  one.device = one.others = nullptr;
  if (one.shared >= 0) return;
  if (one.filled == 0 || one.bytes == 0) return;
  harness_need(std::fread(one.image, 1, one.bytes, file) == static_cast<size_t>(one.bytes),
               "the cases end too early");
}

struct HarnessMemory {
  char* device;
  long long bytes;
};
HarnessMemory harness_memories[2 * kMostBuffers + 1];

// Memory of a timed call. It stays mapped, as PyTorch's does, and is not what the call before had.
char* harness_kept(int number, long long bytes) {
  HarnessMemory& one = harness_memories[number];
  if (one.bytes >= bytes) return one.device;
  cudaFree(one.device);
  harness_need(cudaMalloc(reinterpret_cast<void**>(&one.device), bytes) == cudaSuccess,
               "no device memory");
  one.bytes = bytes;
  return one.device;
}

// Takes the memory of all buffers, the last first where `turned`: which tensor lies before which
// must not matter. A timed call finds bytes in its outputs that no other call left there.
void harness_allocate(HarnessBuffer* all, int count, bool turned, bool timed) {
  for (int step = 0; step < count; ++step) {
    const int at = turned ? count - 1 - step : step;
    HarnessBuffer& one = all[at];
    if (one.shared >= 0) continue;
    const long long bytes = one.bytes > 0 ? one.bytes : 1;
    if (timed) {
      one.device = harness_kept(turned ? kMostBuffers + at : at, bytes);
      cudaMemset(one.device, 0xa5, bytes);
    } else {
      harness_need(cudaMalloc(reinterpret_cast<void**>(&one.device), bytes) == cudaSuccess,
                   "no device memory");
    }
    if (one.filled == 0 || one.bytes == 0) continue;
    harness_need(cudaMemcpy(one.device, one.image, one.bytes, cudaMemcpyHostToDevice) ==
                     cudaSuccess, "no copy");
  }
  for (int at = 0; at < count; ++at)
    if (all[at].shared >= 0) all[at].device = all[all[at].shared].device;
}

void harness_release(HarnessBuffer* all, int count, bool timed) {
  for (int at = 0; at < count; ++at) {
    std::free(all[at].image);
    if (all[at].shared < 0 && !timed) cudaFree(all[at].device);
    if (all[at].others != nullptr) cudaFree(all[at].others);
  }
}

unsigned long long harness_used() {
  cudaMemPool_t pool;
  unsigned long long used = 0;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  // As between the calls of a program that does not wait after each: freed memory stays mapped.
  unsigned long long kept = ~0ULL;
  cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  return used;
}

// Somebody else uses a tensor at the same time: reads an input on a stream of its own while the
// candidate runs, or an output on the candidate's stream once it was called.
void harness_use(HarnessBuffer* all, int from, int to, char* scratch, cudaStream_t stream) {
  for (int at = from; at < to; ++at) {
    const long long bytes = all[at].end - all[at].offset;
    if (all[at].shared < 0 && bytes > 0)
      cudaMemcpyAsync(scratch, all[at].device + all[at].offset, bytes, cudaMemcpyDeviceToDevice,
                      stream);
  }
}

// What lies around a tensor belongs to somebody else, who writes it while the candidate runs: to
// read there is a race, whatever is done with the value.
void harness_surround(HarnessBuffer* all, int count, cudaStream_t stream) {
  for (int at = 0; at < count; ++at) {
    const HarnessBuffer& one = all[at];
    if (one.others == nullptr) continue;
    cudaMemcpyAsync(one.device, one.others, one.offset, cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyAsync(one.device + one.end, one.others + one.end, one.bytes - one.end,
                    cudaMemcpyDeviceToDevice, stream);
  }
}

void harness_prepare_others(HarnessBuffer* all, int count) {
  for (int at = 0; at < count; ++at) {
    HarnessBuffer& one = all[at];
    if (one.shared >= 0 || (one.offset == 0 && one.end == one.bytes)) continue;
    harness_need(cudaMalloc(reinterpret_cast<void**>(&one.others), one.bytes) == cudaSuccess,
                 "no memory");
    harness_need(cudaMemcpy(one.others, one.image, one.bytes, cudaMemcpyHostToDevice) ==
                     cudaSuccess, "no copy");
  }
}

int harness_case(std::FILE* file, cudaStream_t stream, bool turned, double* milliseconds) {
  const int sizes_count = static_cast<int>(harness_number(file));
  const int inputs_count = static_cast<int>(harness_number(file));
  const int outputs_count = static_cast<int>(harness_number(file));
  const bool watched = harness_number(file) != 0;
  const long long flush = harness_number(file);
  const int count = inputs_count + outputs_count;
  harness_need(sizes_count <= kMostSizes && count <= kMostBuffers, "too many buffers");
  long long sizes[kMostSizes + 1] = {};
  for (int at = 0; at < sizes_count; ++at) sizes[at] = harness_number(file);
  HarnessBuffer all[kMostBuffers] = {};
  void* pointers[kMostBuffers + 1] = {};
  for (int at = 0; at < count; ++at) harness_read(file, all, at);
  harness_allocate(all, count, turned, flush > 0);
  for (int at = 0; at < count; ++at) pointers[at] = all[at].device + all[at].offset;
  cudaEvent_t begin, end, idle;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventCreate(&idle);
  long long most = 1;
  for (int at = 0; at < count; ++at) most = all[at].bytes > most ? all[at].bytes : most;
  char* scratch[2] = {};
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  for (int at = 0; at < 2 && watched; ++at)
    cudaMalloc(reinterpret_cast<void**>(&scratch[at]), most);
  if (watched) harness_prepare_others(all, count);
  char* dirt = nullptr;
  if (flush > 0) dirt = harness_kept(2 * kMostBuffers, flush);
  cudaDeviceSynchronize();
  const unsigned long long used = harness_used();
  // The GPU is busy until the call is queued: what the host does is in no time, and clocks are up.
  for (int at = 0; at < kFills && flush > 0; ++at) cudaMemsetAsync(dirt, at, flush, stream);
  if (watched) {
    harness_surround(all, count, other);
    harness_use(all, 0, inputs_count, scratch[0], other);
  }
  cudaEventRecord(begin, stream);
  long long given_sizes[kMostSizes + 1];
  void* given_pointers[kMostBuffers + 1];
  std::memcpy(given_sizes, sizes, sizeof sizes);
  std::memcpy(given_pointers, pointers, sizeof pointers);
  const int failed = warploom_forward(given_pointers, given_pointers + inputs_count, given_sizes,
                                      stream);
  cudaEventRecord(end, stream);
  if (failed != 0) return 3;
  if (std::memcmp(given_sizes, sizes, sizeof sizes) != 0 ||
      std::memcmp(given_pointers, pointers, sizeof pointers) != 0)
    return 8;
  if (watched) harness_use(all, inputs_count, count, scratch[1], stream);
  if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  cudaEventRecord(idle, stream);
  cudaEventSynchronize(idle);
  if (cudaGetLastError() != cudaSuccess) return 5;
  if (harness_used() != used) return 7;
  for (int at = 0; at < 2 && watched; ++at) cudaFree(scratch[at]);
  cudaStreamDestroy(other);
  float elapsed = 0.0f;
  cudaEventElapsedTime(&elapsed, begin, end);
  if (flush > 0) {  // the stream's end may come before what else the candidate started
    float whole = 0.0f;
    cudaEventElapsedTime(&whole, begin, idle);
  }
  *milliseconds += elapsed;
  for (int at = 0; at < count; ++at) {
    if (all[at].shared >= 0 || all[at].bytes == 0) continue;
    if (cudaMemcpy(all[at].image, all[at].device, all[at].bytes, cudaMemcpyDeviceToHost) !=
        cudaSuccess)
      return 6;
  }
  harness_release(all, count, flush > 0);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaEventDestroy(idle);
  return 0;
}

}  // namespace

int main() {
  std::FILE* file = std::fopen("cases.bin", "rb");
  harness_need(file != nullptr, "cases.bin is not there");
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const long long count = harness_number(file);
  double milliseconds = 0.0;
  for (long long at = 0; at < count; ++at) {
    const int failed = harness_case(file, stream, at % 2 != 0, &milliseconds);
    if (failed != 0) return failed;
  }
  std::fclose(file);
  cudaStreamDestroy(stream);
  return 0;
}
"""
_CALL = "\n  const int failed = warploom_forward("
MOVED_FILE = "moved.txt"
"""The numbers of the bounds that a watched program moves in this run."""
LAUNCH_FILE = "launch-only.txt"
"""Where a watched program finds this file, its kernels are launched but do not run."""
_COUNT = "  const long long count = harness_number(file);\n"
_MOVE = f"""  if (std::FILE* moved = std::fopen("{MOVED_FILE}", "rb")) {{
    unsigned number = 0;
    while (std::fscanf(moved, "%u", &number) == 1) warploom::move_bound(number);
    std::fclose(moved);
  }}
  if (std::FILE* only = std::fopen("{LAUNCH_FILE}", "rb")) {{
    warploom::only_launch();
    std::fclose(only);
  }}
"""


def program_text(body: str, *, watched: bool = False, ranks: int = 1) -> str:
    """Return the whole program with `body` as its region; a watched one says when cases begin.

    It also moves the bounds that MOVED_FILE names, and looks for LAUNCH_FILE, where there is one.
    """
    closing = "" if body.endswith("\n") else "\n"
    main = _MAIN if ranks == 1 else of_ranks(_MAIN)
    if watched:
        main = main.replace(_CALL, f"  warploom::next_case();{_CALL}")
        main = main.replace(_COUNT, f"{_MOVE}{_COUNT}")
    before = "".join(f"{line}\n" for line in includes_of(ranks))
    return (
        f"{before}// EVOLVE-BLOCK-START kernel\n{body}{closing}// EVOLVE-BLOCK-END kernel\n{main}"
    )


def includes_of(ranks: int) -> list[str]:
    """Return the lines before the region: as many for one rank as for several."""
    names = HEADERS if ranks == 1 else (*HEADERS[:-1], HEADER)
    return [*(f"#include <{name}>" for name in names), "" if ranks == 1 else STRUCT]


def without_includes(text: str) -> str:
    """Return a kernel's text without the includes that are there anyway."""
    return _GIVEN.sub("", text)


def first_line_of_body() -> int:
    """Return the line of the program on which the region's text begins."""
    return len(HEADERS) + 3


@dataclass(frozen=True, slots=True)
class CaseBuffer:
    """One allocation: its bytes, where the tensor lies in it, whether it is filled before.

    `shared` is the number of the buffer whose memory it is; -1: its own.
    """

    image: bytes
    offset: int = 0
    end: int = 0
    filled: bool = True
    shared: int = -1


@dataclass(frozen=True, slots=True)
class CaseImage:
    """One call as the program reads it.

    `watched`: somebody else uses its tensors too, and writes what lies around them.
    `flush` bytes are written again and again before the call, which is timed for the whole device
    too then. Of several ranks, `window` is what this one's holds before, with what lies behind it.
    """

    sizes: tuple[int, ...]
    inputs: tuple[CaseBuffer, ...]
    outputs: tuple[CaseBuffer, ...]
    watched: bool = False
    flush: int = 0
    window: bytes = b""


def cases_bytes(cases: Sequence[CaseImage]) -> bytes:
    """Return the file that holds `cases`, of one rank."""
    parts = [struct.pack("<q", len(cases))]
    windows = [len(case.window) for case in cases]
    if any(windows):
        parts.append(struct.pack("<q", max(windows)))
    for case in cases:
        head = (
            len(case.sizes), len(case.inputs), len(case.outputs), int(case.watched), case.flush,
            *case.sizes,
        )  # fmt: skip
        parts.append(struct.pack(f"<{len(head)}q", *head))
        for buffer in (*case.inputs, *case.outputs):
            words = (
                len(buffer.image), buffer.offset, buffer.end, int(buffer.filled), buffer.shared,
            )  # fmt: skip
            parts.append(struct.pack("<5q", *words))
            if buffer.shared < 0 and buffer.filled:
                parts.append(buffer.image)
        if case.window:
            parts += [struct.pack("<q", len(case.window) - WINDOW_GUARD), case.window]
    return b"".join(parts)
