"""Which lines the meter cannot count: a candidate may not have them."""

from pathlib import Path

import pytest

from warploom.emulator.metering.unread import uncounted_lines
from warploom.source.syntax import parse_source

KERNEL = "__global__ void k(float* x, int n, float f) {\n%s\n}\n"
COUNTED = (
    "#define CHECK(call) do { if ((call) != 0) die(#call, __LINE__); } while (0)\n",
    "#define DOT(s, a, b, n) for (int q = 0; q < (n); ++q) s += (a)[q] * (b)[q]\n",
    "#define FOREVER(x) if (x) { f += 1; } else f -= 1\n",
    "#define DEVICE __host__ __device__ __forceinline__\n",
    "#define BOUNDS(n) __launch_bounds__(n) __global__\n",
    '#define LINKED extern "C"\n',
    "#define NAMED(a) a##_of\n",
    "#define SIZE 4\n",
    "#define NOTHING\n",
    "#define PAIR {1, 2}\n",
)
PARTIAL = (
    "OVER(n) for (int i = 0; i < (n); ++i)",
    "UNTIL(c) while (!(c))",
    "WHEN(c) if (c) for (;;)",
    "OTHERWISE if (n) f = 1; else for (;;)",
    "BEGIN for (;;) {",
    "END }",
    "TIMES * f *",
    "CLOSE f) * (f",
    "SET = f +",
    "NEXT , f = f * f",
    "PRODUCT(a, b) a /* by */ b",
    "QUOTED(a, b) f = '\"'; a b; f = '\"'",
)
UNREAD = (
    "float (*g)(float, float, float) = __fmaf_rn; f = g(f, f, f);",
    "char a = '\"'; auto& g = fmaxf; char b = '\"'; f = g(f, f);",
    'asm("mov.f32 %0, %0;" MORE : "+f"(f));',
    "f = apply<__fdividef>(f, f);",
    "auto& g = fmaxf; f = g(f, f);",
    "for (int i = 0; i < n; ++i) <% f *= f; %>",
    "f = (f = f * f + x[1], f = f * f + x[1], f) > 3.5f ? f : -f;",
    "int i = 0; while (int go = (f = f * f + x[1], f = f * f + x[1], i++ < n)) { f += go; }",
)


def uncounted(text: str) -> list[int]:
    return sorted(uncounted_lines(parse_source(text, Path("k.cu"), {})))


@pytest.mark.parametrize("text", COUNTED)
def test_whole_macros_are_counted(text: str) -> None:
    assert uncounted(text + KERNEL % "f += 1;") == []


@pytest.mark.parametrize("macro", PARTIAL)
def test_macros_that_are_parts_of_statements_are_not(macro: str) -> None:
    text = f"#define {macro}\n{KERNEL}" % f"f += 1;\n{macro.split(' ')[0]}"
    assert {1, 4} <= set(uncounted(text))


@pytest.mark.parametrize(
    ("use", "lines"),
    [
        ("OVER(i, n) { f *= f; }", []),
        ("OVER(i, (n + 1)) /* each */ { OVER(k, i) { f *= f; } }", []),
        ("OVER(i, n) f *= f;", [1, 3]),
        ("OVER(i, n) { f *= f; } OVER(i, n) f *= f;", [1, 3]),
        ("OVER(i, n) if (f > 1) { f *= f; }", [1, 3]),
    ],
)
def test_heads_of_loops_are_counted_where_blocks_follow(use: str, lines: list[int]) -> None:
    loop = "#define OVER(i, n) for (int i = 0; i < (n); ++i)\n"
    assert uncounted(loop + KERNEL % use) == lines


@pytest.mark.parametrize(
    "text",
    [
        "#define JOIN(x, y) x y\nUSE(f = JOIN(f, *f))",
        "#define SCALED(x) f x\nUSE(f = SCALED(*f))",
        "#define CAST(x) (f) x\nUSE(f = CAST(*f))",
        "#define BLOCK {if (f = f * f) {}}\nUSE(BLOCK)",
        "#define SUM {f * f + 1}\nUSE(float g SUM)",
        "#define STEP f = f * f\n#undef STEP\n#define STEP f\nUSE(STEP)",
        "#define WORK { struct Q { __device__ void g() {} }; f = f * f; }\nUSE(WORK)",
    ],
)
def test_macros_that_are_read_another_way_are_not(text: str) -> None:
    head, _, use = text.rpartition("USE(")
    assert uncounted(head + "__global__ void k(float f) { " + use[:-1] + "; }")


@pytest.mark.parametrize(
    "text",
    [
        "#define CHECK(call) do { int e = (call); if (e) return; } while (0)\nUSE(CHECK(0))",
        "#define IDX(i, j) ((i) * 4 + (j))\nUSE(f = IDX(1, 2))",
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\nUSE(f = MAX(f, 1))",
        "#define SIZES {1, -2, {3.5f, N}}\nUSE(float g[] = SIZES)",
        "#define NAMED(n) float n##_value = 0\nUSE(NAMED(g))",
        '#define LOG(f, ...) printf(f, __VA_ARGS__)\nUSE(LOG("%f", f))',
        "#define KERNEL(name) __global__ void name(float* x) { x[0] = 1; }\nKERNEL(k0)\nUSE(f = 1)",
    ],
)
def test_usual_macros_are_counted(text: str) -> None:
    head, _, use = text.rpartition("USE(")
    assert not uncounted(head + "__global__ void k(float f) { " + use[:-1] + "; }\n")


def test_operators_of_macros_are_not() -> None:
    assert uncounted("#define PLUS + f\n" + KERNEL % "f = f PLUS PLUS;") == [3]


@pytest.mark.parametrize("line", UNREAD)
def test_what_the_parser_cannot_read_is_not(line: str) -> None:
    assert 2 in uncounted(KERNEL % line)
