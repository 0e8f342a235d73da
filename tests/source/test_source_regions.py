"""Programs, regions, splicing and the markers that are put in."""

from pathlib import Path

import cuda_texts as texts
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.core.errors import BadInputError
from warploom.source import CUDAAnalyzer
from warploom.source.markers import Mark, insert_evolve_markers, insert_markers
from warploom.source.records import Span
from warploom.source.regions import (
    Program,
    frame_differences,
    splice,
    strip_markers,
    validate_regions,
)

TRUSTED = """\
#include <x.h>
// EVOLVE-BLOCK-START kernels
__global__ void k() {}
// EVOLVE-BLOCK-END
int main() {
  start();
  // EVOLVE-BLOCK-START pipeline
  k<<<1, 1>>>();
  // EVOLVE-BLOCK-END
  return verify();
}
"""


def test_regions_and_frame_make_up_the_text() -> None:
    program = Program(TRUSTED)
    assert [(r.name, r.first_line, r.last_line) for r in program.regions] == [
        ("kernels", 2, 4),
        ("pipeline", 7, 9),
    ]
    assert program.body(program.regions[1]) == "  k<<<1, 1>>>();\n"
    assert len(program.frame) == 3
    bodies = [program.body(r) for r in program.regions]
    assert program.with_bodies(bodies) == program
    validate_regions(program)


def test_candidate_contributes_its_regions_only() -> None:
    candidate = Program(
        TRUSTED.replace("k<<<1, 1>>>()", "k<<<2, 64>>>()").replace("verify()", "0"),
        Path("candidate.cu"),
    )
    result = splice(Program(TRUSTED), candidate)
    assert "k<<<2, 64>>>()" in result.text and "return verify();" in result.text
    (difference,) = frame_differences(Program(TRUSTED), candidate)
    assert (difference.line, difference.expected.strip(), difference.got.strip()) == (
        10, "return verify();", "return 0;",
    )  # fmt: skip
    assert frame_differences(Program(TRUSTED), result) == ()


_LINES = st.lists(st.sampled_from(["f();", "  int a = 1;", "", "// note", "if (x) { y(); }"]))


@given(_LINES, _LINES, _LINES, _LINES)
def test_splice_keeps_the_frame_whatever_comes(
    kernels: list[str], pipeline: list[str], before: list[str], after: list[str]
) -> None:
    trusted = Program(TRUSTED)
    bodies = ["int k;\n" + "".join(f"{x}\n" for x in part) for part in (kernels, pipeline)]
    own = trusted.with_bodies(bodies)
    noisy = Program("".join(f"{x}\n" for x in before) + own.text + "".join(f"{x}\n" for x in after))
    result = splice(trusted, noisy)
    assert result.frame == trusted.frame
    assert [result.body(r) for r in result.regions] == bodies
    assert splice(trusted, result).text == result.text


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("// EVOLVE-BLOCK-START a\nx;\n", "must be closed", 1),
        ("x;\n// EVOLVE-BLOCK-END\n", "must follow", 2),
        ("// EVOLVE-BLOCK-START a\n// EVOLVE-BLOCK-START b\nx;\n// EVOLVE-BLOCK-END\n", "nest", 2),
        ("// EVOLVE-BLOCK-START a\n\n// EVOLVE-BLOCK-END\n", "empty region 'a'", 1),
        ("// EVOLVE-BLOCK-START a\nx;\n// EVOLVE-BLOCK-END b\n", "must name region 'a'", 3),
        ("int a; // EVOLVE-BLOCK-START a\n", "line of its own", 1),
        ("x \\\n// EVOLVE-BLOCK-START a\nx;\n// EVOLVE-BLOCK-END\n", "must not continue", 2),
        (
            "// EVOLVE-BLOCK-START a\nx;\n// EVOLVE-BLOCK-END\n"
            "// EVOLVE-BLOCK-START a\ny;\n// EVOLVE-BLOCK-END\n",
            "names must differ",
            4,
        ),
    ],
)
def test_wrong_markers_are_refused(text: str, said: str, line: int) -> None:
    with pytest.raises(BadInputError, match=said) as caught:
        _ = Program(text).regions
    assert caught.value.line == line


def test_region_inside_of_a_statement_is_refused() -> None:
    text = "f(\n// EVOLVE-BLOCK-START a\n1);\n// EVOLVE-BLOCK-END\n"
    with pytest.raises(BadInputError, match="whole statements") as caught:
        validate_regions(Program(text))
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "body",
    ["}\nint evil() {\n", "/*\n", "#if 0\n", 'x = R"(\n', "f(); \\\n", "#define Z {\n}\n"],
)
def test_candidate_cannot_reach_into_the_frame(body: str) -> None:
    trusted = Program(TRUSTED)
    candidate = trusted.with_bodies(["int k;\n", body])
    with pytest.raises(BadInputError):
        splice(trusted, candidate)


def test_other_regions_are_refused_by_name() -> None:
    trusted = Program(TRUSTED)
    renamed = Program(TRUSTED.replace("START pipeline", "START main"))
    with pytest.raises(BadInputError, match="kernels, pipeline in this order, got kernels, main"):
        splice(trusted, renamed)
    with pytest.raises(BadInputError, match="got none"):
        splice(trusted, Program("int main() {}\n"))
    with pytest.raises(BadInputError, match="no markers"):
        splice(Program("int main() {}\n"), trusted)


def test_markers_go_around_whole_statements() -> None:
    text = "int main() {\n  a();\n  if (x) {\n    b();\n  }\n  c(); d();\n}\n"
    middle = text.index("b()")
    out = insert_markers(text, [Mark("p", Span(middle, middle + 3))])
    assert "    // EVOLVE-BLOCK-START p\n    b();\n    // EVOLVE-BLOCK-END\n" in out
    shared = text.index("c()")
    out = insert_markers(text, [Mark("p", Span(shared, shared + 3))])
    assert "  // EVOLVE-BLOCK-START p\n  c(); d();\n  // EVOLVE-BLOCK-END\n" in out
    with pytest.raises(BadInputError, match="overlap"):
        insert_markers(text, [Mark("a", Span(15, 20)), Mark("b", Span(14, 19))])


def test_carriage_returns_are_kept() -> None:
    text = "int main() {\r\n  a();\r\n}\r\n"
    at = text.index("a()")
    out = insert_markers(text, [Mark("p", Span(at, at + 3))])
    assert out.replace("\r\n", "").count("\n") == 0
    assert strip_markers(Program(out)) == text


def marked(tmp_path: Path, text: str) -> Program:
    place = tmp_path / "p.cu"
    place.write_text(text)
    out = insert_evolve_markers(text, CUDAAnalyzer(place).analyze())
    program = Program(out, place)
    assert strip_markers(program) == text
    validate_regions(program)
    return program


def test_kernels_and_pipeline_are_marked_and_nothing_else(tmp_path: Path) -> None:
    program = marked(tmp_path, texts.MPI_PER_RANK)
    assert [r.name for r in program.regions] == ["kernels", "pipeline"]
    kernels, pipeline = (program.body(r) for r in program.regions)
    assert kernels.startswith("__global__ void scale") and kernels.endswith("+= 1.0f;\n}\n")
    assert pipeline.strip().startswith("scale<<<") and pipeline.strip().endswith("(d_recv, n);")
    for kept in ("MPI_Wtime", "cudaMalloc", "cudaMemcpy(", "PASS", "cudaStreamSynchronize"):
        assert kept not in pipeline and kept in "".join(program.frame)


def test_a_loop_that_only_repeats_stays_in_the_frame(tmp_path: Path) -> None:
    text = """\
__global__ void k(float* a) { a[0] += 1; }
int main() {
  for (int round = 0; round < 100; ++round) {
    k<<<1, 1>>>(d);
    ncclAllReduce(d, d, 1, ncclFloat, ncclSum, comm, s);
  }
  for (int c = 0; c < 4; ++c) {
    k<<<1, 1>>>(d + c);
    ncclAllReduce(d + c, d + c, 1, ncclFloat, ncclSum, comm, s);
  }
}
"""
    program = marked(tmp_path, text)
    bodies = {r.name: program.body(r) for r in program.regions}
    assert set(bodies) == {"kernels", "pipeline", "pipeline_2"}
    assert "for (" not in bodies["pipeline"]
    assert bodies["pipeline_2"].strip().startswith("for (int c")


def test_input_and_check_kernels_stay_in_the_frame(tmp_path: Path) -> None:
    text = """\
__global__ void init_data(float* a, int seed) { a[threadIdx.x] = seed * threadIdx.x; }
__global__ void work(float* a) { a[threadIdx.x] *= 2; }
__global__ void verify_result(const float* a, int* bad) { if (a[threadIdx.x] < 0) *bad = 1; }
int main() {
  init_data<<<1, 32>>>(d, 7);
  work<<<1, 32>>>(d);
  ncclAllReduce(d, d, 32, ncclFloat, ncclSum, comm, s);
  verify_result<<<1, 32>>>(d, bad);
}
"""
    program = marked(tmp_path, text)
    bodies = {r.name: program.body(r) for r in program.regions}
    assert "init_data" not in "".join(bodies.values())
    assert "verify_result" not in "".join(bodies.values())
    assert "work<<<" in bodies["pipeline"] and "void work" in bodies["kernels"]


def test_marked_or_silent_programs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no markers yet"):
        marked(tmp_path, TRUSTED)
    with pytest.raises(BadInputError, match="must launch or communicate"):
        marked(tmp_path, "int main() { return 0; }\n")


@pytest.mark.parametrize("name", ["MPI_PER_RANK", "INIT_ALL", "THREADS", "HELPERS", "SEND_RECV"])
def test_every_style_can_be_marked(tmp_path: Path, name: str) -> None:
    program = marked(tmp_path, getattr(texts, name))
    inside = "".join(program.body(r) for r in program.regions)
    assert "nccl" in inside
    for kept in ("Malloc", "CommInit", "printf", "CommDestroy", "DeviceToHost"):
        assert kept not in inside
