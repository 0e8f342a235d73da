"""Level 0 of programs without a frame: attacks in any place are refused, what rules make is not."""

import time
from pathlib import Path

import pytest

from warploom.core.records import Api, Finding, Severity
from warploom.evaluation.legality.object_rules import init_findings
from warploom.evaluation.transform_rule import TransformRule, text_findings
from warploom.propose import Stage
from warploom.propose.rules import RewritePlan, rewrite
from warploom.source import CUDAAnalyzer
from warploom.source.regions import Program

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*/*.cu"))
MOE = (EXAMPLES / "moe" / "moe.cu").read_text()


def judged(text: str, trusted: str = MOE, api: Api | None = None) -> list[Finding]:
    rule = TransformRule(api, untrusted=True)
    found = text_findings(Program(text), Program(trusted), rule, "candidate.cu")
    return [item for item in found if item.severity == Severity.ERROR]


@pytest.mark.parametrize("api", list(Api))
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_rules_make_is_legal_as_text(path: Path, api: Api) -> None:
    plan = RewritePlan(api, Stage.DEVICE, markers=False)
    made = rewrite(path.read_text(), CUDAAnalyzer(path).analyze(), plan).text
    assert judged(made, path.read_text(), api) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_honest_program_is_legal_beside_another(path: Path) -> None:
    """Nothing is inherited: the trusted program is another one."""
    other = EXAMPLES / ("attention" if path.stem == "moe" else "moe")
    found = judged(path.read_text(), next(other.glob("*.cu")).read_text())
    assert [item for item in found if "tells the time" not in item.message] == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('__attribute__((no_sanitize("thread"))) __device__ void f() {}', "attribute"),
        ("#define NS no_sanitize_thread\n__attribute__((NS)) __device__ void f() {}", "attribute"),
        ("[[gnu::no_sanitize_address]] __device__ void f() {}", "attribute"),
        ('static void f() { asm volatile("syscall"); }', "inline_assembly"),
        ('extern int watching asm("_ZN8warploom10g_watchingE");', "inline_assembly"),
        ("static int early = std::rand();", "static_constructor"),
        ("#ifdef __CUDA_ARCH__\n__device__ int a;\n#endif", "forbidden_directive"),
        ("#if __has_include(<thrust/version.h>)\n__device__ int a;\n#endif", "forbidden_directive"),
        ("static double now() { return MPI_Wtime(); }", "forbidden_call"),
        ("static void* where() { return (void*)&cudaFree; }", "forbidden_call"),
        ('#line 3 "other.cu"', "forbidden_directive"),
        ("#include <fstream>", "forbidden_include"),
        (
            "static int which() { int v; cublasGetVersion(nullptr, &v); return v; }",
            "forbidden_call",
        ),
        ("#include <dlfcn.h>", "forbidden_include"),
        ("bool operator!=(cudaError_t, cudaError_t) { return false; }", "redefinition"),
        ("#define __CUDA_ARCH__ 900", "redefinition"),
        ("static void f() { std::set_terminate(nullptr); }", "forbidden_call"),
        ("namespace s = std;\nstatic void f() { s::set_new_handler(nullptr); }", "forbidden_call"),
        ("namespace warploom { extern int g_watching; }", "reserved_name"),
    ],
)
def test_attacks_in_free_text(text: str, kind: str) -> None:
    at = MOE.index("struct Layer")
    line = MOE[:at].count("\n") + 1
    found = judged(f"{MOE[:at]}{text}\n{MOE[at:]}")
    assert kind in {item.kind for item in found}
    lines = [item.line or 0 for item in found if item.kind == kind]
    assert all(line <= place <= line + text.count("\n") for place in lines)


@pytest.mark.parametrize(
    "text",
    [
        "#define OVER(n) for (int i = 0; i < (n); ++i)\n"
        "__device__ void f(float g) { OVER(9) g *= g; }",
        "__device__ float f(float g) { return (g = g * g, g = g * g, g) > 2 ? g : 1; }",
    ],
)
def test_text_that_cannot_be_counted_is_told(text: str) -> None:
    at = MOE.index("struct Layer")
    candidate = Program(f"{MOE[:at]}{text}\n{MOE[at:]}")
    found = text_findings(candidate, Program(MOE), TransformRule(None, untrusted=True), "c.cu")
    assert {(item.kind, item.severity) for item in found} == {("unread_text", Severity.WARNING)}


@pytest.mark.parametrize(
    "text",
    [
        '#include <iostream>\nstatic void say() { std::cout << "moe" << std::endl; }',
        "#include <random>\nstatic std::vector<float> noise(int n) {\n  std::mt19937 r(1);\n"
        "  std::normal_distribution<float> d;\n  std::vector<float> v(n);\n"
        "  std::generate(v.begin(), v.end(), [&] { return d(r); });\n  return v;\n}",
        "#include <string>\nstatic std::string name(int r) { return std::to_string(r) + \"x\"; }",
        "static void need(bool ok) {\n  if (!ok) { fprintf(stderr, \"no\"); exit(1); }\n}",
        "#define MY_CHECK(x) do { if ((x) != cudaSuccess) std::abort(); } while (0)\n"
        "static void sync() { MY_CHECK(cudaDeviceSynchronize()); }",
        "template <typename T> struct Buffer {\n  T* p = nullptr;\n  explicit Buffer(size_t n) "
        "{ cudaMalloc(&p, n * sizeof(T)); }\n  ~Buffer() { cudaFree(p); }\n};",
        "#ifdef VERBOSE\nconstexpr bool kSay = true;\n#else\nconstexpr bool kSay = false;\n#endif",
        "#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)\nconstexpr int kNew = 1;\n#endif",
        "static float send[4], recv[4];\nstatic float* both[] = {send, recv};",
        "#include <cub/cub.cuh>\n__global__ void sum(const float* in, float* out) {\n"
        "  using Reduce = cub::BlockReduce<float, 128>;\n"
        "  __shared__ typename Reduce::TempStorage temp;\n"
        "  const float all = Reduce(temp).Sum(in[threadIdx.x]);\n"
        "  if (threadIdx.x == 0) *out = all;\n}",
        "#include <thrust/device_vector.h>\n#include <thrust/reduce.h>\nstatic int total(int n) {\n"
        "  thrust::device_vector<int> ones(n, 1);\n"
        "  return thrust::reduce(ones.begin(), ones.end());\n}",
        "#include <cublas_v2.h>\nstatic cublasStatus_t twice(cublasHandle_t h, float* x, int n) {\n"
        "  const float two = 2;\n  cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);\n"
        "  return cublasSscal(h, n, &two, x, 1);\n}",
    ],
)  # fmt: skip
def test_ordinary_host_code_is_not_accused(text: str) -> None:
    at = MOE.index("struct Layer")
    assert judged(f"{MOE[:at]}{text}\n{MOE[at:]}") == []


def test_a_large_program_is_judged_soon() -> None:
    at = MOE.index("// One block per assignment copies")
    end = MOE.index("// Device buffers of one layer.")
    kernels = MOE[at:end]
    more = [
        kernels.replace("dispatch_tokens", f"dispatch_{i}").replace("expert_mlp", f"mlp_{i}")
        .replace("combine_tokens", f"combine_{i}")
        for i in range(50)
    ]  # fmt: skip
    text = MOE[:end] + "".join(more) + MOE[end:]
    assert text.count("\n") > 3000
    judged(MOE + "\n")  # reads what is cached for all programs
    started = time.process_time()
    assert judged(text) == []
    assert time.process_time() - started < 3.0  # half a second on an idle machine


def test_code_before_main_shows_in_the_object() -> None:
    ours = frozenset({"_GLOBAL__sub_I_main"})
    assert init_findings(ours, ours, "c.cu") == []
    assert init_findings(frozenset(), ours, "c.cu") == []
    assert init_findings(frozenset({"_GLOBAL__sub_I__Z4workPf"}), ours, "c.cu") == []
    found = init_findings(frozenset({"_GLOBAL__sub_I_main"}), frozenset(), "c.cu")
    assert [(item.kind, item.file) for item in found] == [("static_constructor", "c.cu")]
    found = init_findings(ours | {"_ZL5earlyv"}, ours, "c.cu")
    assert "_ZL5earlyv" in found[0].message and len(found) == 1
