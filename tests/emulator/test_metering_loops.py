"""Loops that nvcc unrolls: what their text becomes in a timed build, and which are left alone."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import build
from warploom.emulator.metering.count import metering_edits
from warploom.source.edits import apply_edits
from warploom.source.syntax import parse_source

OPENS = "{ warploom::Unrolled warploom_loop; for ("
FORMS = (
    ("for (int i = 0; i < n; ++i) f += x[i];", 2),
    ("for (int i = 0; i < n; i++) { f = f + x[i] * 2; }", 2),
    ("for (int i = n; i > 0; --i) f += x[i];", 2),
    ("for (int i = 0; i != n - 1; i += 2) f += x[2 * i + 1];", 3),
    ("for (int i = 0; i < n; i += kWide) f += *(x + i);", 3),
    # The places of elements become parts of addresses, also of rows.
    ("float a[4][4]; for (int j = 0; j < 4; j++) a[1][j] += f * x[j];", 2),
    ("float4 v; for (int i = 0; i < n; ++i) v.x += x[i];", 2),
    ("for (int i = 0; i < n; ++i) { int q; q = x[i]; f += x[q]; }", 2),
    ("for (int i = 0; i < n; ++i) { const int q = x[i]; f += x[q]; }", 2),
    ("for (int i = 0; i < n; ++i) f = fmaf(__ldg(x + i), f, static_cast<float>(i));", 3),
    ("for (int i = 0; i < blockDim.x / 2; ++i) f += x[i];", 2),
    # What branches without leaving, and nothing at all.
    ("for (int i = 0; i < n; ++i) if (x[i] > 1) f += x[i];", 3),
    ("for (int i = 0; i < n; ++i) { if (x[i] > 1) continue; f += x[i]; }", 3),
    ("for (int i = 0; i < n; ++i) {}", 1),
    ("for (int i = 0; n > i; ++i) f += x[i];", 2),
    # What is worked out of the counter in the condition is work of each iteration.
    ("for (int i = 0; i * n + 3 * i < n; ++i) f += x[i];", 4),
    ("for (int i = 0; i < n + i * n; ++i) f += x[i];", 3),
)
LEFT = (
    # What only looks as if it were arithmetic.
    "} __device__ float lerp(float a) { return a; } __global__ void k2(float* x, int n, float f) {"
    " for (int i = 0; i < n; ++i) f = lerp(x[i]);",
    "} struct V { float v; }; __device__ V& operator+=(V& a, float b); __global__ void k2(float* x,"
    " int n) { V f; for (int i = 0; i < n; ++i) f += x[i];",
    # Other ways out.
    "for (int i = 0; i < n; ++i) { if (x[i] > 1) break; f += x[i]; }",
    "for (int i = 0; i < n; ++i) if (x[i] > 1) return;",
    "for (int i = 0; i < n; ++i) { if (x[i] > 1) goto out; } out: f = 1;",
    "for (int i = 0; i < n; ++i) switch (i) { case 0: f += x[i]; }",
    "for (int i = 0; i < n && f < 2; ++i) f += x[i];",
    # No constant step, and no bound that stays.
    "for (int i = 0; i < n; i += stride) f += x[i];",
    "for (int i = 0; i < n; i *= 2) f += x[i];",
    "for (int i = 0; i < n; i = i + x[i]) f += 1;",
    "for (int i = 0; i < (n = n - 1); ++i) f += x[i];",
    "for (int i = 0; i < next(n); ++i) f += x[i];",
    "for (int i = 0; i < n; ++i) { n = x[i]; }",
    "for (int i = 0; i < n; ++i) { f += x[i]; i += 2; }",
    "for (; *x < 3; ++n) f += 1;",
    "for (;;) f += x[n];",
    # Loads that wait: for a store that may change them, for a value, for whatever a call does.
    "for (int i = 0; i < n; ++i) x[i] += 1;",
    "for (int i = 0; i < n; ++i) *x += i;",
    "float& r = x[0]; for (int i = 0; i < n; ++i) r += x[i];",
    "float4* v; for (int i = 0; i < n; ++i) v->x += x[i];",
    "__shared__ float s; for (int i = 0; i < n; ++i) s += x[i];",
    "__shared__ float s[4]; for (int i = 0; i < n; ++i) s[i] += x[i];",
    "for (int i = 0; i < n; ++i) member += x[i];",
    "int q = 0; for (int i = 0; i < n; ++i) q = x[q];",
    "int* q = p; for (int i = 0; i < n; ++i) q = p + *q;",
    "List* q = p; for (int i = 0; i < n; ++i) q = q->next;",
    "int q = 0; for (int i = 0; i < n; ++i) q = __ldg(x + q);",
    "int a[4]; for (int i = 0; i < n; ++i) a[0] = x[a[0]];",
    "for (int i = 0; i < n; ++i) f += mine(x[i]);",
    "for (int i = 0; i < n; ++i) atomicAdd(x, f);",
    "for (int i = 0; i < n; ++i) __syncwarp();",
    'for (int i = 0; i < n; ++i) asm("ld.f32 %0, [%1];" : "=f"(f) : "l"(x));',
    "for (int i = 0; i < n; ++i) f += [&] { return x[i]; }();",
    # Other loops.
    "while (n-- > 0) f += x[n];",
    "do f += x[n]; while (n-- > 0);",
    "for (float v : pair) f += v;",
    # A macro may do anything.
    "for (int i = 0; i < n; ++i) STEP;",
    "for (int i = 0; i < n; ++i) { if (i > 3) STEP; f += x[i]; }",
    "for (int i = 0; i < n; ++i);",
    # It is told to leave it.
    "\n#pragma unroll 1\nfor (int i = 0; i < n; ++i) f += x[i];",
    "\n#pragma nounroll\nfor (int i = 0; i < n; ++i) f += x[i];",
    # What stands before it may have to.
    '_Pragma("unroll") for (int i = 0; i < n; ++i) f += x[i];',
    "UNROLL(4) for (int i = 0; i < n; ++i) f += x[i];",
    "\n#if A\n#pragma unroll\n#endif\nfor (int i = 0; i < n; ++i) f += x[i];",
)
HEAD = "__global__ void k(float* x, int n, float f, int* p) { "


def metered(text: str) -> str:
    tree = parse_source(text.encode(), Path("k.cu"), {})
    return apply_edits(text, metering_edits(tree))


@pytest.mark.parametrize(("body", "count"), FORMS)
def test_an_unrolled_loop_counts_with_its_condition(body: str, count: int):
    text = metered(f"{HEAD}{body} }}")
    assert text.count(OPENS) == 1 and text.endswith(" } }")
    assert f"; warploom_loop.goes_on({count}u, " in text
    # Nothing of the loop's own is counted again but its bound, in front of it.
    assert "count_operations(" not in text.partition("Unrolled")[2]


@pytest.mark.parametrize("body", LEFT)
def test_what_cannot_overlap_stays_a_loop(body: str):
    assert "warploom_loop" not in metered(f"{HEAD}{body} }}")


def test_only_the_innermost_loop_is_unrolled():
    text = metered(
        HEAD + "for (int i = 0; i < n; ++i) { for (int j = 0; j < 4; ++j) f += x[i * 4 + j]; } }"
    )
    assert "i < n; ++i) { warploom::count_operations(1u); { warploom::Unrolled" in text
    assert text.count("Unrolled") == 1


def test_branches_and_labels_keep_their_loop():
    text = metered(HEAD + "if (n) for (int i = 0; i < n; ++i) f += x[i]; else f = 1; }")
    assert f"if (n) {OPENS}int i" in text and "f += x[i]; } else f = 1;" in text
    text = metered(HEAD + "again: for (int i = 0; i < n; ++i) f += x[i]; if (n) goto again; }")
    assert f"; {OPENS}int i" in text and "f += x[i]; } if (n)" in text


@pytest.mark.parametrize("pragma", ["#pragma unroll", "#pragma unroll 4 // four"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f = 1; // why", ""),
        ("{ // why", "}"),
        ("if (n)", ""),
        ("for (int j = 0; j < 3; ++j)", ""),
        ("switch (n) { case 0:", "}"),
    ],
)
def test_a_pragma_stays_in_front_of_its_loop(pragma: str, before: str, after: str):
    loop = f"\n{pragma}\n/* here */ for (int i = 0; i < n; ++i) f += x[i];"
    text = metered(f"{HEAD}{before}\n{loop}{after} }}")
    assert f"\n{pragma}\n/* here */ for (int i = 0; warploom_loop.goes_on(" in text
    place = text.index("{ warploom::Unrolled")
    assert "//" not in text[:place].splitlines()[-1] and place < text.index(pragma)


@pytest.mark.parametrize("before", ["if (n) // why", "if (n) f = 1; else"])
def test_a_pragma_that_cannot_be_moved_past_leaves_its_loop(before: str):
    loop = "#pragma unroll\nfor (int i = 0; i < n; ++i) f += x[i];"
    assert "Unrolled" not in metered(f"{HEAD}{before}\n{loop} }}")


def test_constants_and_lambdas_are_left_alone():
    loop = "float f = 0; for (int i = 0; i < n; ++i) f += x[i]; return f;"
    head = "__device__ float k(const float* x, int n)"
    assert "Unrolled" in metered(f"{head} {{ {loop} }}")
    assert "Unrolled" not in metered(f"constexpr {head} {{ {loop} }}")
    assert "Unrolled" not in metered(f"{head} {{ auto l = [&] {{ {loop} }}; return l(); }}")


@pytest.mark.parametrize(
    ("macro", "unrolled"),
    [
        ("float s = 0; for (int q = 0; q < (n); ++q) { s += x[q]; }", True),
        # What it adds to, and what else it does, may be anything that is handed to it.
        ("for (int q = 0; q < (n); ++q) s += x[q];", False),
        ("for (int q = 0; q < (n); ++q)", False),
        ("for (int q = 0; q < (n); ++q) body", False),
        ("for (int q = 0; q < (n); ++q) { body; }", False),
    ],
)
def test_loops_that_macros_make(macro: str, unrolled: bool):
    text = metered(f"#define EACH(s, n, body) {macro}\n{HEAD} EACH(f, n, x) }}")
    assert ("Unrolled" in text) == unrolled
    assert text.count("\n") == 1


def test_lines_stay_where_they_are():
    text = (
        HEAD + "\n  for (int i = 0;\n       i < n;\n       ++i)\n    f += x[i];\n  x[0] = f;\n}\n"
    )
    for before, after in zip(text.splitlines(), metered(text).splitlines(), strict=True):
        assert before.strip()[:4] in after


def test_they_compile_however_they_are_left(tmp_path: Path):
    """A macro may leave a loop, and conditions may be of any type that says yes or no."""
    program = tmp_path / "k.cu"
    bodies = [body for body, _ in FORMS]
    bodies += [f"f = 1;\n#pragma GCC unroll 4\n{body}" for body in bodies if body[:3] == "for"]
    loops = "\n".join(f"  {{ {body} }}" for body in bodies)
    program.write_text(
        "#include <cuda_runtime.h>\n#define fdimf(a, b) break\n#define fmodf(a, b) return\n"
        "struct Yes { int n; __device__ explicit operator bool() const { return n > 0; } };\n"
        "struct Place { int n; __device__ Yes operator<(int m) const { return {m - n}; }\n"
        "  __device__ Place& operator++() { n++; return *this; } };\n"
        "constexpr int kWide = 4;\n__device__ void left(float* x, int n, float f) {\n"
        "  for (int i = 0; i < n; ++i) { f += x[i]; fdimf(f, 1); }\n"
        "  for (int i = 0; i < n; ++i) { f += x[i]; fmodf(f, 1); } }\n"
        f"__global__ void k(float* x, int n, float f) {{\n{loops}\n"
        "  for (Place i{0}; i < n; ++i) f += x[0];\n  left(x, n, f); x[0] = f; }\n"
        "int main() { float* x; cudaMalloc(&x, 4096); cudaMemset(x, 0, 4096);\n"
        "  k<<<1, 32>>>(x, 9, 0); return cudaDeviceSynchronize(); }\n"
    )
    build(BuildSpec(program, timed=True))


OPERATORS = (
    "struct V { float v; __device__ float operator[](int i) const; };\n"
    "__device__ float operator*(V a, float b);\n"
    "#ifndef ROWS\n#define ROWS (2 * 32)  // a tile's\n#endif\n#define THAT all\n#define BOTH 1\n"
    "#define F(x) 2\n#define hidden all\n#define fmaf(a, b, c) (V(a) * b)\n"
    "constexpr int kRows = 64;\nnamespace n { V all; int far; }\n"
    "#ifdef ODD\n#define BOTH all\n#endif\n"
)


@pytest.mark.parametrize(
    ("loop", "unrolled"),
    [
        ("for (int i = 0; i < n; ++i) f += x[i];", True),
        ("float* y = x; for (int i = 0; i < ROWS; ++i) f += y[i] * x[i + threadIdx.x];", True),
        ("for (int i = 0; i < n; ++i) f += BOTH;", False),
        ("for (int i = 0; i < n; ++i) f += F;", False),
        ("for (int i = 0; i < kRows; ++i) f += x[i * far];", True),
        ("V v; for (int i = 0; i < n; ++i) f += v[i];", False),
        ("V v; for (int i = 0; i < n; ++i) f += v * f;", False),
        ("auto v = x; for (int i = 0; i < n; ++i) f += v[i];", False),
        ("for (int i = 0; i < n; ++i) f += all[i];", False),
        ("for (int i = 0; i < n; ++i) f += THAT[i];", False),
        ("for (int i = 0; i < n; ++i) f += unknown[i];", False),
        # What a cast or a macro makes is no number because its parts are.
        ("for (int i = 0; i < n; ++i) f += (V)x[i] * f;", False),
        ("for (int i = 0; i < n; ++i) f += V{x[i]} * f;", False),
        ("for (int i = 0; i < n; ++i) f += static_cast<V>(x[i]) * f;", False),
        ("for (int i = 0; i < n; ++i) f += (float)(size_t)x[i];", True),
        ("float hidden; for (int i = 0; i < n; ++i) f += hidden * x[i];", False),
        ("for (int i = 0; i < n; ++i) f = fmaf(x[i], f, f);", False),
        ("{ V y; } float* y = x; for (int i = 0; i < n; ++i) f += y[i];", False),
    ],
)
def test_a_file_with_operators_of_its_own(loop: str, unrolled: bool):
    """They decide nothing where all variables of a loop are numbers."""
    assert ("Unrolled" in metered(f"{OPERATORS}{HEAD} {loop} }}")) == unrolled


@pytest.mark.parametrize(
    ("file", "unrolled"),
    [
        ("using Phase = uint32_t; typedef size_t Count; using std::size_t;", True),
        ("namespace n { struct size_t { int a; }; }", False),
        ("using size_t = V;", False),
        ("typedef V size_t;", False),
        ("typedef struct { int a; } size_t;", False),
        ("template <class size_t> void other(size_t);", False),
        ("#define float V", False),
        ("#define size_t V", False),
        ("#define NAMED(a, b) using a = b\nNAMED(size_t, V);", False),
    ],
)
def test_names_of_numbers_that_a_file_gives_to_something_else(file: str, unrolled: bool):
    loop = "size_t s = 1; for (int i = 0; i < n; ++i) f += s * x[i];"
    assert ("Unrolled" in metered(f"{OPERATORS}{file}\n{HEAD} {loop} }}")) == unrolled
