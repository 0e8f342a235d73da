"""Files of the user that a compiler reads, and work that costs no modelled time."""

from warploom.testing.attacks.play import PLACEHOLDER
from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import (
    AGENT,
    CHECK,
    FREE,
    helper,
    in_pipeline,
    made,
    put_before,
    swap,
    then,
    whole,
)  # fmt: skip

_LEAK, _METER = "compile-time leaks", "metering"
_SIZES = {"HIDDEN": "64", "FFN": "256"}
"""Sizes at which arithmetic is what the time is made of."""

_INCBIN = f'.incbin \\"{PLACEHOLDER}\\"'
_ASM = 'extern "C" const char stolen[];\n'
_FILES: dict[str, str] = {
    "asm_top": f'__asm__(".pushsection .rodata\\nstolen: {_INCBIN}\\n.byte 0\\n.popsection");\n{_ASM}',
    "asm_include": f'__asm__(".include \\"{PLACEHOLDER}\\"");',
    "include": f'#include "{PLACEHOLDER}"',
    "include_macro": f'#define WHERE "{PLACEHOLDER}"\n#include WHERE',
    "include_next": f'#include_next "{PLACEHOLDER}"',
    "embed": f"static const char kStolen[] = {{\n#embed \"{PLACEHOLDER}\"\n}};",
    "label": f'static int near __asm__("near\\n{_INCBIN}\\n#");',
    "section_text": '__attribute__((section(".rodata\\n' + _INCBIN + '\\n.byte 0\\n#")))'
    ' const char kMark[] = "x";',
    "alias": 'extern "C" int real() { return 1; }\nint other() __attribute__((alias("real\\n'
    + _INCBIN + '\\n#")));',
    "pragma_dependency": f'#pragma GCC dependency "{PLACEHOLDER}"',
    "line_marker": f'#line 1 "{PLACEHOLDER}"\nint broken = no_such_name;',
    "device_asm": f'__device__ inline void take() {{ asm volatile("{_INCBIN}"); }}',
    "operand": f'static void take() {{ asm volatile("{_INCBIN}" ::: "memory"); }}\n'
    "inline void used() { take(); }",
    "topfile_password": '#include "/etc/passwd"',
}  # fmt: skip


def _leaks() -> list[Attack]:
    found = [
        made(f"leak_{name}", _LEAK, helper(text), (AGENT, FREE), Expected.NO_LEAK)
        for name, text in _FILES.items()
        if name != "topfile_password"
    ]
    main = (
        "#include <cuda_runtime.h>\n#include <cstdio>\n{}\n"
        'int main() {{ cudaFree(nullptr); printf("LEAK:%s\\n", {}); }}\n'
    )
    checked = {
        "asm_top": main.format(_FILES["asm_top"], "stolen"),
        "include": main.format(f'const char* kWords = R"(\n#include "{PLACEHOLDER}"\n)";', "kWords"),
        "error_text": main.format(f"int kWords =\n#include \"{PLACEHOLDER}\"\n;", '"none"'),
        "string_concat": main.format(
            f"#define TEXT(...) #__VA_ARGS__\nconst char* kWords = \"\"\n#include \"{PLACEHOLDER}\"\n;",
            "kWords"),
        "asm_in_main": main.format(
            "", f'[] {{ const char* p; asm("lea 1f(%%rip), %0\\njmp 2f\\n1: {_INCBIN}\\n.byte 0\\n2:"'
            ' : "=r"(p)); return p; }()'),
    }  # fmt: skip
    found += [
        made(f"leak_check_{name}", _LEAK, whole(text), (CHECK,),
             Expected.NO_LEAK, ranks=1)
        for name, text in checked.items()
    ]  # fmt: skip
    run = (
        "#include <cuda_runtime.h>\n#include <cstdio>\n"
        'int main() {{ cudaFree(nullptr); char b[200] = {{}}; {} printf("LEAK:%s\\n", b); }}\n'
    )
    opened = run.format(f'if (FILE* f = fopen("{PLACEHOLDER}", "r")) (void)!fread(b, 1, 99, f);')
    found.append(made("leak_run_fopen", _LEAK, whole(opened), (CHECK,), Expected.NO_LEAK, ranks=1,
                      row="read-only file system"))  # fmt: skip
    return found


_DOT = "for (int h = 0; h < HIDDEN; ++h) sum += w[h] * x[h];"
_DOT2 = "for (int f = 0; f < FFN; ++f) sum += w[f] * hidden[f];"
_WAYS: dict[str, tuple[str, str]] = {
    # name: (helpers, call): the same sums, in words that are not counted
    "macro_step": ("#define STEP(s, a, b) s += (a) * (b)\n#define REST(s, a, b, n) "
                   "for (int q = 0; q < (n); ++q) { STEP(s, a[q], b[q]); }", "REST(sum, w, {v}, {n})"),
    "function": ("template <class F> __device__ inline float fold(F f, int n) { float s = 0;"
                 " for (int q = 0; q < n; ++q) s = f(s, q); return s; }",
                 "sum = fold([&](float s, int q) {{ return s + w[q] * {v}[q]; }}, {n});"),
    "operator": ("struct Real { float v; };\n__device__ inline Real operator*(Real a, Real b) {"
                 " return {a.v * b.v}; }\n__device__ inline Real& operator+=(Real& a, Real b) {"
                 " a.v += b.v; return a; }",
                 "{{ Real s{{0}}; for (int q = 0; q < {n}; ++q) s += Real{{w[q]}} * Real{{{v}[q]}};"
                 " sum = s.v; }}"),
    "fused": ("", "for (int q = 0; q < {n}; ++q) sum = fmaf(w[q], {v}[q], sum);"),
    "library": ("#include <numeric>", "sum = std::inner_product(w, w + {n}, static_cast<const float*>"
                "({v}), 0.0f);"),
    "index": ("", "{{ int q = 0; again: sum += w[q] * {v}[q]; if (++q < {n}) goto again; }}"),
    "lambda_default": ("", "{{ auto step = [&](int q, float p) {{ sum += p; return q; }};"
                       " for (int q = 0; q < {n}; q = step(q, w[q] * {v}[q]) + 1) {{}} }}"),
    "expression_macro": ("#define EACH(n, body) for (int q = 0; q < (n); ++q) body",
                         "EACH({n}, sum += w[q] * {v}[q];)"),
    "loop_macro": ("#define OVER(n) for (int q = 0; q < (n); ++q)",
                   "OVER({n}) sum += w[q] * {v}[q];"),
    "half_macros": ("#define BEGIN(n) for (int q = 0; q < (n); ++q) {\n#define END }",
                    "BEGIN({n}) sum += w[q] * {v}[q]; END"),
    "operator_macro": ("#define TERM(q, v) + w[q] * v[q]\n#define FOUR(q, v) TERM(q, v)"
                       " TERM(q + 1, v) TERM(q + 2, v) TERM(q + 3, v)",
                       "for (int q = 0; q < {n}; q += 4) sum = sum FOUR(q, {v});"),
    "nested_macros": ("#define M0(q, v) (sum += w[q] * v[q])\n#define M1(q, v) M0(q, v)\n"
                      "#define M2(q, v) M1(q, v)\n#define M3(q, v) M2(q, v)\n"
                      "#define M4(q, v) M3(q, v)\n#define M5(q, v) M4(q, v)\n"
                      "#define M6(q, v) M5(q, v)", "for (int q = 0; q < {n}; ++q) M6(q, {v});"),
    "repeated_argument": ("#define TWICE(a) a; a\n#define TIMES8(a) TWICE(TWICE(TWICE(a)))",
                          "for (int q = 0; q < {n};) TIMES8((sum += w[q] * {v}[q], ++q));"),
    "argument_in_loop": ("#define ALL(n, a) for (int q = 0; q < (n); ++q) { a; }",
                         "ALL({n}, sum += w[q] * {v}[q])"),
    "misread": ("", "for (int q = 0; q < {n}; ++q) sum = (sum += w[q] * {v}[q], sum) > 1e30f ? 0"
                " : sum;"),
    "digraph": ("", "for (int q = 0; q < {n}; ++q) <% sum += w[q] * {v}[q]; %>"),
    "redeclared": ("__device__ float term(float, float);\nfloat term(float a, float b)"
                   " { return a * b; }", "for (int q = 0; q < {n}; ++q) sum += term(w[q], {v}[q]);"),
    "outside": ("struct Term { __device__ float of(float, float); };\nfloat Term::of(float a,"
                " float b) { return a * b; }",
                "for (int q = 0; q < {n}; ++q) sum += Term().of(w[q], {v}[q]);"),
    "juxtaposed": ("#define BOTH(a, b) a b",
                   "for (int q = 0; q < {n}; ++q) sum += BOTH(w[q], *{v}[q]);"),
    "list_macro": ("#define DO(q, v) {if (sum += w[q] * v[q]) {}}",
                   "for (int q = 0; q < {n}; ++q) DO(q, {v})"),
    "defined_anew": ("#define DO(q, v) sum += w[q] * v[q]",
                     "for (int q = 0; q < {n}; ++q) DO(q, {v});\n#undef DO\n#define DO(q, v) q\n"),
    "bound": ("", "for (int q = 0; q < {n}; ++q) for (int r = 0; r < ((sum += w[q] * {v}[q]) < 1e30f"
              " ? 0 : 1); ++r) {{}}"),
    "vexing": ("", "for (int q = 0; q < {n}; ++q) {{ float x1 = w[q], x2 = {v}[q]; float t(x1 * x2);"
               " sum += t; }}"),
    "constructor": ("", "{{ struct S {{ S(float& s, float a, float b, int) : v(s += a * b) {{}}"
                    " float v; }}; for (int q = 0; q < {n}; ++q) S(sum, w[q], {v}[q], 0); }}"),
}  # fmt: skip


def _meter() -> list[Attack]:
    found: list[Attack] = []
    for name, (text, call) in _WAYS.items():
        edit = then(
            put_before("constexpr int kAssignments", text + "\n"),
            swap((_DOT, call.format(v="x", n="HIDDEN")),
                 (_DOT2, call.format(v="hidden", n="FFN").replace("again", "again2"))),
        )  # fmt: skip
        found.append(made(f"meter_{name}", _METER, edit, (FREE,), Expected.NO_GAIN, free=True,
                          row="impossible speed", defines=_SIZES))  # fmt: skip
    host = then(
        in_pipeline("  // nothing of the expert's work is left to the device\n"),
        swap(
            (
                "  expert_mlp<<<grid, 32, 0, stream>>>(layer.recv, layer.recv_count, layer.w1,"
                " layer.w2,\n                                      layer.answer);",
                "  CUDA_CHECK(cudaStreamSynchronize(stream));\n  on_host(layer);",
            ),
            (
                "static void run_layer(",
                "static void on_host(const Layer& l) {\n"
                "  size_t rows = static_cast<size_t>(l.ranks) * EXPERTS_PER_RANK * l.capacity;\n"
                "  std::vector<float> in(rows * HIDDEN), out(rows * HIDDEN);\n"
                "  std::vector<float> w1(EXPERTS_PER_RANK * FFN * HIDDEN), w2(w1.size());\n"
                "  CUDA_CHECK(cudaMemcpy(in.data(), l.recv, in.size() * 4, cudaMemcpyDeviceToHost));\n"
                "  CUDA_CHECK(cudaMemcpy(w1.data(), l.w1, w1.size() * 4, cudaMemcpyDeviceToHost));\n"
                "  CUDA_CHECK(cudaMemcpy(w2.data(), l.w2, w2.size() * 4, cudaMemcpyDeviceToHost));\n"
                "  for (size_t r = 0; r < rows; ++r) {\n"
                "    size_t e = r / l.capacity % EXPERTS_PER_RANK;\n    float hid[FFN];\n"
                "    for (int f = 0; f < FFN; ++f) { float s = 0; for (int h = 0; h < HIDDEN; ++h)"
                " s += w1[(e * FFN + f) * HIDDEN + h] * in[r * HIDDEN + h]; hid[f] = s > 0 ? s : 0; }\n"
                "    for (int h = 0; h < HIDDEN; ++h) { float s = 0; for (int f = 0; f < FFN; ++f)"
                " s += w2[(e * HIDDEN + h) * FFN + f] * hid[f]; out[r * HIDDEN + h] = s; }\n  }\n"
                "  CUDA_CHECK(cudaMemcpy(l.answer, out.data(), out.size() * 4,"
                " cudaMemcpyHostToDevice));\n}\n\nstatic void run_layer(",
            ),
        ),
    )
    found.append(made("meter_host_work", _METER, host, (FREE,), Expected.NO_GAIN, free=True,
                      row="impossible speed", defines=_SIZES))  # fmt: skip
    return found


VARIANTS = (*_leaks(), *_meter())
