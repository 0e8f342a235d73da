"""Arithmetic that no text tells is counted in the instructions of the program, and priced."""

import re
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, find_topology, run
from warploom.emulator.building.guard_tool import GUARD_DIR
from warploom.emulator.building.runtime_build import RUNTIME_DIR

PROGRAM = """
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <cuda_runtime.h>
constexpr int kTurns = 4000;
HELPERS
__global__ void work(float* out, const float* in, int n) {
  float x = in[threadIdx.x % 32], y = in[threadIdx.x % 32 + 32];
  unsigned h = n;
  BODY
  out[threadIdx.x] = x + y + h;
}
int main() {
  float *out, *in, ms = 0;
  cudaMalloc(&out, 4096);
  cudaMalloc(&in, 256);
  cudaMemset(in, 0, 256);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  work<<<1, 32>>>(out, in, kTurns);
  cudaEventRecord(stop);
  cudaDeviceSynchronize();
  cudaEventElapsedTime(&ms, start, stop);
  printf("%.6f ms\\n", ms);
}
"""
POLYNOMIAL = "x = x * y + 0.5f; x = x * y + 0.25f; x = x * y + 0.125f; x = x * y + 2.0f;"
MIX = "h ^= h >> 13; h *= 0x5bd1e995u; h ^= h >> 15; h *= 0x27d4eb2fu; h ^= h >> 16;"
LOOP = "for (int i = 0; i < n; ++i) { %s }"


def milliseconds(
    folder: Path,
    body: str,
    helpers: str = "",
    threads: int = 32,
    turns: int = 4000,
    unread: bool = False,
) -> float:
    """Return the modelled time of a kernel with this body."""
    program = folder / "work.cu"
    text = PROGRAM.replace("BODY", body).replace("HELPERS", helpers)
    program.write_text(
        text.replace("<<<1, 32>>>", f"<<<1, {threads}>>>").replace("4000", f"{turns}")
    )
    done = run(
        build(BuildSpec(program, timed=True, unread=unread)),
        RunOptions(ranks=1, machine=find_topology("h200-8"), race=False, readbacks=False),
    )
    assert not done.findings, done.findings
    found = re.search(r"([\d.]+) ms", done.stdout)
    assert found, done.stdout
    return float(found[1])


HIDDEN = {
    "through a pointer": (
        "using F = float (*)(float, float);"
        "template <int N> __device__ float f(float x, float y) { return f<N - 1>(x, y) * y + 1; }"
        "template <> __device__ float f<0>(float x, float y) { return x; }"
        "__device__ F g_f[] = {f<4>, f<4>};",
        LOOP % "x = g_f[i & 1](x, y);",
        POLYNOMIAL,
    ),
    "in the library": (
        "",
        "float a[64]; for (int i = 0; i < 64; ++i) a[i] = x + i;"
        "for (int i = 0; i < n / 64 * 4; ++i) x = std::inner_product(a, a + 64, a, x);",
        "x = x * x + y; x = x * x + y; x = x * x + y; x = x * x + y;",
    ),
    "kept objects": (
        "",
        "std::plus<float> p; std::multiplies<float> m;"
        + LOOP % "x = p(m(x, y), y); x = p(m(x, y), y); x = p(m(x, y), y); x = p(m(x, y), y);",
        POLYNOMIAL,
    ),
    "hashes of integers": (
        "struct Hash { unsigned h; __device__ Hash& operator,(int) { "
        + MIX
        + " return *this; } };",
        "Hash s{h}; " + LOOP % "s, i;" + " h = s.h;",
        MIX,
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_work_has_a_price(name: str, tmp_path: Path):
    helpers, body, plain = HIDDEN[name]
    hidden = milliseconds(tmp_path, body, helpers)
    told = milliseconds(tmp_path, LOOP % plain)
    nothing = milliseconds(tmp_path, "")
    assert hidden - nothing > 0.45 * (told - nothing)


OF_HEADERS = {
    "intrinsics by a parameter": (
        "template <auto F, class... A> __device__ float ap(A... a) { return F(a...); }",
        LOOP % "x = ap<__fdividef>(x, y);",
        "x = __fdividef(x, y);",
    ),
    "conversions": ("", LOOP % "x = (float)(int)(x * 1.5f);", "x = x * 1.5f + 1.0f;"),
    "kept objects": (
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
        "#include <cub/cub.cuh>",
        "cooperative_groups::plus<float> p; cub::Sum q;" + LOOP % "x = p(x, y); x = q(x, y);",
        "x = x + y; x = x + y;",
    ),
}


@pytest.mark.parametrize("name", OF_HEADERS)
def test_functions_of_our_headers_hide_nothing(name: str, tmp_path: Path):
    helpers, body, plain = OF_HEADERS[name]
    hidden = milliseconds(tmp_path, body, helpers, unread="by a parameter" in name)
    told = milliseconds(tmp_path, LOOP % plain)
    nothing = milliseconds(tmp_path, "")
    assert hidden - nothing > 0.45 * (told - nothing)


@pytest.mark.parametrize("name", HIDDEN)
def test_text_that_is_not_read_hides_nothing(name: str, tmp_path: Path):
    helpers, body, plain = HIDDEN[name]
    hidden = milliseconds(tmp_path, body, helpers, unread=True)
    told = milliseconds(tmp_path, LOOP % plain)
    nothing = milliseconds(tmp_path, "")
    assert hidden - nothing > 0.95 * (told - nothing)


def test_what_the_text_tells_is_not_paid_twice(tmp_path: Path):
    program = tmp_path / "work.cu"
    program.write_text(PROGRAM.replace("BODY", LOOP % POLYNOMIAL).replace("HELPERS", ""))
    done = run(
        build(BuildSpec(program, timed=True)),
        RunOptions(ranks=1, machine=find_topology("h200-8"), race=False, readbacks=False),
    )
    assert done.stats["tallied"] > 0
    assert done.stats["untold_operations"] == 0


def test_large_local_arrays_have_a_price(tmp_path: Path):
    """All threads of a large block together have more of them than a multiprocessor's cache."""

    def histogram(size: int) -> float:
        loop = f"h = h * 1664525u + 1013904223u; h += threadIdx.x; a[(h >> 16) % {size}] += x;"
        body = f"float a[{size}] = {{}}; {LOOP % loop} y += a[h % {size}];"
        return milliseconds(tmp_path, body, threads=1024, turns=100)

    assert histogram(1024) > 1.5 * histogram(64)


def test_flags_live_on_over_a_count(tmp_path: Path):
    """A block that computes between a comparison and its use keeps what was compared."""
    body = (
        "unsigned long long a = n, b = 0;"
        + LOOP % ("bool low = a < 77; float z = x * y; b += low; x = z; a = (a * 5 + b) & 1023;")
        + "if (b == 0) __trap(); h = b;"
    )
    assert milliseconds(tmp_path, body) > 0


@pytest.mark.parametrize("text", ["*p = 0;", 'asm volatile("st.u64 [%0], 0;" :: "l"(p));'])
def test_the_counter_is_not_the_programs(text: str, tmp_path: Path):
    program = tmp_path / "work.cu"
    body = f"auto p = (volatile unsigned long long*)0x20000000; {text}"
    program.write_text(PROGRAM.replace("BODY", body).replace("HELPERS", ""))
    done = run(
        build(BuildSpec(program, timed=True)),
        RunOptions(ranks=1, machine=find_topology("h200-8"), race=False, readbacks=False),
    )
    assert done.findings


def test_guard_and_runtime_agree_where_the_counter_is():
    places = [
        re.search(r"kTallyPlace = (\w+);", path.read_text())
        for path in (GUARD_DIR / "tally.cpp", RUNTIME_DIR / "metering/meter_tally.h")
    ]
    halves = [
        re.search(r"kHalves = (\w+);", path.read_text())
        for path in (GUARD_DIR / "arithmetic.h", RUNTIME_DIR / "metering/meter_tally.cpp")
    ]
    for first, second in (places, halves):
        assert first and second and first[1] == second[1]
