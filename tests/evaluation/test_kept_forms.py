# ruff: noqa: E501 - text as programs have it
"""The check is compared as a compiler gets it, with what it rests on and where it ends."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from warploom.evaluation.kept.check import kept_check_findings
from warploom.evaluation.runs.printed import printed_findings
from warploom.source.regions import Program

ORIGINAL = """\
#include <nccl.h>
#ifndef COUNT
#define COUNT 64
#endif
#define CUDA_CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
#define NCCL_CHECK(call) do { if ((call) != ncclSuccess) exit(1); } while (0)
#define RESET() good = 1
struct Limits {
  double absolute = 1e-5;
  double relative = 1e-4;
};
enum Weight : int { kFirst = 1, kSecond = 2 };
struct Layer {
  float *send, *output;
  size_t count;
};
__global__ void fill(float* to) { to[threadIdx.x] = 1; }
static void run_layer(const Layer& layer, ncclComm_t comm, cudaStream_t stream) {
  fill<<<1, COUNT, 0, stream>>>(layer.send);
  NCCL_CHECK(ncclAllReduce(layer.send, layer.output, layer.count, ncclFloat, ncclSum, comm, stream));
}
int main(int argc, char** argv) {
  int rank = 0;
  const Limits limits;
  std::vector<float> gate(COUNT, kSecond);
  Layer layer;
  layer.count = COUNT;
  CUDA_CHECK(cudaMalloc(&layer.send, COUNT * 4));
  CUDA_CHECK(cudaMalloc(&layer.output, COUNT * 4));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 3; ++i) {
    if (i == 1) {
      CUDA_CHECK(cudaMemsetAsync(layer.output, 0xff, COUNT * 4, stream));
      CUDA_CHECK(cudaEventRecord(start, stream));
    }
    run_layer(layer, comm, stream);
  }
  CUDA_CHECK(cudaEventRecord(stop, stream));
  std::vector<float> output(COUNT);
  CUDA_CHECK(cudaMemcpy(output.data(), layer.output, COUNT * 4, cudaMemcpyDeviceToHost));
  int good = 1;
  for (size_t i = 0; i < output.size(); ++i) {
    if (std::fabs(output[i] - gate[i]) > limits.absolute) {
      good = 0;
    }
  }
  printf("Verification: %s\\n", good ? "PASS" : "FAIL");
  CUDA_CHECK(cudaFree(layer.send));
  return good ? 0 : 1;
}
"""
BAD = "      good = 0;\n"
RUN = "    run_layer(layer, comm, stream);\n"
BEFORE = "struct Layer {\n"
MAIN = "int main(int argc"
POISON = "      CUDA_CHECK(cudaMemsetAsync(layer.output, 0xff, COUNT * 4, stream));\n"
LAYER = "  Layer layer;\n"
REDUCE = "  NCCL_CHECK(ncclAllReduce(layer.send, layer.output, layer.count, ncclFloat, ncclSum, comm, stream));\n"
Edits = tuple[tuple[str, str], ...]


def told(edits: Edits) -> list[str]:
    text = ORIGINAL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = Path("a.cu")
    found = kept_check_findings(Program(text, path), Program(ORIGINAL, path), "a.cu")
    return [finding.message for finding in found]


def helper(text: str) -> tuple[str, str]:
    return BEFORE, f"namespace device_comm {{\n{text}\n}}\n{BEFORE}"


def macro(text: str) -> tuple[str, str]:
    return BEFORE, f"{text}\n{BEFORE}"


HIDDEN: dict[str, Edits] = {
    "if_0": ((BAD, f"#if 0\n{BAD}#endif\n"),),
    "ifdef": ((BAD, f"#ifdef STRICT\n{BAD}#endif\n"),),
    "not_defined": ((BAD, f"#ifndef LENIENT\n{BAD}#endif\n"),),
    "known_macro": ((BAD, f"#if COUNT < 100\n{BAD}#endif\n"),),
    "version": ((BAD, f"#if NCCL_VERSION_CODE < 22000\n{BAD}#endif\n"),),
    "nvcc": ((BAD, f"#ifndef __NVCC__\n{BAD}#endif\n"),),
    "other_arm": ((BAD, f"#ifdef A\n{BAD}#else\n  ;\n#endif\n"),),
    "nested": ((BAD, f"#ifdef A\n{BAD}#else\n#ifdef B\n{BAD}#endif\n#endif\n"),),
    "macro_if": (macro("#define FROM if (rank < 0) {\n#define TO }"), (POISON, f"FROM\n{POISON}TO\n")),
    "macro_break": (macro("#define DONE(x) break"), (RUN, f"{RUN}DONE(stream);\n")),
    "macro_gate": (macro("#define SETTLE(n) for (int q = 0; q < n; ++q) gate[q] = INFINITY"), (LAYER, f"{LAYER}SETTLE(3);\n")),
    "macro_of_macro": (macro("#define ONE gate[0] = 1\n#define TWO ONE"), (LAYER, f"{LAYER}TWO;\n")),
    "its_own_macro": (("  printf(", "  RESET();\n  printf("),),
    "its_own_macro_early": ((LAYER, f"{LAYER}  auto later = [&](int) {{ RESET(); }};\n"),),
    "macro_undone": ((MAIN, f"#undef CUDA_CHECK\n#define CUDA_CHECK(call)\n{MAIN}"),),
    "brackets": ((BAD, "#if 1\n}\n#endif\n"),),
}  # fmt: skip
ENDED: dict[str, Edits] = {
    "exit": (helper("inline void over() { exit(0); }"),),
    "exit_of": (helper("inline void over(int n) { exit(n); }"),),
    "finalize": (helper("inline void over() { MPI_Finalize(); }"),),
    "says": (helper('inline void over() { printf("Verification: PA" "SS"); }'),),
    "kernel_says": (helper('__global__ void over() { printf("PASS"); }'),),
    "return": ((RUN, f"{RUN}    if (i) return layer.count != layer.count;\n"),),
    "inner_blocks": ((RUN, f"{RUN}    {{ {{ return 0; }} }}\n"),),
    "label": ((RUN, f"{RUN}    switch (1) {{ default: {{ return 0; }} }}\n"),),
    "attribute": ((RUN, f"{RUN}    [[likely]] {{ return 0; }}\n"),),
}  # fmt: skip
TYPES: dict[str, Edits] = {
    "default": (("absolute = 1e-5", "absolute = 1e5"),),
    "enumerator": (("kSecond = 2", "kSecond = 3"),),
    "order": (("  double absolute = 1e-5;\n", "  double absolute = 1e-5; operator double();\n"),),
    "constructor": (("  double relative = 1e-4;\n", "  double relative = 1e-4;\n  Limits() { absolute = 1; }\n"),),
    "hidden_name": (("  size_t count;\n", "  size_t count; int rank;\n"),),
}  # fmt: skip
PINNED: dict[str, Edits] = {
    "poison": ((POISON, ""),),
    "stream": (("  cudaStream_t stream;\n", "  device_comm::Pipeline stream;\n"),),
}


@pytest.mark.parametrize("name", [*HIDDEN, *ENDED, *TYPES, *PINNED])
def test_each_disguise_is_told(name: str) -> None:
    assert told((HIDDEN | ENDED | TYPES | PINNED)[name])


MANY = "".join(f"#ifdef WAY_{i}\nstatic int way_{i} = {i};\n#endif\n" for i in range(14))
WAYS = (BEFORE, f"{MANY}{BEFORE}")
VERSIONS = "#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER\n  n += 2;\n#endif"
LAYER_TEXT = f"inline int ask(int n) {{\n{VERSIONS}\n  return n;\n}}"
OF_MANY: dict[str, tuple[str, Edits]] = {
    "none": ("", ()),
    "in_the_layer": (LAYER_TEXT, ()),
    "ends_in_the_layer": (LAYER_TEXT.replace("n += 2", "exit(0)"), ()),
    "leaves_the_layer": (LAYER_TEXT.replace("  n += 2;", "} } namespace { int n() {"), ()),
    "macro_in_the_layer": (LAYER_TEXT.replace("  n += 2;", "#define PASS 1"), ()),
    "in_main": (LAYER_TEXT, ((BAD, f"#ifdef STRICT\n{BAD}#endif\n"),)),
}


@pytest.mark.parametrize("name", OF_MANY)
def test_more_conditions_than_can_be_tried(name: str) -> None:
    added, edits = OF_MANY[name]
    original = ORIGINAL.replace(*WAYS)
    text = original.replace(*helper(added)) if added else original
    for old, new in edits:
        text = text.replace(old, new)
    path = Path("a.cu")
    found = kept_check_findings(Program(text, path), Program(original, path), "a.cu")
    assert bool(found) == (name not in ("none", "in_the_layer"))


def test_a_copy_of_main_elsewhere_is_not_main() -> None:
    start = ORIGINAL.index(MAIN)
    decoy = f"namespace device_comm {{\n{ORIGINAL[start:]}}}\n"
    text = ORIGINAL[:start] + decoy + ORIGINAL[start:].replace(BAD, "")
    path = Path("a.cu")
    assert kept_check_findings(Program(text, path), Program(ORIGINAL, path), "a.cu")


NEEDED: dict[str, Edits] = {
    "nothing": (),
    "version_of_requirements": ((LAYER, LAYER + "#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER\n  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;\n#else\n  ncclDevCommRequirements needs{};\n#endif\n  needs.ginSignalCount = 4;\n"),),
    "own_check_macro": (macro('#define GIN_CHECK(call) do { ncclResult_t r_ = (call); if (r_ != ncclSuccess) { fprintf(stderr, "%s FAILED: %s\\n", #call, ncclGetErrorString(r_)); MPI_Abort(MPI_COMM_WORLD, 1); exit(EXIT_FAILURE); } } while (0)'),
                        ("  CUDA_CHECK(cudaMalloc(&layer.send, COUNT * 4));\n", "  GIN_CHECK(ncclMemAlloc((void**)&layer.send, COUNT * 4));\n  ncclWindow_t window;\n  GIN_CHECK(ncclCommWindowRegister(comm, layer.send, COUNT * 4, &window, 0));\n")),
    "members": (("  size_t count;\n", "  size_t count;\n  ncclWindow_t send_window = nullptr, output_window = nullptr;\n  ncclDevComm dev{};\n"),),
    "kept_old_code": (macro("#define USE_GIN 1"), (REDUCE, f"#if USE_GIN\n  device_comm::reduce(layer, stream);\n#else\n{REDUCE}#endif\n")),
    "old_code_off": ((REDUCE, f"#if 0\n{REDUCE}#endif\n  device_comm::reduce(layer, stream);\n"),),
    "error_text": (helper('inline int fail(const char* what) { fprintf(stderr, "verify your NCCL: %s\\n", what); return 1; }\ninline int ask(int n) { return n ? fail("sizes mismatch, FAILED") : 0; }'),),
    "lambda": ((LAYER, LAYER + "  auto pages = [&](size_t n) { return n / 4096; };\n"),),
    "more_memsets": ((LAYER, LAYER + "  CUDA_CHECK(cudaMemset(mail, 0, 64));\n  if (mail == nullptr) return 1;\n"),),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_honest_forms_are_not(name: str) -> None:
    assert told(NEEDED[name]) == []


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("moe: 4 ranks, 0.25 ms\nVerification: PASS\n", True),
        ("device layer ready\nVerification: PASS\nmoe: 8 ranks, nan ms\n", True),
        ("Verification: PASS\n", False),
        ("moe: 4 ranks\nVerification: PASS\nVerification: PASS\n", False),
    ],
)
def test_a_transform_prints_what_the_original_prints(text: str, fine: bool) -> None:
    spec = SimpleNamespace(seed=1, timing=None)
    options = SimpleNamespace(run=spec)
    run = SimpleNamespace(
        options=options, state="finished", verdict="ok", stdout=text, unsupported=()
    )
    printed = {1: "moe: 4 ranks, 0.31 ms\nVerification: PASS\n"}
    assert (printed_findings([run], printed) == []) == fine  # type: ignore[list-item]
