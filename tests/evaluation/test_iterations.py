"""Every iteration does its work, and timed runs do what verified ones do."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from spoiled_program import COPY, HOST, KERNEL, TEXT, written

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, Spoil, build, find_topology, run
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.depends.iterations import not_looked_at
from warploom.evaluation.records import Evaluation
from warploom.source.regions import Program
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload

GATHER = "    ncclAllGather(mine, gathered, kCount, ncclFloat, comm, stream);\n"
ONCE = f"    if (iteration == 0) {{\n{GATHER}{KERNEL}    }}\n"
# The same data moves each time, and the results are those of the first.
KEPT = f"""
    static float* kept = nullptr;
    if (!kept) {{
      cudaMalloc(&kept, all * sizeof(float));
      {GATHER}
      {KERNEL}
      cudaMemcpyAsync(kept, out, all * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    }} else {{
      {GATHER}
      cudaMemcpyAsync(out, kept, all * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    }}
"""
# A cache by value, in a form that is no number: right for whatever comes, and computed once.
CACHED = """\
__global__ void cached(const float* in, float* out, int* seen, int* kept, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int bits = __float_as_int(in[i]);
  if (seen[2 * i] == (bits & 0xffff) && seen[2 * i + 1] == (bits >> 16 & 0xffff)) {
    out[i] = __int_as_float(kept[2 * i] | kept[2 * i + 1] << 16);
    return;
  }
  float result = 2.0f * in[i];
  seen[2 * i] = bits & 0xffff;
  seen[2 * i + 1] = bits >> 16 & 0xffff;
  kept[2 * i] = __float_as_int(result) & 0xffff;
  kept[2 * i + 1] = __float_as_int(result) >> 16 & 0xffff;
  out[i] = result;
}

int main("""
BY_VALUE = f"""
    static int *seen = nullptr, *kept = nullptr;
    if (!seen) {{
      cudaMalloc(&seen, 2 * all * sizeof(int));
      cudaMalloc(&kept, 2 * all * sizeof(int));
      cudaMemsetAsync(seen, 0, 2 * all * sizeof(int), stream);
    }}
    {GATHER}
    cached<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, seen, kept, all);
"""
# Keeps its results where a fingerprint of the inputs is the one of last time.
PRINTED = """\
__device__ float g_print;
__device__ int g_same;
__global__ void fingerprint(const float* in, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += in[i] * (i + 1);
  g_same = sum == g_print;
  g_print = sum;
}
__global__ void anew(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && !g_same) {
    for (int k = 0; k < 40; k++) out[i] = 2.0f * in[i];
  }
}

int main("""
BY_FINGERPRINT = f"""
    {GATHER}
    fingerprint<<<1, 1, 0, stream>>>(gathered, all);
    anew<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, all);
"""
# Brings the warm-up's results to the host in small pieces, and uploads them as if they were inputs.
# Device memory in messages of MPI; what arrives is the same in each iteration.
BY_MPI = f"""
    cudaStreamSynchronize(stream);
    MPI_Request requests[2];
    MPI_Irecv(gathered + (1 - rank) * kCount, kCount, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(mine, kCount, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    cudaMemcpyAsync(gathered + rank * kCount, mine, kCount * sizeof(float),
                    cudaMemcpyDeviceToDevice, stream);
    {KERNEL}
"""
RECALL = """\
__global__ void recall(const float* in, float* out, const float* asked, const float* known, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (asked[i] == in[i]) {
    out[i] = known[i];
  } else {
    for (int k = 0; k < 40; k++) out[i] = 2.0f * in[i];
  }
}

int main("""
LAUNDERED = f"""
    static float *asked = nullptr, *known = nullptr;
    {GATHER}
    if (iteration == 0) {{
      {KERNEL}
      cudaStreamSynchronize(stream);
      std::vector<float> a(all), b(all);
      for (int i = 0; i < all; i += 32) {{
        cudaMemcpy(&a[i], gathered + i, 128, cudaMemcpyDeviceToHost);
        cudaMemcpy(&b[i], out + i, 128, cudaMemcpyDeviceToHost);
      }}
      cudaMalloc(&asked, all * sizeof(float));
      cudaMalloc(&known, all * sizeof(float));
      cudaMemcpy(asked, a.data(), all * sizeof(float), cudaMemcpyHostToDevice);
      cudaMemcpy(known, b.data(), all * sizeof(float), cudaMemcpyHostToDevice);
    }} else {{
      recall<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, asked, known, all);
    }}
"""
# The same by a message of MPI to oneself.
BY_MESSAGE = re.sub(
    r"for \(int i = 0; i < all; i \+= 32\) \{.*?\n      \}",
    """for (int k = 0; k < 2; k++) {
        MPI_Sendrecv(k ? out : gathered, all, MPI_FLOAT, 0, 0, k ? b.data() : a.data(), all,
                     MPI_FLOAT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      }""",
    LAUNDERED,
    flags=re.DOTALL,
)
# By memory that both sides see, from which the host takes it or uploads it.
TAKEN = "for (int i = 0; i < all; i++) a[i] = shared[i], b[i] = shared[all + i];"
BY_SHARED_MEMORY = re.sub(
    r"for \(int i = 0; i < all; i \+= 32\) \{.*?\n      \}",
    f"""float* shared;
      cudaMallocHost(&shared, 2 * all * sizeof(float));
      to_host<<<1, 64, 0, stream>>>(gathered, out, shared, all);
      cudaStreamSynchronize(stream);
      {TAKEN}""",
    LAUNDERED,
    flags=re.DOTALL,
)
BY_MANAGED_MEMORY = BY_SHARED_MEMORY.replace("cudaMallocHost", "cudaMallocManaged")
BY_VOLATILES = BY_SHARED_MEMORY.replace(TAKEN, f"volatile float* seen = shared;\n      {TAKEN}")
BY_VOLATILES = BY_VOLATILES.replace("= shared[", "= seen[")
UPLOADED = (
    BY_SHARED_MEMORY.replace(TAKEN, "")
    .replace("a.data()", "shared")
    .replace("b.data()", "shared + all")
)
TO_HOST = """\
__global__ void to_host(const float* in, const float* out, float* shared, int n) {
  for (int i = threadIdx.x; i < n; i += 64) shared[i] = in[i], shared[n + i] = out[i];
}
"""
# Works only where somebody has waited for the iteration before.
IF_ASKED = """\
__global__ void if_asked(const float* in, float* out, int n, bool anew) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; i < n && anew && k < 40; k++) out[i] = 2.0f * in[i];
}

int main("""
ASKS = f"""
    static cudaEvent_t ended = nullptr;
    if (!ended) cudaEventCreate(&ended);
    bool anew = iteration == 0 || cudaEventQuery(ended) == cudaSuccess;
    {GATHER}
    if_asked<<<(all + 31) / 32, 32, 0, stream>>>(gathered, out, all, anew);
    cudaEventRecord(ended, stream);
"""
# Moves what earlier iterations left, and does not use it.
PADDED = f"""
    static float* padded = nullptr;
    if (!padded) cudaMalloc(&padded, 2 * all * sizeof(float));
    if (iteration > 0) {{
      cudaMemcpyAsync(padded, out, all * sizeof(float), cudaMemcpyDeviceToDevice, stream);
      cudaMemcpyAsync(padded + all, gathered, all * sizeof(float), cudaMemcpyDeviceToDevice,
                      stream);
    }}
    {GATHER}
    {KERNEL}
"""
CLOCK = """
  double from = MPI_Wtime();
  for (int i = 0; i < 16; i++) cudaMemsetAsync(gathered, 0, 4, stream);
  bool looks_timed = MPI_Wtime() - from > 5e-6;
"""


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    path = tmp_path_factory.mktemp("iterations") / "base.cu"
    path.write_text(TEXT)
    return Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)


def judge(workload: Workload, text: str, level: int = 2, **options: bool) -> Evaluation:
    program = Program(text, Path("candidate.cu"))
    machine = find_topology("h200-8")
    return evaluate(program, workload, level=level, nvcc=False, topology=machine, **options)


def kinds(result: Evaluation) -> set[str]:
    return {item.finding.kind for item in result.findings} - {"no_frame"}


def test_work_of_the_warm_up_is_not_work_of_the_iterations(workload: Workload) -> None:
    result = judge(workload, written(ONCE))
    assert not result.passed
    assert "work_differs" in kinds(result)


def test_results_that_are_kept_are_found(workload: Workload) -> None:
    result = judge(workload, written(KEPT))
    assert not result.passed
    assert kinds(result) & {"work_differs", "communication_unused"}, result.findings


@pytest.mark.parametrize("kind", ["", "volatile "])
def test_results_are_found_whatever_they_are_kept_as(workload: Workload, kind: str) -> None:
    cached = CACHED.replace("int* seen, int* kept", f"{kind}int* seen, {kind}int* kept")
    result = judge(workload, written(BY_VALUE).replace("int main(", cached))
    assert not result.passed
    assert kinds(result) == {"work_differs"}, result.findings


def _in_two_of_three(text: str) -> str:
    """Let every third launch of the kernel leave the output as it is."""
    return text.replace(
        "__global__ void twice(const float* in, float* out, int n) {",
        "__device__ int launches;\n__global__ void count() { launches = launches + 1; }\n"
        "__global__ void twice(const float* in, float* out, int n) {\n"
        "  if (launches % 3 == 2) return;",
    )


COUNT = "    count<<<1, 1, 0, stream>>>();\n"
NEVER_IDLE = """
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  volatile int* stop_side = nullptr;
  cudaMallocHost((void**)&stop_side, 4);
  *stop_side = 0;
  spin<<<1, 1, 0, side>>>(stop_side);
  cudaEvent_t start, stop;
"""
SPIN = (
    "__global__ void spin(volatile int* stop) { while (*stop == 0) __nanosleep(1000); }\nint main("
)
SKIPS = {
    "third": written("    if (iteration < 2) {" + GATHER + KERNEL + "    }\n"),
    "in_kernel": _in_two_of_three(written(GATHER + KERNEL + COUNT)),
    "early_event": written(KEPT).replace(
        "  cudaEvent_t start, stop;\n",
        "  cudaEvent_t start, stop, early;\n  cudaEventCreate(&early);\n"
        "  for (int i = 0; i < 70; i++) cudaEventRecord(early, stream);\n",
    ),
    "never_idle": written(KEPT)
    .replace("int main(", SPIN)
    .replace("  cudaEvent_t start, stop;\n", NEVER_IDLE)
    .replace("  cudaEventDestroy(start);", "  *stop_side = 1;\n  cudaEventDestroy(start);"),
    "before": written(GATHER + "    cudaMemcpyAsync(out, kept, all * sizeof(float),"
                      " cudaMemcpyDeviceToDevice, stream);\n").replace(
        "  cudaEvent_t start, stop;\n",
        "  float* kept;\n  cudaMalloc(&kept, all * sizeof(float));\n"
        + HOST.replace("2.0f * ", "") +
        "  cudaMemcpy(gathered, own.data(), all * sizeof(float), cudaMemcpyHostToDevice);\n"
        "  twice<<<(all + 31) / 32, 32, 0, stream>>>(gathered, kept, all);\n"
        "  cudaEvent_t start, stop;\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SKIPS)
def test_iterations_that_do_less_are_found(workload: Workload, how: str) -> None:
    result = judge(workload, SKIPS[how])
    assert not result.passed
    # A kernel that never ends is told before: it needs to run beside the others.
    told = (
        {"concurrent_kernels"} if how == "never_idle" else {"work_differs", "communication_unused"}
    )
    assert kinds(result) & told, result.findings


def test_results_beside_a_fingerprint_of_their_inputs_are_kept(workload: Workload) -> None:
    result = judge(workload, written(BY_FINGERPRINT).replace("int main(", PRINTED))
    assert kinds(result) == {"work_differs"}, result.findings
    honest = written(BY_FINGERPRINT).replace("int main(", PRINTED.replace("&& !g_same", ""))
    result = judge(workload, honest)
    assert result.passed, result.findings


def test_results_that_came_back_are_no_inputs(workload: Workload) -> None:
    # The warm-up brings the output back from a name of its own, which is no output.
    text = (
        written(LAUNDERED)
        .replace("int main(", RECALL)
        .replace("&b[i], out + i", "&b[i], mine2 + i")
    )
    text = text.replace(
        "for (int i = 0; i < all; i += 32)",
        "float* mine2 = out;\n      for (int i = 0; i < all; i += 32)",
    )
    only = replace(workload, outputs=(Output("out", "float32", 1e-5),))
    result = judge(only, text)
    assert kinds(result) == {"work_differs"}, result.findings


@pytest.mark.parametrize(
    "body",
    [BY_SHARED_MEMORY, BY_MANAGED_MEMORY, BY_VOLATILES, UPLOADED],
    ids=["pinned", "managed", "volatile", "uploaded"],
)
def test_results_that_came_back_in_shared_memory_are_no_inputs(
    workload: Workload, body: str
) -> None:
    text = written(body).replace("int main(", RECALL).replace("int main(", TO_HOST + "int main(")
    result = judge(workload, text)
    assert kinds(result) == {"work_differs"}, result.findings


def test_results_that_came_back_by_a_message_are_no_inputs(workload: Workload) -> None:
    text = written(BY_MESSAGE).replace("int main(", RECALL)
    assert kinds(judge(workload, text)) == {"extra_result"}  # what MPI brings is an output
    only = replace(workload, outputs=(Output("out", "float32", 1e-5),))
    result = judge(only, text)
    assert kinds(result) == {"work_differs"}, result.findings


def test_what_mpi_delivers_from_another_rank_is_not_carried_over(workload: Workload) -> None:
    result = judge(workload, written(BY_MPI))
    assert result.passed, result.findings


def test_memory_that_nobody_writes_hides_nothing(tmp_path: Path) -> None:
    # Its kernel that alters inputs before the first communication makes the lenient way needed.
    path = tmp_path / "scaled.cu"
    scaled = (
        "  cudaEvent_t start, stop;\n  twice<<<(kCount + 31) / 32, 32>>>(mine, mine, kCount);\n"
    )
    base = TEXT.replace("  cudaEvent_t start, stop;\n", scaled)
    path.write_text(base)
    other = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    room = "  char* room;\n  cudaMalloc(&room, size_t{600} << 20);\n  cudaEvent_t start, stop;\n"
    text = written(BY_VALUE).replace("int main(", CACHED)
    text = text.replace("  cudaEvent_t start, stop;\n", scaled)
    result = judge(other, text.replace("  cudaEvent_t start, stop;\n", room))
    assert kinds(result) == {"work_differs"}, result.findings


def test_a_candidate_that_cannot_be_looked_at_is_refused(workload: Workload) -> None:
    seen = {"poisoned": 2.0, "carrying": 1.0, "at_points": 3.0}
    plain = run(build(BuildSpec(workload.program)), RunOptions(ranks=2, args=("1",)))
    assert not not_looked_at(seen, replace(plain, stats=seen))
    early = {"poisoned": 1.0, "early": 1.0, "carrying": 1.0, "at_points": 3.0}
    assert not not_looked_at(seen, replace(plain, stats=early))
    full = {"poisoned": 0.0, "too_much": 1.0, "at_points": 3.0}
    assert "more device memory" in not_looked_at(seen, replace(plain, stats=full))
    assert "on its way" in not_looked_at(seen, replace(plain, stats={**seen, "poisoned": 1.0}))


def test_work_that_is_done_only_where_ranks_wait_is_found(workload: Workload) -> None:
    result = judge(workload, written(ASKS).replace("int main(", IF_ASKED))
    assert kinds(result) == {"work_differs"}, result.findings
    honest = ASKS.replace("all, anew)", "all, true)")
    result = judge(workload, written(honest).replace("int main(", IF_ASKED))
    assert result.passed, result.findings


def test_each_rank_takes_the_time_as_often_as_the_references(workload: Workload) -> None:
    more = """
  if (rank == 1) {
    cudaEventRecord(start, stream);
    cudaEventSynchronize(start);
    cudaEventElapsedTime(&milliseconds, stop, start);
  }
"""
    result = judge(workload, written(after=more))
    assert kinds(result) == {"work_differs"}, result.findings
    assert "rank 1 takes the time at 3 moments" in str(result.findings)


def test_a_program_that_reads_a_clock_is_judged_as_one_with_events(tmp_path: Path) -> None:
    def clocked(text: str) -> str:
        ends = "cudaStreamSynchronize(stream);\n  const double ms = MPI_Wtime() - from; (void)ms;"
        return (
            text.replace("  cudaEventElapsedTime(&milliseconds, start, stop);\n", "")
            .replace("cudaEventRecord(start, stream);", "from = MPI_Wtime();")
            .replace("cudaEvent_t start, stop;", "double from = 0; cudaEvent_t start, stop;")
            .replace("cudaEventRecord(stop, stream);\n  cudaStreamSynchronize(stream);", ends)
        )

    path = tmp_path / "base.cu"
    path.write_text(clocked(TEXT))
    workload = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    assert judge(workload, clocked(TEXT)).passed
    result = judge(workload, clocked(SKIPS["third"]))
    assert kinds(result) == {"work_differs"}, result.findings


def test_a_loop_that_reads_a_clock_adds_only_so_many_points(tmp_path: Path) -> None:
    path = tmp_path / "reads.cu"
    path.write_text(
        "#include <mpi.h>\nint main() {\n  MPI_Init(nullptr, nullptr);\n  double sum = 0;\n"
        "  for (int i = 0; i < 20000; i++) sum += MPI_Wtime();\n"
        "  MPI_Finalize();\n  return sum < 0;\n}\n"
    )
    done = run(build(BuildSpec(path)), RunOptions(ranks=1))
    assert done.state == "finished"
    assert done.stats["records"] == 1024


def test_what_is_carried_for_nothing_is_no_defect(workload: Workload) -> None:
    result = judge(workload.with_overrides(ranks=4), written(PADDED))
    assert result.passed, result.findings


def test_what_a_clock_decides_is_judged_under_both_clocks(workload: Workload) -> None:
    timed_only = written(after=CLOCK + "  if (looks_timed) {" + HOST + COPY + "  }\n")
    assert kinds(judge(workload, timed_only)) == {"forbidden_call"}
    result = judge(workload, timed_only, trust_candidate=True)
    assert not result.passed
    assert "communication_unused" in kinds(result)


def test_a_plain_program_gets_its_time(workload: Workload) -> None:
    result = judge(workload, written(), level=4)
    assert result.passed, result.findings
    assert result.metrics["speedup"] == pytest.approx(1.0)


def test_host_work_between_calls_takes_time(workload: Workload) -> None:
    busy = written(
        GATHER + "    volatile double sum = 0;\n"
        "    for (int i = 0; i < 100000; i++) sum = sum + input[i % kCount];\n" + KERNEL
    )
    result = judge(workload, busy, level=4)
    assert result.passed, result.findings
    assert result.metrics["speedup"] < 0.8


SIGNALS = """\
#include <cstdio>
#include <mpi.h>
#include <nccl.h>
#include <nccl_device.h>

__global__ void keep(ncclDevComm dev) {
  ncclGin gin(dev, 0);
  gin.signal(ncclTeamWorld(dev), 1 - dev.rank, ncclGin_SignalAdd{threadIdx.x, threadIdx.x + 7ull});
  gin.waitSignal(ncclCoopThread(), threadIdx.x, 1);
  __syncthreads();
  gin.flush(ncclCoopCta());
}
__global__ void take(ncclDevComm dev, float* to) {
  ncclGin gin(dev, 0);
  to[threadIdx.x] = gin.readSignal(threadIdx.x);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needs.ginSignalCount = 64;
  needs.ginContextCount = 1;
  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  ncclDevCommCreate(comm, &needs, &dev);
  float host[64], *to, ms;
  cudaMalloc(&to, sizeof host);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  keep<<<1, 64>>>(dev);
  cudaDeviceSynchronize();
  MPI_Barrier(MPI_COMM_WORLD);
  cudaEventRecord(start);
  take<<<1, 64>>>(dev, to);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  cudaEventElapsedTime(&ms, start, stop);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(to);
  ncclDevCommDestroy(comm, &dev);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
"""


def test_what_signals_hold_is_carried_over(tmp_path: Path) -> None:
    path = tmp_path / "signals.cu"
    path.write_text(SIGNALS)
    program = build(BuildSpec(path))
    plain = run(program, RunOptions(ranks=2))
    assert plain.state == "finished", plain.findings
    points = {r: tuple(int(plain.stats[f"point_{n}_of_{r}"]) for n in (1, 2)) for r in (0, 1)}
    spoil = Spoil("7:f4:none", points=points, meet=True, poison=1, only_counts=True)
    looked = RunOptions(ranks=2, spoil=spoil, race=False)
    assert run(program, looked).stats["carried_of_0"] >= 64 * 8
