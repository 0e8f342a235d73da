# ruff: noqa: E501 - text as programs have it
"""A transform that changes the original's own check is refused; what transforms need is not."""

from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.evaluation.kept.check import kept_check_findings
from warploom.evaluation.legality.expanded_rules import Given
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import CUDAAnalyzer
from warploom.source.regions import Program

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*/*.cu"))
MOE = next(path for path in EXAMPLES if path.stem == "moe")


def transformed(path: Path, api: Api) -> str:
    context = ProposalContext(path.read_text(), CUDAAnalyzer(path).analyze(), api, Stage.DEVICE)
    proposal = RulesProposer().propose(context)
    assert proposal is not None
    return proposal.text


def told(candidate: str, path: Path = MOE) -> list[str]:
    original = Program(path.read_text(), path)
    return [f.message for f in kept_check_findings(Program(candidate, path), original, "c.cu")]


@pytest.mark.parametrize("api", list(Api))
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_our_own_transforms_keep_it(path: Path, api: Api) -> None:
    assert told(transformed(path, api), path) == []


ERROR = "    if (!(error <= 1e-5"
RECORD = "  CUDA_CHECK(cudaEventRecord(stop, stream));\n"
OUTPUT = "  std::vector<double> expected = reference("
WEAKER = [
    (ERROR, "    error *= 1e-9;\n" + ERROR),
    ("  MPI_CHECK(MPI_Allreduce(&good, &all_good", "  good = 1;\n  MPI_CHECK(MPI_Allreduce(&good, &all_good"),
    (RECORD, "  CUDA_CHECK(cudaEventRecord(start, stream));\n" + RECORD),
    (OUTPUT, '  printf("Verification: PASS\\n");\n  return 0;\n' + OUTPUT),
    ("  int good = 1,", "  expected.clear();\n  int good = 1,"),
    ("  int good = 1,", "  expected.assign(output.begin(), output.end());\n  int good = 1,"),
    ("strtoull(argv[1], nullptr, 10) : 1;", "strtoull(argv[1], nullptr, 10) : 2;"),
    ("iteration < WARMUP + ITERATIONS", "iteration < WARMUP + 1"),
    ("std::fabs(output[i] - expected[i])", "std::fabs(output[i] - output[i])"),
    ("      if (expert[a] != e", "      if (a > 3) continue;\n      if (expert[a] != e"),
    ("    run_layer(layer", "    if (iteration > 0) break;\n    run_layer(layer"),
    ("    run_layer(layer", "    if (iteration > 0)\n    run_layer(layer"),
    ("  Layer layer;\n", "  Layer layer;\n  auto reference = [&](auto...) { return kept; };\n"),
    ("int main(", "#define good 1\nint main("),
    ("int main(", "static float fabs(float) { return 0; }\nint main("),
    ("int main(", "inline namespace layer { static float fabs(float) { return 0; } }\nint main("),
    ("int main(", "namespace layer { using good = int; }\nusing layer::good;\nint main("),
    ("  return all_good ? 0 : 1;", "  return 0;"),
    ("1e-5 + 1e-4", "1e5 + 1e-4"),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(WEAKER)))
def test_a_weaker_check_is_told(place: int) -> None:
    old, new = WEAKER[place]
    text = transformed(MOE, Api.GIN)
    head, found, rest = text.rpartition(old)
    assert found
    assert told(head + new + rest)


NEEDED = [
    ("  Layer layer;\n", "  Layer layer;\n  ncclDevComm device_comm_{};\n  ncclWindow_t window;\n"
     "  if (ncclDevCommCreate(comm, nullptr, &device_comm_) != ncclSuccess) return 1;\n"
     "  for (int peer = 0; peer < ranks; ++peer) {\n    if (peer == rank) continue;\n  }\n"),
    ("    run_layer(layer, comm, stream);", "    run_layer(layer, device_comm_, comm, stream);"),
    ("  CUDA_CHECK(cudaEventDestroy(start));", "  CUDA_CHECK(cudaDeviceSynchronize());\n"
     "  if (window != nullptr) {\n    NCCL_CHECK(ncclCommWindowDeregister(comm, window));\n  }\n"
     "  NCCL_CHECK(ncclDevCommDestroy(comm, &device_comm_));\n  CUDA_CHECK(cudaEventDestroy(start));"),
    ("    run_layer(layer, comm, stream);", "    CUDA_CHECK(cudaMemsetAsync(layer.recv, 0, 4, stream));\n"
     "    CUDA_CHECK(cudaStreamSynchronize(stream));\n    run_layer(layer, comm, stream);"),
    ("  layer.tokens = to_device(tokens);", "  layer.tokens = to_device(tokens);\n  float* more = to_device(gate);\n"
     "  CUDA_CHECK(cudaMemcpy(more, gate.data(), gate.size() * sizeof(float), cudaMemcpyHostToDevice));"),
    ("  Layer layer;\n", "  for (int i = 0; i < ranks; ++i) {\n    const int error = ranks * i;\n    if (error < 0) return 1;\n  }\n"
     "  auto next = [&](int good) { return good + experts; };\n  static cudaEvent_t moved = nullptr;\n  Layer layer;\n"),
]  # fmt: skip


# What the check reads of the host's data, changed in all the ways that there are.
LAYER = "  Layer layer;\n"
OVERWRITES = [
    "  for (int q = 0; q < kAssignments; q += TOP_K) gate[q] = INFINITY;\n",
    "  (gate)[0] = INFINITY;\n",
    "  gate.assign(kAssignments, INFINITY);\n",
    "  gate.data()[0] = INFINITY;\n",
    "  *gate.begin() = INFINITY;\n",
    "  for (float& one : gate) one = INFINITY;\n",
    "  float& one = gate[0];\n",
    "  float* one = gate.data();\n",
    "  std::swap(gate[0], gate[1]);\n",
    "  std::swap(experts, ranks);\n",
    "  (ranks) = 1;\n",
    "  auto& all = ranks;\n",
    "  auto& [all] = gate;\n",
    "  CUDA_CHECK(cudaMemcpy(gate.data(), layer.gate, 4, cudaMemcpyDeviceToHost));\n",
    "  typedef Index size_t;\n",
    "  Say printf;\n",
    "  using size_t = Index;\n",
    "  struct size_t {};\n",
    "  namespace std = lenient;\n",
    "  enum { fprintf };\n",
    "  auto [fprintf, other] = both;\n",
]  # fmt: skip


@pytest.mark.parametrize("text", OVERWRITES)
def test_what_the_check_reads_stays_as_it_is(text: str) -> None:
    head, found, rest = transformed(MOE, Api.GIN).rpartition(LAYER)
    assert found
    assert told(head + text + LAYER + rest)


def test_no_operator_is_added_for_the_programs_own_types() -> None:
    text = transformed(MOE, Api.GIN)
    for words, wrong in (("static", True), ("__device__", False)):
        added = (
            f"{words} bool operator<(const Layer& a, const Layer& b) {{ return true; }}\nint main("
        )
        assert bool(told(text.replace("int main(", added))) == wrong


def test_nothing_of_the_check_gets_into_an_added_lambda() -> None:
    line = "  route(seed, rank, experts, &expert, &gate);\n"
    head, found, rest = transformed(MOE, Api.GIN).rpartition(line)
    assert found
    assert told(head + "  auto never = [&] {\n" + line + "  };\n" + rest)


UPLOADS = "  layer.tokens = to_device(tokens);"
HELPERS = [
    ("const std::vector<float>& host", "cudaMemcpy(p, host.data(), host.size() * 4, cudaMemcpyHostToDevice);", True),
    ("const std::vector<float>& host", "for (size_t i = 0; i < host.size(); ++i) half[i] = host[i] * 2;", True),
    ("std::vector<float> host", "cudaMemcpy(p, host.data(), 4, cudaMemcpyHostToDevice);", True),
    ("std::vector<float>& host", "host[0] = 1;", False),
    ("const std::vector<float>& host", "const_cast<float&>(host[0]) = 1;", False),
    ("const std::vector<float>& host", "((float*)host.data())[0] = 1;", False),
    ("const std::vector<float>& host", "Pointer(host.data())[0] = 1;", False),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "body", "plain"), HELPERS)
def test_a_helper_may_upload_and_nothing_else(parameter: str, body: str, plain: bool) -> None:
    head, _, rest = transformed(MOE, Api.GIN).rpartition(UPLOADS)
    start, main, end = head.rpartition("int main(")
    helper = f"static float* to_window({parameter}, ncclComm_t comm) {{ float* p = nullptr; {body} return p; }}\n"
    new = "  layer.tokens = to_window(tokens, comm);"
    assert (told(start + helper + main + end + new + rest) == []) == plain


@pytest.mark.parametrize("place", range(len(NEEDED)))
def test_what_a_transform_needs_is_not(place: int) -> None:
    old, new = NEEDED[place]
    head, found, rest = transformed(MOE, Api.GIN).rpartition(old)
    assert found
    assert told(head + new + rest) == []


HEADER = """#pragma once
#define CUDA(call) do { cudaError_t e = (call); if (e != cudaSuccess) { exit(1); } } while (0)
#ifdef QUIET
#define NCCL(call) (call)
#else
#define NCCL(call) do { ncclResult_t r = (call); if (r != ncclSuccess) { exit(1); } } while (0)
#endif
inline void checked(cudaError_t e) { if (e != cudaSuccess) exit(1); }
"""
WITH_HEADER = """#include "util.h"
void sum(float* x, ncclComm_t c, cudaStream_t s) {
  NCCL(ncclAllReduce(x, x, 8, ncclFloat, ncclSum, c, s));
}
void leave(float* x, ncclComm_t c) {
  checked(cudaFree(x));
  NCCL(ncclCommDestroy(c));
}
int main() {
  float* x;
  CUDA(cudaMalloc(&x, 32));
  sum(x, comm, stream);
  float got;
  CUDA(cudaMemcpy(&got, x, 4, cudaMemcpyDeviceToHost));
  if (got != 3) return 1;
  leave(x, comm);
  return 0;
}
"""
DEVICE = (
    WITH_HEADER.replace("cudaMalloc(", "layer::take(").replace("cudaFree(", "layer::windowFree(")
    .replace("ncclAllReduce(", "layer::launch(").replace("ncclCommDestroy(", "layer::commDestroy(")
)  # fmt: skip


def told_with_header(candidate: str, header: str = HEADER) -> list[str]:
    given = Given(headers={"util.h": header})
    return [
        f.message
        for f in kept_check_findings(Program(candidate), Program(WITH_HEADER), "c.cu", given)
    ]


def test_calls_may_be_wrapped_by_what_a_header_has() -> None:
    assert told_with_header(DEVICE) == []


def test_wrappers_of_headers_that_nobody_has_are_wrappers_too() -> None:
    """As where a condition that is not decided leaves out the include."""
    maybe = '#ifdef ODD\n#endif\n#if defined(A) && !defined(A)\n#include "util.h"\n#endif\n'
    old, new = (text.replace('#include "util.h"\n', maybe) for text in (WITH_HEADER, DEVICE))
    given = Given(headers={"util.h": HEADER})
    assert kept_check_findings(Program(new), Program(old), "c.cu", given) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  NCCL(layer::commDestroy(c));\n", "  NCCL(layer::commDestroy(c));\n  exit(0);\n"),
        ("  checked(layer::windowFree(x));\n", "  checked(layer::windowFree(x)); report = 1;\n"),
        ('#include "util.h"\n', '#define CUDA(call) exit(0)\n'),
        ('#include "util.h"\n', '#define QUIET\n#include "util.h"\n'),
        ("  if (got != 3) return 1;\n", ""),
        ("  if (got != 3) return 1;\n", "  CUDA(cudaSuccess); if (got != 3) return 0;\n"),
    ],
)  # fmt: skip
def test_what_a_header_has_is_no_way_around_the_check(old: str, new: str) -> None:
    assert old in DEVICE
    assert told_with_header(DEVICE.replace(old, new)) != []


ELEMENTS = """#include <nccl.h>
void run(float* host, int n, int devices) {
  float** in = (float**)malloc(devices * sizeof(float*));
  for (int i = 0; i < devices; ++i) {
    cudaMalloc(&in[i], n * sizeof(float));
    cudaMemcpy(in[i], host, n * sizeof(float), cudaMemcpyHostToDevice);
  }
  for (int i = 0; i < devices; ++i) ncclAllReduce(in[i], in[i], n, ncclFloat, ncclSum, comms[i], 0);
  for (int i = 0; i < devices; ++i) cudaMemcpy(host, in[i], n, cudaMemcpyDeviceToHost);
  printf("%p", in[0]);
}
int main() {
  float host[8], *other[2], seen = 0;
  double most = bench(1, [&](int i) -> double { ncclGroupStart(); ncclGroupEnd(); return i; });
  run(host, 8, 2);
  if (most > 3 || host[1] != 2) return 1;
  return 0;
}
"""
NEW_ELEMENTS = ELEMENTS.replace("cudaMalloc(", "layer::take(").replace("ncclGroup", "layer::group")


def told_of_elements(candidate: str) -> list[str]:
    found = kept_check_findings(Program(candidate), Program(ELEMENTS), "c.cu")
    return [finding.message for finding in found]


def test_elements_may_get_their_memory_otherwise_and_lambdas_communicate() -> None:
    assert told_of_elements(NEW_ELEMENTS) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("layer::take(&in[i],", "layer::take(&in[0],"),
        ("layer::take(&in[i],", "layer::take(&host[i],"),
        ("layer::groupStart();", "most = 0;"),
        ("layer::groupStart();", "seen = host[1]; host[1] = 2;"),
        ("return i; }", "return 0; }"),
        ("bench(1, [&]", "bench(2, [&]"),
        ("bench(1, [&](int i)", "bench(1, [&](int i = 3)"),
    ],
)
def test_neither_is_a_way_to_the_check(old: str, new: str) -> None:
    assert old in NEW_ELEMENTS
    assert told_of_elements(NEW_ELEMENTS.replace(old, new)) != []


PARTS = """
#include <nccl.h>
void run(float* in, float* out, float* host, size_t n) {
  for (int h = 0; h < 2; h++) {
    ncclAllReduce(&in[h * n], &out[h * n], n, ncclFloat, ncclSum, comm, streams[h]);
  }
  cudaMemcpy(host, out, 2 * n, cudaMemcpyDeviceToHost);
  if (host[1] != 2) report(in, out, host);
}
"""
NEW_PARTS = PARTS.replace("ncclAllReduce(", "layer::reduce(")


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        ("", "", True),
        ("    layer::reduce(", "    out[h] = 2;\n    layer::reduce(", False),
        ("    layer::reduce(", "    layer::fill(&host[h * n]);\n    layer::reduce(", False),
        ("    layer::reduce(", "    layer::fill(&out[h]);\n    layer::reduce(", False),
        ("    layer::reduce(", "    h = layer::reduce(", False),
    ],
)
def test_parts_of_buffers_are_sent_by_their_address(old: str, new: str, plain: bool) -> None:
    text = NEW_PARTS.replace(old, new)
    found = kept_check_findings(Program(text), Program(PARTS), "c.cu")
    assert (found == []) == plain, found


NESTED = """
#include <nccl.h>
class Buffer {
  struct Deleter {
    void operator()(float* p) const { cudaFree(p); }
  };
  std::shared_ptr<float> p_;

 public:
  explicit Buffer(int n) {
    float* p;
    cudaMalloc(&p, n * sizeof(float));
    p_.reset(p, Deleter());
  }
  float* get() const { return p_.get(); }
};
int main() {
  Buffer data(8);
  ncclAllReduce(data.get(), data.get(), 8, ncclFloat, ncclSum, comm, 0);
  float host[8];
  cudaMemcpy(host, data.get(), 32, cudaMemcpyDeviceToHost);
  if (host[1] != 2) return 1;
  return 0;
}
"""
NEW_NESTED = (
    NESTED.replace("cudaMalloc(", "layer::take(").replace("cudaFree(", "layer::windowFree(")
    .replace("ncclAllReduce(", "layer::reduce(")
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        ("", "", True),
        ("{ layer::windowFree(p); }", "{ layer::windowFree(p); exit(0); }", False),
        ("{ layer::windowFree(p); }", '{ layer::windowFree(p); printf("PASS"); }', False),
        ("  struct Deleter {\n", "  struct Deleter {\n    operator int() { return 2; }\n", False),
        ("  struct Deleter {\n", "  struct Deleter {\n    int data = 1;\n", False),
    ],
)
def test_types_within_types_may_free_otherwise(old: str, new: str, plain: bool) -> None:
    text = NEW_NESTED.replace(old, new)
    found = kept_check_findings(Program(text), Program(NESTED), "c.cu")
    assert (found == []) == plain, found


WRITTEN = """
#include <nccl.h>
struct Kept { Kept& operator=(ncclResult_t r); };
static Kept kept;
static int failures;
#define DO kept =
#define COUNT failures +=
#define OR_STOP(x) if (x) break
class Buffer {
 public:
  explicit Buffer(int n);
  float* get() const { return p_; }
  int next() { return n_++; }
 private:
  float* p_;
  int n_;
};
int main() {
  Buffer send(8), recv(8);
  float host[8];
  for (int i = 0; i < 3; ++i) {
    DO ncclAllReduce(send.get(), recv.get(), 8, ncclFloat, ncclSum, comm, 0);
    DO ncclSend(send.get(), 8, ncclFloat, 0, comm, 0);
    OR_STOP(ncclRecv(recv.get(), 8, ncclFloat, 0, comm, 0));
  }
  cudaMemcpy(host, recv.get(), 32, cudaMemcpyDeviceToHost);
  int places = recv.next();
  if (failures || host[1] != 2 || places) return 1;
  return 0;
}
"""
NEW_WRITTEN = (
    WRITTEN.replace("ncclAllReduce(", "layer::reduce(")
    .replace("ncclSend(", "layer::send(")
    .replace("    OR_STOP(ncclRecv(", "    layer::sure(layer::recv(")
)


def told_of_written(candidate: str) -> list[str]:
    found = kept_check_findings(Program(candidate), Program(WRITTEN), "c.cu")
    return [finding.message for finding in found]


def test_names_within_an_added_namespace_are_its_own() -> None:
    text = MOE.read_text().replace(
        "int main(", "namespace layer {\nstruct T { using good = int; };\n}\nint main("
    )
    assert told(text) == []


def test_constant_methods_and_macros_before_calls_go_with_the_call() -> None:
    assert told_of_written(NEW_WRITTEN) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("layer::send(send.get()", "layer::send(send.next()"),
        ("    DO layer::send(", "    recv.get()[1] = 2;\n    DO layer::send("),
        ("    DO layer::send(", "    DO ncclSuccess;\n    DO layer::send("),
        ("    DO layer::send(", "    COUNT layer::send("),
        ("    layer::sure(layer::recv(", "    OR_STOP(layer::recv("),
        ("float* get() const { return p_; }", "float* get() const { return mine; }"),
    ],
)
def test_neither_lets_anything_else_through(old: str, new: str) -> None:
    assert old in NEW_WRITTEN
    assert told_of_written(NEW_WRITTEN.replace(old, new)) != []
