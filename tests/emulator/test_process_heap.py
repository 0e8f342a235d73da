"""Each process has a heap of its own, which behaves like the C library's."""

from pathlib import Path

from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import Effort

BLOCKS = r"""
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

static std::string before_main = std::string(200, 'b');

static int wrong(const char* what) {
  printf("wrong: %s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cudaFree(nullptr);
  before_main += "more";
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  uint32_t random = 12345 + rank;
  for (int i = 0; i < 20000; ++i) {
    random = random * 1664525 + 1013904223;
    size_t bytes = (random >> 8) % (i % 100 == 0 ? 400000 : 3000);
    if (blocks.size() > 500) {
      auto [p, n] = blocks[random % blocks.size()];
      for (size_t k = 0; k < n; k += 97)
        if (p[k] != (unsigned char)((uintptr_t)p >> 4)) return wrong("a block changed");
      free(p);
      blocks[random % blocks.size()] = blocks.back();
      blocks.pop_back();
    }
    auto* p = (unsigned char*)malloc(bytes);
    if (!p || (uintptr_t)p % 16) return wrong("malloc");
    memset(p, (unsigned char)((uintptr_t)p >> 4), bytes);
    blocks.push_back({p, bytes});
  }
  for (auto [p, n] : blocks) free(p);
  for (size_t align = 16; align <= 1 << 20; align *= 2) {
    void* p = nullptr;
    if (posix_memalign(&p, align, 100) || (uintptr_t)p % align) return wrong("posix_memalign");
    memset(p, 1, 100);
    free(p);
    p = aligned_alloc(align, align * 2);
    if ((uintptr_t)p % align) return wrong("aligned_alloc");
    free(p);
  }
  for (size_t bytes : {10ul, 5000ul, 300000ul, 5000000ul}) {
    auto* p = (char*)malloc(bytes);
    memset(p, 7, bytes);
    free(p);
    p = (char*)calloc(bytes, 1);
    for (size_t k = 0; k < bytes; ++k) if (p[k]) return wrong("calloc");
    p = (char*)realloc(p, bytes * 3);
    for (size_t k = 0; k < bytes; ++k) if (p[k]) return wrong("realloc");
    free(p);
  }
  if (calloc(SIZE_MAX / 2, 4) || malloc(SIZE_MAX / 2)) return wrong("too much");
  // What is given back can be taken again: 2 TB in all.
  for (int i = 0; i < 200; ++i) {
    auto* large = (char*)malloc((10ul << 30) + i * 4096ul);
    if (!large) return wrong("a large block");
    large[i] = 1;
    free(large);
  }
  bool thrown = false;
  try {
    std::vector<char> impossible(SIZE_MAX / 4);
  } catch (const std::exception&) {
    thrown = true;
  }
  if (!thrown) return wrong("bad_alloc");
  std::map<std::string, std::string> names;
  for (int i = 0; i < 1000; ++i) names[std::to_string(i)] = std::string(i % 50, 'x');
  printf("%zu %zu\n", names.size(), before_main.size());
  MPI_Finalize();
}
"""
TWICE = """
#include <cuda_runtime.h>
#include <cstdlib>
int main() {
  cudaFree(nullptr);
  void* volatile p = malloc(100);
  free(p);
  free(p);  // HERE
  return 0;
}
"""


def test_a_heap_behaves_like_the_c_librarys(tmp_path: Path) -> None:
    program = tmp_path / "blocks.cu"
    program.write_text(BLOCKS)
    report = check(program, ranks=2, effort=Effort.QUICK)
    assert report.verdict is Verdict.OK, [f.finding for f in report.findings]


def test_freeing_twice_is_told_with_its_line(tmp_path: Path) -> None:
    program = tmp_path / "twice.cu"
    program.write_text(TWICE)
    report = check(program, ranks=1, effort=Effort.QUICK)
    found = next(f.finding for f in report.findings if f.finding.kind == "double_free")
    assert found.line == TWICE.split("\n").index("  free(p);  // HERE") + 1
