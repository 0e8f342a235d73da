"""Reads of memory that nobody has written: which matter, which do not, and who is to blame."""

from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core.records import Severity
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs import fresh_memory
from warploom.evaluation.runs.plan import Effort, parse_replay

PROGRAM = """\
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void use(const int* a, int* out) { out[threadIdx.x] = a[threadIdx.x] + 1; }  // USE
__global__ void discard(const float* a, float* out, int n) {
  float v = a[threadIdx.x];  // DISCARD
  if (threadIdx.x < n) out[threadIdx.x] = v;
}
__global__ void vectors(const float4* a, float* out, int n) {
  const float4 v = a[threadIdx.x];
  const int i = 4 * threadIdx.x;
  if (i < n) out[i] = v.x;
  if (i + 1 < n) out[i + 1] = v.y;
  if (i + 2 < n) out[i + 2] = v.z;
  if (i + 3 < n) out[i + 3] = v.w;
}
__global__ void flag(const int* ready, int* out) { *out = *ready == 1 ? 5 : 6; }  // FLAG
__global__ void exchange(int* to) { atomicExch(&to[threadIdx.x], 3); }
__global__ void wait(volatile int* lock) {
  while (*lock != 0) {  // WAIT
  }
}
__global__ void reduce(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 1;
  __syncthreads();
  const int sum = tile[threadIdx.x] + tile[threadIdx.x + 32];  // the upper half is nobody's
  if (threadIdx.x == 40) *out = sum;
}
__global__ void tile_open(int* out) {
  __shared__ int tile[64];
  if (threadIdx.x < 31) tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = 2 * tile[threadIdx.x];  // TILE
}
__global__ void local_heap(int* out) {
  int* own = static_cast<int*>(malloc(8));
  own[0] = 4;
  *out = own[0] + own[1];  // HEAP
  free(own);
}

int main(int argc, char** argv) {
  int *a, *b, *m, back[64] = {};
  cudaMalloc(&a, sizeof back);
  cudaMalloc(&b, sizeof back);
  cudaMallocManaged(&m, sizeof back);
  const char* what = argv[1];
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  bool show = true;
  if (is("use") || is("clock")) use<<<1, 64>>>(a, b);
  if (is("moved")) {
    int* c;
    cudaMalloc(&c, sizeof back);
    cudaMemcpy(c, a, sizeof back, cudaMemcpyDeviceToDevice);
    use<<<1, 64>>>(c, b);
    cudaFree(c);
  }
  if (is("discard")) discard<<<1, 32>>>((float*)a, (float*)b, 0), show = false;
  if (is("vectors")) {
    cudaMemset(a, 0, 30 * 4);
    vectors<<<1, 8>>>((float4*)a, (float*)b, 30);
  }
  if (is("flag")) flag<<<1, 1>>>(a, b);
  if (is("exchange")) exchange<<<1, 64>>>(b);
  if (is("wait")) wait<<<1, 1>>>(a), show = false;
  if (is("reduce")) reduce<<<1, 64>>>(b), show = false;
  if (is("tile_open")) tile_open<<<1, 32>>>(b);
  if (is("local_heap")) local_heap<<<1, 1>>>(b);
  if (is("unseen")) use<<<1, 64>>>(a, b), show = false;
  if (is("looked_on")) {
    *m = 8;
    use<<<1, 64>>>(a, b);
    cudaDeviceSynchronize();
    std::printf("%d\\n", *m);
    show = false;
  }
  if (is("gaps")) cudaMemset(b, 0, 16);
  if (is("fails")) {
    cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost);  // FAILS
    return back[9] == 4711 ? 0 : 1;
  }
  if (is("managed")) {
    cudaDeviceSynchronize();
    std::printf("%d\\n", m[3]);  // MANAGED
    show = false;
  }
  if (is("like_fresh")) {  // what a program writes may look like fresh memory
    for (int i = 0; i < 64; i++) back[i] = static_cast<int>(0xFFF7FFF7);
    cudaMemcpy(a, back, sizeof back, cudaMemcpyHostToDevice);
    use<<<1, 64>>>(a, b);
  }
  if (is("printed")) {
    cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost);  // PRINTED
    std::printf("%d\\n", back[9]);
    show = false;
  }
  if (show) cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost);
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  if (is("clock")) std::printf("it is %lld\\n", static_cast<long long>(now));
  if (show) std::printf("%d\\n", back[0]);
  cudaFree(a);
  cudaFree(b);
  cudaFree(m);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fresh") / "program.cu"
    path.write_text(PROGRAM)
    return path


def checked(program: Path, what: str) -> CheckReport:
    return check(program, ranks=1, effort=Effort.QUICK, args=[what])


def line_of(mark: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"// {mark}"))


def blamed(report: CheckReport) -> list[tuple[int | None, Severity]]:
    return [
        (item.finding.line, item.finding.severity)
        for item in report.findings
        if item.finding.kind == "uninitialized_read"
    ]


@pytest.mark.parametrize(
    ("what", "mark"),
    [
        ("use", "USE"),
        ("moved", "USE"),
        ("flag", "FLAG"),
        ("tile_open", "TILE"),
        ("local_heap", "HEAP"),
        ("managed", "MANAGED"),
        ("printed", "PRINTED"),
        ("clock", "USE"),
    ],
)
def test_what_the_result_depends_on_is_an_error(program: Path, what: str, mark: str) -> None:
    assert blamed(checked(program, what)) == [(line_of(mark), Severity.ERROR)]


@pytest.mark.parametrize("what", ["discard", "vectors", "exchange", "reduce", "gaps", "like_fresh"])
def test_what_nothing_depends_on_is_no_finding(program: Path, what: str) -> None:
    assert blamed(checked(program, what)) == []


def test_what_nothing_shows_is_a_warning(program: Path) -> None:
    report = checked(program, "unseen")
    assert blamed(report) == [(line_of("USE"), Severity.WARNING)]
    assert report.exit_code == 0
    assert blamed(checked(program, "looked_on")) == []


def test_a_wait_that_garbage_keeps_from_ending(program: Path) -> None:
    report = checked(program, "wait")
    assert blamed(report) == [(line_of("WAIT"), Severity.ERROR)]
    assert "deadlock" in [item.finding.kind for item in report.findings]


def test_a_program_that_fails_in_any_case_gets_a_warning(program: Path) -> None:
    assert blamed(checked(program, "fails")) == [(line_of("FAILS"), Severity.WARNING)]


def test_a_replay_says_the_same(program: Path) -> None:
    report = check(program, ranks=1, replay=parse_replay("0:lazy"), args=["use"])
    assert blamed(report) == [(line_of("USE"), Severity.ERROR)]
    assert report.findings[0].finding.trace


def test_equal_stores_on_a_line_hide_no_read_there(tmp_path: Path) -> None:
    source = tmp_path / "equal_stores.cu"
    source.write_text(
        "#include <cuda_runtime.h>\n#include <cstdio>\n"
        "__global__ void use(int* done, const int* a, int* out) {\n"
        "  *done = 1; out[threadIdx.x] = a[threadIdx.x] / 3;\n"
        "}\n"
        "int main() {\n  int *memory, got[32];\n  cudaMalloc(&memory, 4096);\n"
        "  cudaMemset(memory, 0, 256);\n  use<<<1, 32>>>(memory, memory + 512, memory + 32);\n"
        "  cudaMemcpy(got, memory + 32, sizeof got, cudaMemcpyDeviceToHost);\n"
        '  printf("%d\\n", got[3]);\n  return cudaDeviceSynchronize();\n}\n'
    )
    report = check(source, ranks=1, effort=Effort.QUICK)
    assert (4, Severity.ERROR) in blamed(report), report.findings


WARM_UP = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
__global__ void add_up(const float* values, float* sum) { atomicAdd(sum, values[threadIdx.x]); }
int main(int argc, char** argv) {
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  float *values, *sum, h[32], place[2] = {}, *host = place, other = 0;
  const bool kept = is("kept");  // beside the next one
  for (int i = 0; i < 32; i++) h[i] = i;
  cudaMalloc(&values, sizeof h);
  cudaMalloc(&sum, 2 * sizeof *sum);
  cudaMemset(sum, 0, 2 * sizeof *sum);
  if (!is("pageable")) cudaMallocHost(&host, 2 * sizeof *host);
  for (int round = 0; round < 2; round++) {
    if (round == 1) cudaMemcpy(values, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemset(sum, 0, sizeof *sum);
    add_up<<<1, 32>>>(values, sum);
    cudaMemcpy(host + (kept ? round : 0), sum, sizeof *sum, cudaMemcpyDeviceToHost);
    if (round == 0 && is("printed")) std::printf("%g\\n", *host);
    if (round == 0 && is("copied")) std::memcpy(&other, host, sizeof other);
    if (round == 0 && is("stored")) *host = 0;
  }
  cudaDeviceSynchronize();
  std::printf("%g\\n", *host + 0 * other);
  return 0;
}
"""


@pytest.mark.parametrize("way", ["pinned", "pageable", "stored"])
def test_a_read_back_that_nobody_reads_shows_nothing(tmp_path: Path, way: str) -> None:
    assert _kinds_of_warm_up(tmp_path, way) == set()


@pytest.mark.parametrize("way", ["printed", "copied", "kept"])
def test_a_read_back_that_is_read_is_a_result(tmp_path: Path, way: str) -> None:
    assert _kinds_of_warm_up(tmp_path, way) == {"uninitialized_read"}


def _kinds_of_warm_up(folder: Path, way: str) -> set[str]:
    program = folder / "warm_up.cu"
    program.write_text(WARM_UP)
    report = check(program, ranks=1, effort=Effort.QUICK, args=[way])
    return {m.finding.kind for m in report.findings if m.finding.severity is Severity.ERROR}


NOISE = """\
#include <cuda_runtime.h>
#include <cstdio>
__global__ void use(const unsigned* a, unsigned* out, unsigned noise) {
  out[threadIdx.x] = 3 * a[threadIdx.x] + noise;
}
int main(int argc, char**) {
  unsigned *a, *b, noise = 0, back[32];
  cudaMalloc(&a, sizeof back);
  cudaMalloc(&b, sizeof back);
  FILE* file = fopen("/dev/urandom", "rb");
  if (argc > 1 && fread(&noise, sizeof noise, 1, file) != 1) return 3;
  fclose(file);
  use<<<1, 32>>>(a, b, noise);
  cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost);
  return 0;
}
"""


def test_a_program_that_never_returns_the_same_gets_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "noise.cu"
    source.write_text(NOISE)
    steady = check(source, ranks=1, effort=Effort.QUICK)
    assert blamed(steady) == [(4, Severity.ERROR)]
    report = check(source, ranks=1, effort=Effort.QUICK, args=["noise"])
    assert blamed(report) == [(4, Severity.WARNING)]
    messages = [item.finding.message for item in report.findings]
    assert any("something else each time it runs" in message for message in messages)


def test_a_seed_from_the_time_of_day_hides_nothing(tmp_path: Path) -> None:
    source = tmp_path / "seeded.cu"
    text = NOISE.replace(
        "#include <cstdio>", "#include <cstdio>\n#include <ctime>\n#include <random>"
    )
    for seed in ("time(nullptr)", "std::random_device{}()"):
        source.write_text(text.replace("noise = 0", f"noise = {seed}"))
        report = check(source, ranks=1, effort=Effort.QUICK)
        assert blamed(report) == [(6, Severity.ERROR)], seed


TOGETHER = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void use(const float* a, const float* b, const float* c, float* out) {
  float set[1];
  set[0] = 1;
  float x = c[0];                                   // c counts for nothing
  float first = a[0] > 1e20f || a[0] < -1e20f;
  float second = b[0] > 1e20f || b[0] < -1e20f;
  out[0] = set[0] + (first + second > 1.5f) + 0 * (x > 3);
}
int main() {
  float *a, *b, *c, *out, back;
  cudaMalloc(&a, 4); cudaMalloc(&b, 4); cudaMalloc(&c, 4); cudaMalloc(&out, 4);
  use<<<1, 1>>>(a, b, c, out);
  cudaMemcpy(&back, out, 4, cudaMemcpyDeviceToHost);
  printf("%g\\n", back);
}
"""


def test_what_counts_only_together_is_told_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "together.cu"
    source.write_text(TOGETHER)
    report = check(source, ranks=1, effort=Effort.QUICK)
    errors = [item for item in blamed(report) if item[1] is Severity.ERROR]
    assert sorted(line for line, _ in errors) == [7, 8]


def test_a_busy_machine_accuses_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats meet their time limit there; with more time they return the same."""
    source = tmp_path / "harmless.cu"
    source.write_text(TOGETHER.replace("> 1.5f", "> 2.5f"))
    limits: list[float] = []
    really_run = fresh_memory.run

    def slow(program: EmulatorBuild, options: RunOptions) -> EmulatorRun:
        limits.append(options.limits.seconds)
        outcome = really_run(program, options)
        return replace(outcome, state="timeout") if options.limits.seconds <= 60 else outcome

    monkeypatch.setattr(fresh_memory, "run", slow)
    assert blamed(check(source, ranks=1, effort=Effort.QUICK)) == []
    assert max(limits) > 60
