"""Verdicts that hang on comparisons which see no result, and those that see some."""

from pathlib import Path

import pytest

from warploom.source import CUDAAnalyzer

HEAD = """\
#include <vector>
__global__ void work(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
void cpu(const float* in, float* out, int n) { for (int i = 0; i < n; ++i) out[i] = in[i] + 1; }
bool equal_arrays(const float* a, const float* b, int n) {
  for (int i = 0; i < n; ++i) if (a[i] != b[i]) return false;
  return true;
}
int main() {
  float *d_a, *d_b;
  cudaMalloc(&d_a, 128); cudaMalloc(&d_b, 128);
  float h_in[32], h_out[32], ref[32], other[32];
  for (int i = 0; i < 32; ++i) h_in[i] = rand();
  cudaMemcpy(d_a, h_in, 128, cudaMemcpyHostToDevice);
  work<<<1, 32>>>(d_a, d_b);
  ncclAllReduce(d_b, d_b, 32, ncclFloat, ncclSum, comm, s);
  cudaMemcpy(h_out, d_b, 128, cudaMemcpyDeviceToHost);
  cpu(h_in, ref, 32);
"""
LOOP = "  int bad = 0;\n  for (int i = 0; i < 32; ++i)\n    {}  // HERE\n"
PASS = '  if (bad == 0) printf("PASS\\n");\n'
OK_PASS = '  printf("%s\\n", ok ? "PASS" : "FAIL");\n'


def counted(condition: str) -> str:
    return LOOP.replace("{}", f"if ({condition}) bad++;") + PASS


def called(call: str) -> str:
    return f"  bool ok = {call};  // HERE\n" + OK_PASS


def warned(tmp_path: Path, body: str) -> dict[str, list[int]]:
    place = tmp_path / "p.cu"
    place.write_text(HEAD + body + "}\n")
    report = CUDAAnalyzer(place).analyze()
    found: dict[str, list[int]] = {}
    for warning in report.warnings:
        if warning.kind != "unchecked_errors":
            found.setdefault(warning.kind, []).append(warning.line)
    return found


def here(tmp_path: Path) -> int:
    lines = (tmp_path / "p.cu").read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith("// HERE"))


COPY = "  std::vector<float> got(h_out, h_out + 32);\n"
HOLLOW = {
    "the reference with itself": counted("ref[i] != ref[i]"),
    "the result with itself": counted("h_out[i] != h_out[i]"),
    "a difference of one thing": counted("fabs(h_out[i] - h_out[i]) > 1e-5"),
    "the reference with a constant": counted("fabs(ref[i] - 3.0f) > 1e-5"),
    "what was never read back": "  float got[32] = {0};\n" + counted("got[i] != ref[i]"),
    "two references": "  cpu(h_in, other, 32);\n" + counted("other[i] != ref[i]"),
    "memcmp of one thing": called("memcmp(h_out, h_out, 128) == 0"),
    "a helper, of one thing": called("equal_arrays(h_out, h_out, 32)"),
    "a helper, without results": called("equal_arrays(ref, other, 32)"),
    "a copy of the results": "  for (int i = 0; i < 32; ++i) other[i] = h_out[i];\n"
    + counted("other[i] != h_out[i]"),
    "an early return": "  for (int i = 0; i < 32; ++i)\n"
    "    if (ref[i] != ref[i]) return 1;  // HERE\n"
    '  printf("PASS\\n");\n',
    "the largest error": "  double worst = 0;\n  for (int i = 0; i < 32; ++i) {\n"
    "    double e = fabs(ref[i] - other[i]);\n    if (e > worst) worst = e;  // HERE\n  }\n"
    '  if (worst < 1e-5) printf("PASS\\n");\n',
}


@pytest.mark.parametrize("name", list(HOLLOW))
def test_hollow_checks_are_told_at_the_comparison(tmp_path: Path, name: str) -> None:
    found = warned(tmp_path, HOLLOW[name])
    assert found == {"hollow_check": [here(tmp_path)]}


HONEST = {
    "against a reference": counted("h_out[i] != ref[i]"),
    "with a tolerance": counted("fabs(h_out[i] - ref[i]) > 1e-5 * fabs(ref[i])"),
    "no number, and against a reference": counted("h_out[i] != h_out[i] || h_out[i] != ref[i]"),
    "neighbors": counted("i > 0 && h_out[i] != h_out[i - 1]"),
    "against a constant": counted("h_out[i] != 7.0f"),
    "a helper": called("equal_arrays(h_out, ref, 32)"),
    "memcmp": called("memcmp(h_out, ref, 128) == 0"),
    "a copy from before the results": "  float before[32];\n"
    "  for (int i = 0; i < 32; ++i) before[i] = h_out[i];\n"
    "  cudaMemcpy(h_out, d_b, 128, cudaMemcpyDeviceToHost);\n" + counted("before[i] != h_out[i]"),
    "a changed copy": "  for (int i = 0; i < 32; ++i) other[i] = h_out[i];\n"
    "  cpu(h_in, other, 32);\n" + counted("other[i] != h_out[i]"),
    "a sum": "  double sum = 0;\n  for (int i = 0; i < 32; ++i) sum += h_out[i] - ref[i];\n"
    '  if (fabs(sum) < 1e-5) printf("PASS\\n");\n',
}


@pytest.mark.parametrize("name", list(HONEST))
def test_comparisons_of_results_are_left_in_peace(tmp_path: Path, name: str) -> None:
    assert warned(tmp_path, HONEST[name]) == {}


def test_no_comparison_at_all_is_unguarded(tmp_path: Path) -> None:
    body = '  if (rank == 0 && argc > 1 && argv[1][0] == 0) printf("PASS\\n");\n'
    assert list(warned(tmp_path, body)) == ["unguarded_pass"]


@pytest.mark.parametrize(
    ("markers", "line", "other"),
    [
        (("START a", "START b", "END", "END"), 2, "line 1"),
        (("START a", "END", "END"), 3, "line 2"),
        (("START a",), 1, "line 10"),
        (("END", "START a", "END"), 1, "no region is open"),
    ],
    ids=["nested", "an end too many", "never closed", "an end first"],
)
def test_unpaired_markers_are_told_with_both_lines(
    tmp_path: Path, markers: tuple[str, ...], line: int, other: str
) -> None:
    place = tmp_path / "p.cu"
    text = "".join(f"// EVOLVE-BLOCK-{marker}\n" for marker in markers)
    rest = "\n" * (9 - len(markers)) + "int main() { cudaDeviceSynchronize(); }\n"
    place.write_text(text + rest)
    found = [w for w in CUDAAnalyzer(place).analyze().warnings if w.kind == "evolve_markers"]
    assert found[0].line == line
    assert f"line {line}" in found[0].message
    assert other in found[0].message


def test_paired_markers_are_left_in_peace(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    block = "// EVOLVE-BLOCK-START {}\nint {};\n// EVOLVE-BLOCK-END\n"
    place.write_text(block.format("a", "a") + block.format("b", "b") + "int main() {}\n")
    kinds = {w.kind for w in CUDAAnalyzer(place).analyze().warnings}
    assert "evolve_markers" not in kinds


ALLOCATORS = """\
template <typename T> T* device_alloc(size_t n) {
  T* p = nullptr;
  if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) exit(1);
  return p;
}
void* raw(size_t bytes) { void* p; cudaMalloc(&p, bytes); return p; }
float* outer(size_t n) { return static_cast<float*>(raw(4 * n)); }
void make(float** out, size_t bytes) { cudaMalloc((void**)out, bytes); }
template <class T> struct Vector { T* at; explicit Vector(size_t n) { cudaMalloc(&at, n); } };
int main() {
  float* d_in = device_alloc<float>(64);
  int* d_at = device_alloc<int>(32);
  float* d_x; make(&d_x, 256);
  Vector<double> v(77);
  float* d_y = outer(9);
  float* plain; cudaMalloc(&plain, 64);
}
"""


def test_allocations_are_followed_to_the_line_of_the_call(tmp_path: Path) -> None:
    place = tmp_path / "p.cu"
    place.write_text(ALLOCATORS)
    report = CUDAAnalyzer(place).analyze()
    calls = {(c.name, c.line) for a in report.allocations for c in a.calls}
    first = ALLOCATORS.splitlines().index("int main() {") + 2
    assert calls == {
        ("d_in", first), ("d_at", first + 1), ("d_x", first + 2), ("v.at", first + 3),
        ("d_y", first + 4),
    }  # fmt: skip
    [plain] = [a for a in report.allocations if a.name == "plain"]
    assert plain.calls == ()
