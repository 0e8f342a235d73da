"""Text in, text out: what the rules change, and that they change nothing else."""

import re
from pathlib import Path

import pytest

from warploom.core.errors import RefusedError
from warploom.core.records import Api
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RewritePlan, RulesProposer, rewrite
from warploom.source import AnalysisReport, CUDAAnalyzer
from warploom.source.markers import insert_evolve_markers
from warploom.source.regions import Program, strip_markers

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/*.cu"))

PROGRAM = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>

#define CHECK(call) do { if ((call) != 0) return 1; } while (0)

__global__ void twice(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0) CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  float *data,   *other;   // odd   spacing stays
  CHECK(cudaMalloc(&data, 64 * sizeof(float)));
  CHECK(cudaMalloc(&other, 64 * sizeof(float)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  printf("ncclAllReduce( in a string, and cudaMalloc( too\\n");  // ncclAllReduce( in a comment
  twice<<<1, 32, 0, stream>>>(data, 64);
  CHECK(ncclAllReduce(data, data, 64, ncclFloat, ncclSum, comm, stream));
  CHECK(cudaStreamSynchronize(stream));
  float host[64];
  CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
  cudaFree(data);
  cudaFree(other);
  ncclCommDestroy(comm);
  MPI_Finalize();
}
"""


def analyze(tmp_path: Path, text: str) -> AnalysisReport:
    path = tmp_path / "program.cu"
    path.write_bytes(text.encode())
    return CUDAAnalyzer(path).analyze()


def rewritten(tmp_path: Path, text: str, **changes: object) -> str:
    plan = RewritePlan(**{"api": Api.GIN, "stage": Stage.DEVICE, **changes})  # type: ignore[arg-type]
    return rewrite(text, analyze(tmp_path, text), plan).text


def own_part(text: str) -> str:
    """The program without the prelude."""
    before, _, rest = text.partition("// ---- warploom: communication layer")
    added = "nccl_device.h|algorithm|cstdint|list|map|mutex|vector"
    return re.sub(rf"#include <({added})>\n", "", before) + (
        rest.partition("}  // namespace device_comm\n")[2] if rest else ""
    )


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return [(a, b) for a, b in zip(old, new, strict=True) if a != b]


def squeeze(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


def test_only_tokens_that_must_change_do(tmp_path: Path) -> None:
    text = own_part(rewritten(tmp_path, PROGRAM))
    opening = "  CHECK(device_comm::openWindows());\n"
    assert text.count(opening) == 1
    changes = changed_lines(squeeze(PROGRAM), squeeze(text.replace(opening, "")))
    assert [(a.strip(), b.strip()) for a, b in changes] == [
        (
            "CHECK(ncclCommInitRank(&comm, ranks, id, rank));",
            "CHECK(device_comm::commInitRank(&comm, ranks, id, rank));",
        ),
        (
            "CHECK(cudaMalloc(&data, 64 * sizeof(float)));",
            "CHECK(device_comm::windowMalloc(&data, 64 * sizeof(float)));",
        ),
        (
            "CHECK(ncclAllReduce(data, data, 64, ncclFloat, ncclSum, comm, stream));",
            "CHECK(device_comm::launchAllReduce(data, data, 64, ncclFloat, ncclSum, comm, "
            "stream));",
        ),
        ("cudaFree(data);", "device_comm::windowFree(data);"),
        ("cudaFree(other);", "device_comm::windowFree(other);"),
        ("ncclCommDestroy(comm);", "device_comm::commDestroy(comm);"),
    ]


def test_windows_open_before_the_pipeline_begins(tmp_path: Path) -> None:
    lines = own_part(rewritten(tmp_path, PROGRAM)).splitlines()
    at = lines.index("  CHECK(device_comm::openWindows());")
    assert lines[at + 1] == "  twice<<<1, 32, 0, stream>>>(data, 64);"


CASES = """\
  for (int n = 8; n <= 64; n *= 2) {
    float* more;
    CHECK(cudaMalloc(&more, n * sizeof(float)));
    CHECK(cudaEventRecord(start, stream));
    for (int i = 0; i < 3; i++) {
      CHECK(ncclAllReduce(more, more, n, ncclFloat, ncclSum, comm, stream));
    }
    CHECK(cudaFree(more));
  }
"""
REDUCE = "  CHECK(ncclAllReduce(data, data, 64, ncclFloat, ncclSum, comm, stream));\n"
OPEN = "CHECK(device_comm::openWindows());"
HELPED = (
    "    CHECK(cudaMalloc(&more, n * sizeof(float)));\n",
    "    CHECK(take(&more, n));\n",
)


@pytest.mark.parametrize(
    ("old", "new", "follows"),
    [
        ("", "", "    CHECK(cudaEventRecord(start, stream));"),
        (*HELPED, "    CHECK(cudaEventRecord(start, stream));"),
        ("    float* more;\n", "    if (n == 16) continue;\n    float* more;\n", "  for (int n"),
        (HELPED[0], "    more = data;\n", "  for (int n"),
    ],
    ids=["loop", "helper", "left early", "no allocation"],
)
def test_windows_of_what_a_loop_allocates_open_in_the_loop(
    old: str, new: str, follows: str, tmp_path: Path
) -> None:
    helper = "int take(float** p, int n) { return cudaMalloc(p, n * sizeof(float)); }\nint main("
    text = PROGRAM.replace(REDUCE, CASES.replace(old, new)).replace("int main(", helper)
    text = text.replace("  twice<<<1, 32, 0, stream>>>(data, 64);\n", "")
    lines = own_part(rewritten(tmp_path, text)).splitlines()
    [at] = [i for i, line in enumerate(lines) if line.strip() == OPEN]
    assert lines[at + 1].startswith(follows)


@pytest.mark.parametrize(
    ("call", "follows"),
    [
        ("    milliseconds += once(n);\n", "    CHECK(cudaEventRecord(start, stream));"),
        ("    if (n > 8) milliseconds += once(n);\n", "  for (int n"),
    ],
    ids=["called", "called now and then"],
)
def test_windows_of_what_a_called_function_allocates_open_in_it(
    call: str, follows: str, tmp_path: Path
) -> None:
    text = PROGRAM.replace(REDUCE, f"  for (int n = 8; n <= 64; n *= 2) {{\n{call}  }}\n")
    text = text.replace("  twice<<<1, 32, 0, stream>>>(data, 64);\n", "")
    once = CASES.partition("{\n")[2].rpartition("  }\n")[0] + "    return 1;\n"
    globals_ = "ncclComm_t comm;\ncudaStream_t stream;\ncudaEvent_t start;\n"
    text = text.replace("int main(", f"{globals_}int once(int n) {{\n{once}}}\nint main(")
    lines = own_part(rewritten(tmp_path, text)).splitlines()
    [at] = [i for i, line in enumerate(lines) if line.strip() == OPEN]
    assert lines[at + 1].startswith(follows)


def test_a_group_that_makes_communicators_is_no_communication(tmp_path: Path) -> None:
    make = "  CHECK(ncclCommInitRank(&comm, ranks, id, rank));\n"
    text = PROGRAM.replace(make, f"  ncclGroupStart();\n{make}  ncclGroupEnd();\n")
    lines = own_part(rewritten(tmp_path, text)).splitlines()
    at = lines.index(f"  {OPEN}")
    assert lines[at + 1] == "  twice<<<1, 32, 0, stream>>>(data, 64);"


def test_stage_a_keeps_the_host_collective(tmp_path: Path) -> None:
    text = rewritten(tmp_path, PROGRAM, stage=Stage.WINDOWS)
    assert "CHECK(ncclAllReduce(data, data" in text
    assert "launchAllReduce" not in text
    assert "device_comm::windowMalloc(&data" in text
    assert "ncclDevCommCreate" in text and "ncclCommWindowRegister" in text


def test_a_prelude_holds_only_what_is_called(tmp_path: Path) -> None:
    text = rewritten(tmp_path, PROGRAM)
    assert "reduceStaged<float>" in text
    for absent in ("launchAlltoAll", "messageKernel", "double", "__half", "launchReduceScatter"):
        assert absent not in text


def test_lsa_and_gin_use_their_own_api(tmp_path: Path) -> None:
    gin = rewritten(tmp_path, PROGRAM)
    lsa = rewritten(tmp_path, PROGRAM, api=Api.LSA)
    assert "ncclGin gin(" in gin and "ncclLsaBarrierSession" not in gin
    assert "ncclLsaBarrierSession" in lsa and "ncclGin gin(" not in lsa


def test_every_allocation_when_asked(tmp_path: Path) -> None:
    text = rewritten(tmp_path, PROGRAM, every_allocation=True)
    assert "device_comm::windowMalloc(&other" in text


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    text = rewritten(tmp_path, PROGRAM.replace("\n", "\r\n"))
    assert text.count("\n") == text.count("\r\n")


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    text = PROGRAM.replace("odd", "caf\udce9")
    path = tmp_path / "program.cu"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    analysis = CUDAAnalyzer(path).analyze()
    result = rewrite(text, analysis, RewritePlan(Api.GIN, Stage.DEVICE))
    assert b"caf\xe9" in result.text.encode("utf-8", "surrogateescape")


def test_calls_in_macro_bodies_and_helpers(tmp_path: Path) -> None:
    text = PROGRAM.replace(
        "__global__",
        "#define SUM(b) \\\n  ncclAllReduce(b, b, 64, ncclFloat, ncclSum, comm, stream)\n"
        "template <typename T> T* device(size_t n) {\n  T* p;\n"
        "  cudaMalloc(&p, n * sizeof(T));\n  return p;\n}\n__global__",
        1,
    ).replace("CHECK(cudaMalloc(&data, 64 * sizeof(float)));", "data = device<float>(64);")
    text = text.replace("CHECK(ncclAllReduce(data,", "CHECK(SUM(data)); CHECK(ncclAllReduce(data,")
    result = own_part(rewritten(tmp_path, text))
    assert "device_comm::launchAllReduce(b, b, 64" in result
    assert "device_comm::windowMalloc(&p, n * sizeof(T))" in result
    assert "CHECK(cudaMalloc(&other" in result


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.parametrize("api", list(Api))
def test_markers_add_lines_only(path: Path, api: Api, tmp_path: Path) -> None:
    text = path.read_text()
    analysis = CUDAAnalyzer(path).analyze()
    plain = rewrite(text, analysis, RewritePlan(api, Stage.DEVICE)).text
    marked = insert_evolve_markers(text, analysis)
    plan = RewritePlan(api, Stage.DEVICE, markers=True)
    both = rewrite(marked, analyze(tmp_path, marked), plan).text
    assert strip_markers(Program(both)) == plain
    names = [region.name for region in Program(both).regions]
    assert names[0] == "communication" and "kernels" in names and "pipeline" in names
    for region in Program(both).regions:
        body = Program(both).body(region)
        for setup in ("openWindows", "windowMalloc", "ncclDevCommCreate", "int main", "MPI_"):
            assert setup not in body, (region.name, setup)


def test_the_proposer_widens_once_and_then_has_nothing(tmp_path: Path) -> None:
    analysis = analyze(tmp_path, PROGRAM)
    texts: list[str] = []
    for number in (1, 2, 3, 4):  # the plain form, the general one, that with all buffers, nothing
        context = ProposalContext(PROGRAM, analysis, Api.GIN, Stage.DEVICE, number)
        proposal = RulesProposer().propose(context)
        texts.append(proposal.text if proposal else "")
    assert len(set(texts)) == 4
    assert ["windowMalloc(&other" in text for text in texts] == [False, False, True, False]
    assert texts[3] == ""


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


MANAGED = "  CHECK(cudaMallocManaged(&data, 64 * sizeof(float)));\n"

REFUSED = {
    "managed read": (
        ("  twice<<<", MANAGED + "  CHECK(data[3] > 0);\n  twice<<<"),
        "data[3]",
        "host reads or writes",
    ),
    "managed alias": (
        ("  twice<<<", MANAGED + "  void* all = (void*)data;\n  twice<<<"),
        "void* all",
        "host passes on",
    ),
    "managed argument": (
        ("  twice<<<", MANAGED + "  printf(\"%p\", data);\n  twice<<<"), "printf(\"%p", "passes on",
    ),
    "managed hint": (
        ("  twice<<<", MANAGED + "  cudaMemPrefetchAsync(data, 256, 0, stream);\n  twice<<<"),
        "cudaMemPrefetchAsync",
        "places by cudaMemPrefetchAsync",
    ),
    "capture beside a stream": (
        ("  twice<<<", "  cudaStreamBeginCapture(stream, mode);\n"
         "  ncclAllReduce(data, data, 64, ncclFloat, ncclSum, comm, other);\n  twice<<<"),
        "cudaStreamBeginCapture",
        "communicates on several streams",
    ),
    "capture launched elsewhere": (
        ("  twice<<<", "  cudaStreamBeginCapture(stream, mode);\n  cudaGraphLaunch(run, 0);\n"
         "  twice<<<"),
        "cudaGraphLaunch",
        "launch it on the stream",
    ),
    "capture before anything is made": (
        ("  ncclComm_t comm;", "  cudaStreamBeginCapture(stream, mode);\n  ncclComm_t comm;"),
        "cudaStreamBeginCapture",
        "windows must be open",
    ),
    "pointer": (
        ("  twice<<<", "  auto call = &ncclAllReduce;\n  twice<<<"),
        "&ncclAllReduce",
        "without being called",
    ),
    "deleter": (
        ("  twice<<<", "  auto release = &cudaFree;\n  twice<<<"),
        "&cudaFree",
        "without being called",
    ),
    "shrunk communicator": (
        ("  float *data", "  ncclComm_t part;\n"
         "  ncclCommShrink(comm, nullptr, 0, &part, nullptr, 0);\n  float *data"),
        "ncclCommShrink",
        "ncclCommShrink: communicators can be made by ncclCommInitRank",
    ),
    "one-sided": (
        ("  twice<<<", "  ncclSignal(0, 0, 0, 0, comm, stream);\n  twice<<<"),
        "ncclSignal(",
        "no device-initiated form",
    ),
    "eight bits": (("64, ncclFloat, ncclSum", "64, ncclFloat8e4m3, ncclSum"), "ncclAllReduce(data",
                   "not generated"),
    "name": (("int main", "namespace device_comm {}\nint main"), "namespace d", "name device_comm"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c.replace(" ", "_"))
def test_refusals_name_reason_and_line(case: str, tmp_path: Path) -> None:
    (old, new), place, reason = REFUSED[case]
    assert old in PROGRAM
    text = PROGRAM.replace(old, new, 1)
    context = ProposalContext(text, analyze(tmp_path, text), Api.GIN, Stage.DEVICE)
    with pytest.raises(RefusedError) as caught:
        RulesProposer().propose(context)
    lines = {r.line for r in caught.value.refusals if reason in r.reason}
    assert line_of(text, place) in lines, caught.value


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("64, ncclFloat,", "64, ncclElement,"),  # a macro of a header
        ("ncclSum,", "ncclOperator,"),
    ],
)
def test_names_of_the_program_that_begin_as_those_of_nccl(
    old: str, new: str, tmp_path: Path
) -> None:
    text = PROGRAM.replace(old, new)
    assert new in rewritten(tmp_path, text)


def test_windows_open_before_a_capture(tmp_path: Path) -> None:
    capture = "  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));\n"
    text = rewritten(tmp_path, PROGRAM.replace("  twice<<<", capture + "  twice<<<", 1), plain=True)
    assert f"  CHECK(device_comm::openWindows());\n{capture}" in text


def test_memory_of_other_kinds_becomes_windows(tmp_path: Path) -> None:
    text = PROGRAM.replace("cudaMalloc(&data", "cudaMallocManaged((void**)&data")
    text = text.replace("cudaFree(data)", "cudaFreeAsync(data, stream)")
    context = ProposalContext(text, analyze(tmp_path, text), Api.LSA, Stage.DEVICE)
    proposal = RulesProposer().propose(context)
    assert proposal is not None
    assert "device_comm::windowMallocManaged((void**)&data, 64" in proposal.text
    assert "device_comm::windowFreeAsync(data, stream)" in proposal.text
    assert any("never touches" in note for note in proposal.notes)


def test_all_refusals_are_told_at_once(tmp_path: Path) -> None:
    text = PROGRAM.replace("cudaMalloc(&data", "cudaMallocHost(&data")
    text = text.replace("64, ncclFloat, ncclSum", "64, ncclFloat8e5m2, ncclSum")
    context = ProposalContext(text, analyze(tmp_path, text), Api.LSA, Stage.DEVICE)
    with pytest.raises(RefusedError, match="1 more") as caught:
        RulesProposer().propose(context)
    assert len(caught.value.refusals) == 2
    assert [r.line for r in caught.value.refusals] == sorted(r.line for r in caught.value.refusals)


def test_no_device_memory_is_refused(tmp_path: Path) -> None:
    text = re.sub(r"  CHECK\(cudaMalloc.*\n", "", PROGRAM)
    context = ProposalContext(text, analyze(tmp_path, text), Api.GIN, Stage.DEVICE)
    with pytest.raises(RefusedError, match="allocates no device memory"):
        RulesProposer().propose(context)
