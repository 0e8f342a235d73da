"""What a timed build counts: the operations of device code, block by block."""

import re
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import build
from warploom.emulator.metering import metering_edits
from warploom.source.edits import apply_edits
from warploom.source.syntax import parse_source

CALL = "warploom::count_operations"


def metered(text: str) -> str:
    tree = parse_source(text.encode(), Path("k.cu"), {})
    return apply_edits(text, metering_edits(tree))


def kernel(body: str) -> str:
    return metered("__global__ void k(float* x, int n, float f) { " + body + " }")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("f = f + 1;", 1),
        ("f = f * 2 + 1;", 1),  # one multiplication with addition
        ("f += f * 2;", 1),
        ("f = f * 2 * 3;", 2),
        ("f = f / 2;", 11),
        ("x[n] = f;", 1),
        ("n++;", 1),
        ("f = expf(f) + 1;", 9),
        ("f = std::sqrt(f);", 48),
        ("f = mine(f);", 0),
        ("if (n > 1 && f < 2) f = f + 1;", 3),
        ("f = sizeof(x[n + 1]);", 0),
    ],
)
def test_operations_of_a_body(body: str, count: int):
    text = kernel(body)
    expected = f"{{ {CALL}({count}u); " if count else "{ "
    assert expected + body in text.replace("{  ", "{ ")
    assert text.count(CALL) == (1 if count else 0)


def test_what_follows_a_label_counts_each_time():
    text = kernel("int q = 0; again: f += x[q] * 2; if (++q < n) goto again; f = f + 1;")
    assert f"again: {CALL}(5u); f +=" in text


def test_a_loop_counts_in_its_body():
    text = kernel("for (int i = 0; i < n; i++) { f = f + x[i]; }")
    assert f"{{ {CALL}(3u); f = f + x[i]; }}" in text


def test_a_loop_without_braces_counts_in_its_step():
    text = kernel("for (int i = 0; i < n; i++) f = f + x[i];")
    assert f"i++, {CALL}(3u)) f = f + x[i];" in text


def test_branches_with_braces_count_for_themselves():
    text = kernel("if (n) { f = f + 1; } else { f = f * f * f; }")
    assert f"{{ {CALL}(1u); f = f + 1; }}" in text
    assert f"{{ {CALL}(2u); f = f * f * f; }}" in text


def test_a_switch_counts_one_of_its_cases():
    text = kernel("switch (n) { case 0: f = f + 1; break; case 1: f = f * f * f * f; break; }")
    assert f"{CALL}(2u)" in text and text.count(CALL) == 1


def test_host_code_is_left_alone():
    assert "warploom" not in metered("void host(float f, float g = F * 2) { f = f + 1; }")
    assert "warploom" not in metered("consteval __device__ int two() { return 1 + 1; }")
    assert CALL in metered("template <int N> __device__ int two() { return N + 1; }")


AT_RUN_TIME = "warploom::count_at_run_time"


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("__device__ constexpr int two(int a) { return a + 1; }", [1]),
        ("template <int N> __device__ constexpr int two() { return N + 1; }", [1]),
        ("__device__ float f(float a, float b = G * G + G / 2) { return a; }", [12]),
        ("struct S { __device__ float f(float a = G * G); };", [1]),
        ("struct S { float v = a * b * c; float w{a / b}; };", [2, 11]),
        ("constexpr auto square = [](float a) { return a * a; };", [1]),
        ("__device__ float f(float a) { auto g = [b = a * a] { return b; }; return g(); }", []),
        ("struct S { static constexpr int k = A * B; int bits : 3 = 2; };", []),
        ("template <int N = K * 2> __device__ void f();", []),
        ("constexpr int N = 8;\nstruct S { unsigned n{N * 4}; };", []),  # would narrow
    ],
)
def test_what_is_evaluated_outside_of_bodies_counts(text: str, counted: list[int]):
    found = re.findall(rf"{AT_RUN_TIME}\((\d+)u\)", metered(text))
    assert [int(n) for n in found] == counted


def test_initializers_of_members_count_for_the_constructor():
    text = metered("struct J { float v; __device__ J(float a) : v(a * 1.5f / a) {} };")
    assert f"{{ {CALL}(12u);}}" in text


def test_what_a_lambda_captures_counts_around_it():
    text = kernel("auto g = [b = f * f] { return b; }; x[0] = g();")
    assert f"{{ {CALL}(2u);" in text


def test_macros_that_mark_device_code_are_seen():
    text = metered(
        "#define DEV __device__\n#define ALSO DEV inline\n"
        "struct S { float v; ALSO S(float a) : v(a * a) {} };\n"
        "DEV float f(float a) { return a * a; }\n"
    )
    assert text.count(f"{CALL}(1u)") == 2


def test_a_counted_program_compiles_and_is_a_constant_where_it_must(tmp_path: Path):
    program = tmp_path / "k.cu"
    program.write_text(
        "#include <cuda_runtime.h>\nconstexpr int N = 4;\n__device__ float G;\n"
        "struct S { unsigned n{N * 4}; float v = G * 2; int m = N * 3;\n"
        "  __device__ S(float a) : v(a * a) {} };\n"
        "__host__ __device__ constexpr int twice(int n, int by = N / 2) { return n * by; }\n"
        "constexpr auto half = [](int n) { return n / 2; };\n"
        "__global__ void k(int* x) {\n"
        "  constexpr int kept = half(twice(N)); static_assert(kept == 4);\n"
        "  x[threadIdx.x] = kept + static_cast<int>(S(2.0f).v); }\n"
        "int main() { int* x; cudaMalloc(&x, 4); k<<<1, 1>>>(x);\n"
        "  return cudaDeviceSynchronize(); }\n"
    )
    build(BuildSpec(program, timed=True))


def test_lines_stay_where_they_are():
    text = "__global__ void k(float* x) {\n  for (int i = 0; i < 3; i++)\n    x[i] += 1;\n}\n"
    assert metered(text).count("\n") == text.count("\n")


def test_macros_count_where_they_are_used():
    text = metered(
        "#define MAC(s, a, b) ((s) += (a) * (b))\n"
        "__global__ void k(float* x, float f) { MAC(f, f, f); }"
    )
    assert f"{{ {CALL}(1u); MAC(f, f, f); }}" in text


def test_loops_in_macros_count_in_their_definition():
    text = metered(
        "#define DOT(s, a, b, n) \\\n  for (int q = 0; q < (n); ++q) s += a[q] * b[q];\n"
        "__global__ void k(float* x, float f, int n) { DOT(f, x, x, n) }"
    )
    assert f"++q, {CALL}(4u)) s += a[q] * b[q];" in text
    assert text.count("\n") == 2


def test_functions_that_macros_define_are_counted():
    text = metered(
        "#define KERNEL(name) __global__ void name(float* x) { x[0] = x[0] * 2; }\nKERNEL(k)"
    )
    assert f"{{ {CALL}(3u);" in text


def test_lists_of_values_are_left_alone():
    lists = "#define PAIR {1 + 1, 2}\n__global__ void k(int* x) { int a[2] = PAIR; }"
    assert CALL not in metered(lists)
