"""Templates of asm statements that macros make, defined in more than one way."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
#ifdef OTHER
#define OP "sub"
#else
#define OP "add"
#endif
#define TYPE ".u32"
#define WHOLE OP TYPE
__global__ void compute(unsigned* p) {
  unsigned r;
  asm(WHOLE " %0, %1, 3;" : "=r"(r) : "r"(p[0]));
  p[0] = r;
}
int main() {
  unsigned* p;
  unsigned got = 10;
  cudaMalloc(&p, sizeof(got));
  cudaMemcpy(p, &got, sizeof(got), cudaMemcpyHostToDevice);
  compute<<<1, 1>>>(p);
  cudaMemcpy(&got, p, sizeof(got), cudaMemcpyDeviceToHost);
  std::printf("%u\\n", got);
  return 0;
}
"""


@pytest.mark.parametrize(("defines", "result"), [({}, "13\n"), ({"OTHER": "1"}, "7\n")])
def test_the_compiler_says_which_definition_it_is(
    tmp_path: Path, defines: dict[str, str], result: str
) -> None:
    (tmp_path / "p.cu").write_text(PROGRAM)
    done = run(build(BuildSpec(tmp_path / "p.cu", defines=defines)), RunOptions(ranks=1))
    assert done.state == "finished", done.findings
    assert done.stdout == result


def test_pieces_of_literals_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "p.cu").write_text(PROGRAM.replace('#define OP "add"', '#define OP "ad" "d"'))
    assert run(build(BuildSpec(tmp_path / "p.cu")), RunOptions(ranks=1)).stdout == "13\n"


def test_lines_stay_where_they_are(tmp_path: Path) -> None:
    many = PROGRAM.replace('" %0, %1, 3;"', 'R"( %0,\n%1,\n3;)"').replace(
        "p[0] = r;", "p[0] = r + __LINE__;"
    )
    (tmp_path / "p.cu").write_text(many)
    line = 1 + many[: many.index("__LINE__")].count("\n")
    done = run(build(BuildSpec(tmp_path / "p.cu")), RunOptions(ranks=1))
    assert done.stdout == f"{13 + line}\n"


def test_a_text_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    made = "#define TEXT(x) #x\n#define OP TEXT(add)"
    (tmp_path / "p.cu").write_text(PROGRAM.replace('#define OP "add"', made))
    with pytest.raises(SourceError, match="assembly"):
        build(BuildSpec(tmp_path / "p.cu"))
