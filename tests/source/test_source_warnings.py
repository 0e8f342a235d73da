"""What the analyzer warns of, and what it leaves in peace."""

from pathlib import Path

import pytest

from warploom.source import CUDAAnalyzer

HEAD = """\
__global__ void work(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
__global__ void ones(float* p, float v) { p[threadIdx.x] = v; }
__global__ void ramp(float* p, int rank) { int i = threadIdx.x; p[i] = i * rank; }
"""
SETUP = """\
int main() {
  float *d_a, *d_b;
  cudaMalloc(&d_a, 128); cudaMalloc(&d_b, 128);
  float h_in[32], h_out[32];
"""
RANDOM = "  for (int i = 0; i < 32; ++i) h_in[i] = rand();\n"
UPLOAD = "  cudaMemcpy(d_a, h_in, 128, cudaMemcpyHostToDevice);\n"
REDUCE = "  ncclAllReduce(d_a, d_b, 32, ncclFloat, ncclSum, comm, s);\n"
DOWNLOAD = "  cudaMemcpy(h_out, d_b, 128, cudaMemcpyDeviceToHost);\n"


def kinds(tmp_path: Path, body: str, head: str = "", *, setup: str = SETUP) -> dict[str, int]:
    place = tmp_path / "p.cu"
    place.write_text(HEAD + head + setup + body + "}\n")
    report = CUDAAnalyzer(place).analyze()
    assert report.skipped == ()
    return {w.kind: w.line for w in report.warnings if w.kind != "unchecked_errors"}


def has_line(tmp_path: Path, line: int, piece: str) -> bool:
    return piece in (tmp_path / "p.cu").read_text().splitlines()[line - 1]


GUARDS = {
    "if": '  if (h_out[3] == 2.0f) printf("PASS\\n");\n',
    "ternary": '  bool ok = h_out[3] == h_in[3];\n  printf("%s", ok ? "PASSED" : "FAILED");\n',
    "counter": "  int bad = 0;\n  for (int i = 0; i < 32; ++i) if (h_out[i] != 1) bad++;\n"
    '  if (rank == 0 && bad == 0) printf("Verification: PASS\\n");\n',
    "early exit": "  for (int i = 0; i < 32; ++i)\n    if (h_out[i] != 1) return 1;\n"
    '  printf("Test passed\\n");\n',
    "mpi": "  int bad = h_out[0] != 1, all = 0;\n"
    "  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
    '  if (!all) std::cout << "SUCCESS" << std::endl;\n',
    "assert": '  assert(h_out[1] == 3);\n  puts("PASS");\n',
    "helper": '  if (matches(h_out, 32)) puts("PASS");\n',
    "helper exits": '  demand(h_out, 32);\n  puts("PASS");\n',
    "alias": "  float* p = h_out;\n  double e = 0;\n  e += fabs(p[1] - 1);\n"
    '  if (e < 1e-3) puts("PASS");\n',
}
CHECKERS = """\
bool matches(const float* x, int n) {
  for (int i = 0; i < n; ++i) if (x[i] != 1) return false;
  return true;
}
void demand(const float* x, int n) { for (int i = 0; i < n; ++i) if (x[i] != 1) exit(1); }
"""


@pytest.mark.parametrize("name", list(GUARDS))
def test_guarded_pass_strings_are_fine(tmp_path: Path, name: str) -> None:
    found = kinds(tmp_path, RANDOM + UPLOAD + REDUCE + DOWNLOAD + GUARDS[name], CHECKERS)
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        '  printf("Verification: PASS\\n");\n',
        '  if (rank == 0) printf("[rank %d] Success\\n", rank);\n',
        '  if (cudaGetLastError() == cudaSuccess) puts("TEST PASSED");\n',
        '  std::cout << "All tests finished successfully" << std::endl;\n',
        '  ncclResult_t r = ncclCommDestroy(comm);\n  if (r == ncclSuccess) puts("PASS");\n',
    ],
)
def test_unguarded_pass_strings_are_told(tmp_path: Path, line: str) -> None:
    found = kinds(tmp_path, RANDOM + UPLOAD + REDUCE + DOWNLOAD + line)
    assert list(found) == ["unguarded_pass"]
    assert has_line(tmp_path, found["unguarded_pass"], line.strip().split("\n")[-1].strip())


def test_forward_pass_and_set_up_are_no_verdicts(tmp_path: Path) -> None:
    body = '  puts("forward pass");\n  puts("All communicators initialized successfully");\n'
    assert kinds(tmp_path, RANDOM + UPLOAD + REDUCE + DOWNLOAD + body) == {}


def test_results_that_nobody_reads_are_told(tmp_path: Path) -> None:
    found = kinds(tmp_path, RANDOM + UPLOAD + REDUCE)
    assert list(found) == ["no_readback"]
    assert has_line(tmp_path, found["no_readback"], "ncclAllReduce")


def test_results_read_through_later_work_are_fine(tmp_path: Path) -> None:
    later = "  work<<<1, 32>>>(d_b, d_a);\n  cudaMemcpy(h_out, d_a, 128, cudaMemcpyDeviceToHost);\n"
    assert kinds(tmp_path, RANDOM + UPLOAD + REDUCE + later) == {}
    wrong = "  work<<<1, 32>>>(d_a, d_b);\n  cudaMemcpy(h_out, d_a, 128, cudaMemcpyDeviceToHost);\n"
    assert list(kinds(tmp_path, RANDOM + UPLOAD + REDUCE + wrong)) == ["no_readback"]


def test_results_that_travel_on_are_read(tmp_path: Path) -> None:
    """What a rank sends comes to the host where another one receives it."""
    travels = (
        "  ncclGroupStart();\n  ncclSend({}, 32, ncclFloat, 0, comm, 0);\n"
        "  ncclRecv(d_a, 32, ncclFloat, 0, comm, 0);\n  ncclGroupEnd();\n"
        "  cudaMemcpy(h_out, d_a, 128, cudaMemcpyDeviceToHost);\n"
    )
    assert kinds(tmp_path, RANDOM + UPLOAD + REDUCE + travels.format("d_b")) == {}
    wrong = kinds(tmp_path, RANDOM + UPLOAD + REDUCE + travels.format("d_a"))
    assert list(wrong) == ["no_readback"]


def test_managed_memory_is_read_in_place(tmp_path: Path) -> None:
    setup = SETUP.replace("cudaMalloc(&d_b", "cudaMallocManaged(&d_b")
    assert kinds(tmp_path, RANDOM + UPLOAD + REDUCE, setup=setup) == {}


@pytest.mark.parametrize(
    "fill",
    [
        "  cudaMemset(d_a, 1, 128);\n",
        "  for (int i = 0; i < 32; ++i) h_in[i] = 1.0f;\n" + UPLOAD,
        "  for (int i = 0; i < 32; ++i) h_in[i] = (float)rank;\n" + UPLOAD,
        "  for (int i = 0; i < 32; ++i) *(h_in + i) = 1.0f;\n" + UPLOAD,
        "  std::fill(h_in, h_in + 32, 2.0f);\n" + UPLOAD,
        "  std::vector<float> v(32, 1.0f);\n"
        "  cudaMemcpy(d_a, v.data(), 128, cudaMemcpyHostToDevice);\n",
        "  ones<<<1, 32>>>(d_a, 3.0f);\n",
        "  ones<<<1, 32>>>(d_b, 3.0f);\n  work<<<1, 32>>>(d_b, d_a);\n",
        "  level(h_in, 32, 4);\n" + UPLOAD,
    ],
)
def test_constant_inputs_are_told(tmp_path: Path, fill: str) -> None:
    helper = "void level(float* x, int n, float v) { for (int i = 0; i < n; ++i) x[i] = v; }\n"
    found = kinds(tmp_path, fill + REDUCE + DOWNLOAD, helper)
    assert list(found) == ["constant_inputs"]
    assert has_line(tmp_path, found["constant_inputs"], "ncclAllReduce")


@pytest.mark.parametrize(
    "fill",
    [
        RANDOM + UPLOAD,
        "  for (int i = 0; i < 32; ++i) h_in[i] = i * 0.5f;\n" + UPLOAD,
        "  for (int i = 0; i < 32; ++i) *(h_in + i) = i * 0.5f;\n" + UPLOAD,
        "  for (int i = 0; i < 32; ++i) h_in[i] = dist(gen);\n" + UPLOAD,
        "  std::iota(h_in, h_in + 32, 0);\n" + UPLOAD,
        "  ramp<<<1, 32>>>(d_a, rank);\n",
        "  slope(h_in, 32);\n" + UPLOAD,
        "  float first = 1;\n  h_in[0] = first;\n  for (int i = 1; i < 32; ++i)"
        " h_in[i] = h_in[i - 1] * 2;\n" + UPLOAD,
        "  fread(h_in, 4, 32, file);\n" + UPLOAD,
    ],
)
def test_varied_inputs_are_fine(tmp_path: Path, fill: str) -> None:
    helper = "void slope(float* x, int n) { for (int i = 0; i < n; ++i) x[i] = 3 * i; }\n"
    assert kinds(tmp_path, fill + REDUCE + DOWNLOAD, helper) == {}


def test_inputs_that_nobody_sets_are_told(tmp_path: Path) -> None:
    found = kinds(tmp_path, REDUCE + DOWNLOAD)
    assert list(found) == ["uninitialized_inputs"]
    assert has_line(tmp_path, found["uninitialized_inputs"], "ncclAllReduce")


TIMED = {
    "sync": ("  double t0 = MPI_Wtime();\n" + REDUCE + "  cudaStreamSynchronize(s);\n"
             "  double t1 = MPI_Wtime();\n  report(t1 - t0);\n", None),
    "no sync": ("  double t0 = MPI_Wtime();\n" + REDUCE + "  double t1 = MPI_Wtime();\n"
                "  cudaStreamSynchronize(s);\n  report(t1 - t0);\n", "t1 = MPI_Wtime"),
    "direct": ("  double t0 = MPI_Wtime();\n" + REDUCE + "  double ms = MPI_Wtime() - t0;\n",
               "MPI_Wtime() - t0"),
    "chrono": ("  auto a = std::chrono::high_resolution_clock::now();\n" + REDUCE
               + "  auto b = std::chrono::high_resolution_clock::now();\n"
               "  double ms = std::chrono::duration<double, std::milli>(b - a).count();\n",
               "auto b ="),
    "helper clock": ("  double t0 = seconds();\n" + REDUCE + "  double t = seconds() - t0;\n",
                     "seconds() - t0"),
    "nothing inside": ("  double t0 = MPI_Wtime();\n  double t1 = MPI_Wtime();\n" + REDUCE
                       + "  report(t1 - t0);\n", "t1 = MPI_Wtime"),
    "events": ("  cudaEventRecord(e0, s);\n" + REDUCE + "  cudaEventRecord(e1, s);\n"
               "  cudaEventSynchronize(e1);\n  cudaEventElapsedTime(&ms, e0, e1);\n", None),
    "events around nothing": ("  cudaEventRecord(e0, s);\n  cudaEventRecord(e1, s);\n" + REDUCE
                              + "  cudaEventSynchronize(e1);\n"
                              "  cudaEventElapsedTime(&ms, e0, e1);\n", "Record(e1"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(TIMED))
def test_timers(tmp_path: Path, name: str) -> None:
    body, where = TIMED[name]
    head = "double seconds() { timeval tv; gettimeofday(&tv, 0); return tv.tv_sec; }\n"
    found = kinds(tmp_path, RANDOM + UPLOAD + body + DOWNLOAD, head)
    if where is None:
        assert found == {}
    else:
        assert list(found) == ["timer_outside_work"]
        assert has_line(tmp_path, found["timer_outside_work"], where)


def test_unchecked_calls_are_counted_once(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    place.write_text(
        "#define CHECK(x) if ((x) != cudaSuccess) exit(1)\n"
        "int main() {\n  float* d;\n  cudaMalloc(&d, 4);\n  CHECK(cudaMemset(d, 0, 4));\n"
        "  cudaError_t e = cudaFree(d);\n  cudaDeviceSynchronize();\n  ncclCommDestroy(c);\n"
        "  cudaFree(d);\n}\n"
    )
    (warning,) = CUDAAnalyzer(place).analyze().warnings
    assert warning.kind == "unchecked_errors" and warning.line == 4
    assert "2 CUDA or NCCL calls" in warning.message and "4, 7" in warning.message


def test_the_programs_own_names_have_no_status_to_drop(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    place.write_text(
        "inline void cudaAssert(cudaError_t code) { if (code) exit(1); }\n"
        "#define cudaErrChk(ans) { cudaAssert((ans)); }\n"
        "int main() {\n  float* d;\n  cudaErrChk(cudaMalloc(&d, 4));\n  cudaMemset(d, 0, 4);\n}\n"
    )
    (warning,) = CUDAAnalyzer(place).analyze().warnings
    assert "1 CUDA or NCCL calls ignore their status (lines 6)" in warning.message


def test_a_macro_before_a_call_takes_its_status(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    place.write_text(
        "#define DO last =\nint main() {\n  ncclResult_t last;\n"
        "  DO ncclSend(a, 1, ncclInt, 0, c, s);\n  each([&] {\n"
        "    for (int i = 0; i < n; i++) DO ncclRecv(b.get() + i, 1, ncclInt, i, c, s);\n  });\n"
        "  DO\n    ncclBcast(a, 1, ncclInt, 0, c, s);\n  cudaFree(a);\n}\n"
    )
    report = CUDAAnalyzer(place).analyze()
    assert [(c.name, c.line) for c in report.collectives] == [
        ("ncclSend", 4), ("ncclRecv", 6), ("ncclBcast", 9),
    ]  # fmt: skip
    assert {w.line for w in report.warnings if w.kind == "unchecked_errors"} <= {10}


def test_parts_without_main_are_not_judged(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    place.write_text("void f(float* d) { ncclBcast(d, 1, ncclInt, 0, c, s); }\n")
    assert [w.kind for w in CUDAAnalyzer(place).analyze().warnings] == ["unchecked_errors"]


def test_a_launch_by_function_has_a_status_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    body = "__global__ void k() {}\nint main() {\n  void* a[1];\n  %s;\n}\n"
    call = "cudaLaunchKernel((void*)k, 1, 1, a, 0, 0)"
    place.write_text(body % f"if ({call}) return 1")
    assert CUDAAnalyzer(place).analyze().warnings == ()
    place.write_text(body % call)
    (warning,) = CUDAAnalyzer(place).analyze().warnings
    assert warning.kind == "unchecked_errors" and warning.line == 4


def test_values_that_a_loop_appends_differ(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    text = (
        "#include <vector>\nint main() {\n  std::vector<int> h;\n"
        "  for (int i = 0; i < 9; i++) h.push_back(%s);\n  int* d;\n  int s = 7;\n"
        "  if (cudaMalloc(&d, 36)) return 1;\n"
        "  if (cudaMemcpy(d, h.data(), 36, cudaMemcpyHostToDevice)) return 1;\n"
        "  if (ncclAllReduce(d, d, 9, ncclInt, ncclSum, c, 0)) return 1;\n"
        "  if (cudaMemcpy(h.data(), d, 36, cudaMemcpyDeviceToHost)) return 1;\n}\n"
    )
    place.write_text(text % "i * 3")
    assert "constant_inputs" not in {w.kind for w in CUDAAnalyzer(place).analyze().warnings}
    place.write_text(text % "s")
    assert "constant_inputs" in {w.kind for w in CUDAAnalyzer(place).analyze().warnings}
