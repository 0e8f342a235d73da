"""What a timed build counts: the operations of device code, block by block."""

import re
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import build
from warploom.emulator.metering.count import metering_edits
from warploom.source.edits import apply_edits
from warploom.source.syntax import parse_source

CALL = "warploom::count_operations"
ON_DEVICE = "warploom::count_on_device"
INSIDE = "warploom::count_in_argument"
AT_RUN_TIME = "warploom::count_at_run_time"


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
        ("f = __fadd_rn(__fmul_rn(f, f), f);", 2),
        ("f = __fdiv_rz(f, f);", 11),
        ("f = __builtin_fmaf(f, f, f);", 1),
        ("f = ::std::max<float>(f, n);", 1),
        ("f = (fmaf)(f, f, f);", 1),
        ("f = std::multiplies<float>{}(f, f);", 1),
        ("f = atan2f(f, f);", 23),
        ("n = __viaddmin_s32(n, n, n);", 1),
        ("f = __int_as_float(__shfl_sync(~0u, n, 1));", 0),
        ("f = f < (f = f * f) > (0);", 1),
        ('asm("mul.f32 %0, %0, %1;\\n\\tfma.rn.f32 %0, %1, %1, %0;" : "+f"(f) : "f"(f * f));', 3),
        ('asm volatile("{ .reg .f32 t; @p div.rn.f32 t, t, %0; ld.f32 t, [%1]; }" :: "f"(f));', 11),
        # What the assembler reads: behind comments, labels and predicates, and in raw strings.
        ('asm("// one\\n\\tdiv.rn.f32 %0, %0, %0;" : "+f"(f));', 11),
        ('asm("A1: @p div.rn.f32 %0, %0, %0;" : "+f"(f));', 11),
        ('asm(R"(div.rn.f32 %0, %0, %0;)" : "+f"(f));', 11),
        ("if (n > 1 && f < 2) f = f + 1;", 3),
        ("f = sizeof(x[n]);", 0),
        ("f = sizeof(n + 1);", 0),
        # An array's bound that is no constant is evaluated, also where nothing else is.
        ("f = sizeof(char[(f = f * f, 1)]);", 1),
        ("f = sizeof(T[(f = f * f, 1)]);", 1),
        ("f = sizeof(char[n * n]);", 1),
        ("char room[(f = f * f, 1)];", 1),
        ("char room[2][n * n + n];", 1),
        ("typedef char Room[n * n];", 1),
        ("using Room = char[n * n];", 1),
        ("decltype(sizeof(char[n * n])) q = 0;", 1),
        ("float tile[4 * 8 + 1];", 0),
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


# Loops that nvcc unrolls have a form of their own (test_metering_loops.py): these store.
def test_a_loop_counts_in_its_body():
    text = kernel("for (int i = 0; i < n; i++) { x[i] = f + x[i]; }")
    assert f"{{ {CALL}(4u); x[i] = f + x[i]; }}" in text


def test_a_loop_without_braces_counts_in_its_step():
    text = kernel("for (int i = 0; i < n; i++) x[i] = f + x[i];")
    assert f"i++, {CALL}(4u)) x[i] = f + x[i];" in text


def test_branches_with_braces_count_for_themselves():
    text = kernel("if (n) { f = f + 1; } else { f = f * f * f; }")
    assert f"{{ {CALL}(1u); f = f + 1; }}" in text
    assert f"{{ {CALL}(2u); f = f * f * f; }}" in text


def test_a_switch_counts_the_case_that_runs():
    text = kernel("switch (n) { case 0: f = f + 1; break; case 1: f = f * f * f * f; break; }")
    assert f"case 0: {CALL}(1u); f = f + 1;" in text
    assert f"case 1: {CALL}(3u); f = f * f * f * f;" in text and text.count(CALL) == 3


@pytest.mark.parametrize(
    ("body", "counted"),
    [
        ("while (n++ < 9) f = f * f;", "while (({}(3u), n++ < 9)) f"),
        ("while (int q = n--) f = f * q;", "while (int q = ({}(2u), n--)) f"),
        ("do f = f * f; while (f < 9);", "do {{ {}(2u); f = f * f; }} while"),
        ("for (; n++ < 9;) f = f * f;", "for (; n++ < 9; {}(3u)) f"),
        ("for (;;) if (f *= f, f > 9) break;", "for (;; {}(2u)) if"),
        ("for (;; n++) if (f *= f, f > 9) break;", "for (;; n++, {}(3u)) if"),
        ("for (; n < 9;) if (f *= f, f > 9) break;", "for (; ({}(3u), n < 9);) if"),
        ("for (float v : pair) f = f * v;", "for (float v : pair) {{ {}(1u); f = f * v; }}"),
    ],
)
def test_loops_without_braces_count_each_time(body: str, counted: str):
    assert counted.format(CALL) in kernel(body)


def test_a_jump_back_into_a_block_counts_what_is_behind_the_block():
    text = kernel("int q = 0; if (n) { again: ; } f = f * f * f; if (++q < n) goto again;")
    assert f"again: {CALL}(4u);" in text
    text = kernel("for (; n--;) { if (f < n) goto next; f = f * f; next: ; } f = f * f * f;")
    assert f"next: {CALL}(1u);" in text
    twice = "__device__ void g(float f) { out: f = f + 1; }"
    text = metered(f"{twice} __device__ void h(float f) {{ out: f = f * f * f; goto out; }}")
    assert f"out: {CALL}(1u); f = f + 1" in text and f"out: {CALL}(2u);" in text


@pytest.mark.parametrize(
    ("pack", "counted"),
    [
        ("((f = f * N), ...)", "((warploom::count_at_run_time(1u), (f = f * N)), ...)"),
        ("(f + ... + N)", "+ (warploom::count_at_run_time(1u), N))"),
        ("use(N * f...)", "use((warploom::count_at_run_time(1u), N * f)...)"),
    ],
)
def test_each_element_of_a_pack_counts(pack: str, counted: str):
    text = metered("template <int... N> __device__ void k(float f) { " + pack + "; }")
    assert counted in text


@pytest.mark.parametrize(
    "head",
    [
        "__global__ /* consteval */ void",
        "__global__ // consteval\\\n still\n void",
        '__global__ [[deprecated("consteval")]] void',
        "#define consteval\n__global__ consteval void",
    ],
)
def test_words_in_a_head_hide_no_arithmetic(head: str):
    assert "(2u);" in metered(f"{head} k(float f) {{ f = f * f * f; }}")


def test_comments_make_no_constants_of_variables():
    text = metered("// constexpr float G\n__device__ float f(float a = G * G) { return a; }")
    assert "(1u)" in text


def test_labels_in_a_row_are_counted_in_time():
    text = kernel(" ".join(f"L{n}: f = f * f;" for n in range(200)) + " if (n--) goto L7;")
    assert f"L0: {CALL}(201u);" in text and f"L199: {CALL}(2u);" in text
    text = kernel("switch (n) { " + " ".join(f"case {n}:" for n in range(40)) + " f = f * f; }")
    assert f"{CALL}(12u); switch" in text


def test_long_names_are_read_in_time():
    name = "a" * 60000
    assert f"{CALL}(1u)" in kernel(f"f = {name}(f * f);")


@pytest.mark.parametrize(
    "text",
    [
        "__device__ float of(float f);\nfloat of(float f) {BODY}\nUSE(of(f))",
        "struct S { __device__ float of(float f); };\nfloat S::of(float f) {BODY}\nUSE(S().of(f))",
        "struct S { __device__ S(float f); float v; };\nS::S(float f) : v(f) {BODY}\nUSE(S(f).v)",
        "template <class T> __device__ T of(T f) { return f; }\n"
        "template <> float of(float f) {BODY}\nUSE(of(f))",
        "float deep(float f) {BODY}\nfloat of(float f) { return deep(f); }\nUSE(of(f))",
        "#define MARK(x) x\nMARK(__device__) MARK(float of)(float f) {BODY}\nUSE(of(f))",
        "struct V { float v; __device__ V operator*(V o); };\n"
        "V V::operator*(V o) { float f = v; BODY }\nUSE((V{f} * V{f}).v)",
        "#define CALLED of\nfloat of(float f) {BODY}\nUSE(CALLED(f))",
    ],
)
def test_what_device_code_names_counts_there_whatever_marks_it_has(text: str):
    body = " return f * f * f * f; "
    text = text.replace("BODY", body).replace("USE(", "__global__ void k(float f) { f = ") + "; }"
    text = text.removesuffix("); }") + "; }"
    counted = metered(text)
    assert re.search(rf"(?:{CALL}|{ON_DEVICE})\((?:3|4)u\);", counted), counted


def test_host_code_is_left_alone():
    assert "warploom" not in metered("void host(float f, float g = F * 2) { f = f + 1; }")
    assert f"{AT_RUN_TIME}(1u)" in metered("consteval __device__ int two() { return 1 + 1; }")
    assert f"{AT_RUN_TIME}(1u)" in metered("constexpr int next(int n) { return n + 1; }")
    assert "warploom" not in metered("void host() { auto f = [](int n) { return n + 1; }; }")
    assert "(1u)" in metered("void host() { auto f = [] __device__(int n) { return n + 1; }; }")
    assert CALL in metered("template <int N> __device__ int two() { return N + 1; }")


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


def test_all_forms_that_are_counted_compile(tmp_path: Path):
    program = tmp_path / "k.cu"
    program.write_text(
        "#include <cuda_runtime.h>\n"
        "template <int... N> __host__ __device__ constexpr int sum() {\n"
        "  if constexpr (((N > 0) && ...)) return (N + ...); else return (0 + ... + (N * 2)); }\n"
        "static_assert(sum<1, 2, 3>() == 6 && sum<-1, 1>() == 0);\n"
        "template <class... T> __device__ float all(T... values) {\n"
        "  float total = 0; ((total += values * 2), ...); (total += ... += values);\n"
        "  const float list[] = {(values * 2.0f)...}; return total + list[0]; }\n"
        "consteval int two() { return 1 + 1; }\n"
        "constexpr int pick(int n) { switch (n) { case 1: return n + 1; default: return n * 3; }}\n"
        "constexpr int steps(int n) { int s = 0; while (n-- > 0) s += n;\n"
        "  do s -= 1; while (s > 9);\n"
        "  for (int v : {1, 2}) s += v * n; for (;;) if (s++ > 3) break; return s; }\n"
        "static_assert(pick(1) == 2 && steps(3) > 0);\n"
        "__global__ void k(float* x, int n) {\n"
        "  float f = x[0];\n"
        "  while (int q = n--) f = f * q;\n"
        "  if (n) { again:; } f = f * 2; if (n++ < 3) goto again;\n"
        "  for (; n < 9;) if (f *= f, n++ > 5) break;\n"
        '  asm("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f) : "f"(f * 2));\n'
        "  x[0] = __fadd_rn(f, all(f, f + 1)) + two() + pick(n) + steps(n); }\n"
        "template <class F> __global__ void call(F f, float* x) { x[0] = f(x[0]); }\n"
        "int main() { float* x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4); k<<<1, 1>>>(x, 2);\n"
        "  call<<<1, 1>>>([] __device__(float f) { return f * f; }, x);\n"
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


def test_macros_in_macros_count_however_deep_they_lie():
    text = "#define M0(s, a) ((s) += (a) * (a))\n"
    text += "".join(f"#define M{n}(s, a) M{n - 1}(s, a)\n" for n in range(1, 12))
    assert f"{{ {CALL}(1u); M11(f, f); }}" in metered(
        text + "__global__ void k(float f) { M11(f, f); }"
    )


@pytest.mark.parametrize(
    ("macro", "use", "counted"),
    [
        # What changes something is done each time, and what is the same each time is done once.
        ("TWICE(a) a; a", "TWICE(f = f * 2)", f"{CALL}(0u)TWICE(({INSIDE}(1u), f = f * 2))"),
        ("MAX(a, b) ((a) > (b) ? (a) : (b))", "f = MAX(f * 2, f)", f"{CALL}(3u)f = MAX(f * 2, f)"),
        # In loops nothing is known to be the same.
        (
            "ALL(a) for (int q = 0; q < 9; q++) { f += a; }",
            "ALL(q * q)",
            f"{CALL}(0u)ALL(({INSIDE}(1u), q * q))",
        ),
        ("ANY(...) f = __VA_ARGS__", "ANY(f * f)", f"{CALL}(0u)ANY(({INSIDE}(1u), f * f))"),
        # What may be a type stays as it is.
        ("NEW(a) a = 0; (void)p; (void)p", "NEW(T * p)", f"{CALL}(1u)NEW(T * p)"),
    ],
)
def test_arguments_count_as_often_as_a_macro_repeats_them(macro: str, use: str, counted: str):
    text = metered(f"#define {macro}\nstruct T;\n__global__ void k(float f, int q) {{ {use}; }}")
    kernel = text.partition("__global__")[2].replace(f"{CALL}(", "", 0)
    start = kernel.index("{ ") + 2
    call, shown = counted.split(")", 1)
    assert kernel[start:].startswith(shown if call.endswith("(0u") else f"{call}); {shown}")


def test_values_of_members_count_for_each_object_of_a_local_class():
    text = metered(
        "__global__ void k(float f) {\n"
        "  struct S { S(float a) : v(a * a + 1 - a) {} float v; };\n"
        "  for (int i = 0; i < 9; i++) { S s(f); f = s.v; }\n}"
    )
    assert f"v(a * a + 1 - a) {{ {CALL}(2u);}}" in text


def test_functions_that_macros_define_are_counted():
    text = metered(
        "#define KERNEL(name) __global__ void name(float* x) { x[0] = x[0] * 2; }\nKERNEL(k)"
    )
    assert f"{{ {CALL}(3u);" in text


def test_another_name_of_a_function_costs_what_it_does():
    text = metered("#define STEP fmaf\n__global__ void k(float f) { f = STEP(f, f, f); }")
    assert f"{{ {CALL}(1u);" in text


def test_lists_of_values_are_left_alone():
    lists = "#define PAIR {1 + 1, 2}\n__global__ void k(int* x) { int a[2] = PAIR; }"
    assert CALL not in metered(lists)


@pytest.mark.parametrize(
    ("statement", "pattern"),
    [
        (
            "int d[] = {((x = x * f + n, x = f + x, n = n * 2, n = n + x), Is)...};",
            "((x = x * f + n, x = f + x, n = n * 2, n = n + x), Is)",
        ),
        ("int d[] = {(x = x * f, Is)...};", "(x = x * f, Is)"),
        ("g(1, ((x = x * f, n = x + f), Is)...);", "((x = x * f, n = x + f), Is)"),
    ],
)
def test_a_pack_that_the_parser_misreads_counts_for_each_element(statement: str, pattern: str):
    text = metered(
        "template <int... Is> __device__ void k(float x, int n, float f) { " + statement + " }"
    )
    before, found, after = text.partition(pattern)
    assert found
    counts = re.findall(re.escape(AT_RUN_TIME) + r"\((\d+)u\), ", before)
    assert sum(map(int, counts)) >= sum(pattern.count(sign) for sign in "*+")
    assert after.startswith(")")


def test_packs_that_are_plain_are_left_alone():
    body = "g(Is...); auto l = [](auto... a) { return h(a...); }; n = sizeof...(Is); bad bad bad;"
    assert AT_RUN_TIME not in metered(
        "template <int... Is> __device__ void k(int n) { " + body + " }"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Control jumps past the start of a block to a label inside of it.
        ("switch (0) { { case 0: f = f + 1; } }", f"{{ {{ case 0: {CALL}(1u); f = f + 1; }} }}"),
        (
            "switch (0) { { { case 0: ; } f = f * 2; } }",
            f"{{ {{ {CALL}(1u); {{ case 0: {CALL}(1u); ; }} f = f * 2; }} }}",
        ),
        (
            "switch (1) { case 1: { case 0: ; } f = f + 1; }",
            f"case 1: {CALL}(1u); {{ case 0: {CALL}(1u); ; }} f = f + 1;",
        ),
        # What follows belongs to the block around it, although the parser gives it to the label.
        (
            "switch (1) { case 1: if (0) case 0: ; f = f + 1; }",
            f"case 1: {CALL}(1u); if (0) case 0: {{ {CALL}(1u); ; }} f = f + 1;",
        ),
        ("switch (n) case 0: f = f + 1;", f"switch (n) case 0: {{ {CALL}(1u); f = f + 1; }}"),
        (
            "switch (n) { case 0: f = f + 1; break; default: f = f * 2 * 3; }",
            f"{{ case 0: {CALL}(1u); f = f + 1; break; default: {CALL}(2u); f = f * 2 * 3; }}",
        ),
    ],
)
def test_each_case_counts_where_control_comes_to_it(body: str, expected: str):
    assert expected in kernel(body)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        # A variable before `<`: a comparison, whatever the parser takes it for.
        ("n = f < n * n + n > (0);", 1),
        ("n = n < sqrtf(f) > (0);", 11),
        ("f < f * f * f > n;", 2),
        ("threadIdx.x < f * f > (0);", 1),
        ("f = mine<4 * 4>(f);", 0),
        ("f = std::mine<N * 4>(f);", 0),
    ],
)
def test_what_is_compared_is_no_template(body: str, count: int):
    text = kernel(body)
    assert text.count(CALL) == (count > 0)
    assert not count or f"{CALL}({count}u);" in text


def test_own_comparisons_are_no_templates():
    own = "struct S { S& operator<(float); }; S s(); template <int N> void mine();"
    text = metered(own + " __device__ void k(float f) { other < f * f > (0); mine<3 * 4>(); }")
    assert f"{{ {CALL}(1u); other" in text
    text = metered("#define GO(a) a < f * f > (0)\n__global__ void k(float f, float b) { GO(b); }")
    assert f"{{ {CALL}(1u); GO(b)" in text


def test_a_body_may_be_a_try():
    text = metered(
        "__device__ void k(float f) try { f = f * 2; } catch (...) { f = f / 2; }"
        " struct S { float x; __device__ S(float f) try : x(f * 3) { } catch (...) { } };"
    )
    assert f"try {{ {CALL}(1u); f = f * 2;" in text
    assert f"(...) {{ {CALL}(11u); f = f / 2;" in text
    assert f"x(f * 3) {{ {CALL}(1u);" in text
