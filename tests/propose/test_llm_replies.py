"""What models really send: each reply becomes a program, or a reason that its author can act on."""

import pytest

from warploom.propose.llm.replies import MOST_BYTES, read_reply
from warploom.source.regions import Program

BASE = """#include <nccl.h>

// the rest of the file is set-up
__global__ void f(int* x) {
  x[threadIdx.x] = 1;
}

int main() {
  f<<<1, 32>>>(x);
  return 0;
}
"""
NEW = BASE.replace("= 1", "= 2")


def fenced(text: str, info: str = "cuda") -> str:
    return f"```{info}\n{text}```\n"


def read(reply: str, base: str = BASE) -> str:
    """The program of a reply that must have one."""
    found = read_reply(reply, Program(base), free="EVOLVE" not in base)
    assert not found.problem, found.problem
    return found.text


def problem(reply: str, base: str = BASE) -> str:
    found = read_reply(reply, Program(base), free="EVOLVE" not in base)
    assert found.problem
    assert found.text == ""
    return found.problem


EDIT = "<<<<<<< SEARCH\n  x[threadIdx.x] = 1;\n=======\n  x[threadIdx.x] = 2;\n>>>>>>> REPLACE\n"
DIFF = """@@ -4,3 +4,3 @@
 __global__ void f(int* x) {
-  x[threadIdx.x] = 1;
+  x[threadIdx.x] = 2;
 }
"""


@pytest.mark.parametrize(
    "reply",
    [
        fenced(NEW),
        "I changed the constant.\n\n" + fenced(NEW, "cpp") + "\nThat is all.",
        fenced(NEW, "") + "The interesting line:\n" + fenced("  x[threadIdx.x] = 2;\n"),
        "Build it so:\n" + fenced("nvcc a.cu\n", "sh") + fenced(NEW),
        "~~~cuda\n" + NEW + "~~~\n",
        "````cuda\n// ```\n" + NEW + "````\n",
        NEW,
        fenced(NEW).replace("\n", "\r\n"),
        EDIT,
        "Here:\n" + fenced(EDIT, ""),
        fenced(DIFF, "diff"),
        DIFF,
        "--- a/x.cu\n+++ b/x.cu\n" + DIFF,
    ],
)
def test_programs_are_found(reply: str) -> None:
    assert read(reply).replace("// ```\n", "") == NEW


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("int \ud800;", "half a character"),
        ("I would first allocate windows, and then call the kernel.", "it is prose"),
        ("x" * (MOST_BYTES + 1), "at most"),
        ("```cuda\n" + NEW, "truncated"),
        ("```cuda\n" + NEW[:60], "truncated"),
        (EDIT[:-20], "truncated"),
        (fenced(BASE), "unchanged"),
        (fenced("__global__ void f(int* x) { x[0] = 2; }\n"), "no whole program (it has no main)"),
        (fenced(NEW) + fenced(NEW.replace("2", "3")), "2 whole programs"),
        (fenced(NEW) + "\n**comm.cuh**\n" + fenced("int a;\n"), "other files (comm.cuh)"),
        (fenced(NEW) + fenced("# CMakeLists.txt\nproject(x)\n", "cmake"), "other files"),
        (fenced(NEW.replace("int main", "// ... rest of the kernels\nint main")), "abbreviated at"),
        (fenced(NEW.replace("  return 0;", "  // existing code unchanged")), "abbreviated at"),
        (fenced(NEW + "// x\n" * 100_000), "are the most"),
        (EDIT.replace("= 1", "= 7"), "nearest"),
        (fenced(DIFF.replace("= 1", "= 7"), "diff"), "nearest"),
    ],
)
def test_what_is_no_program_is_told(reply: str, reason: str) -> None:
    assert reason in problem(reply)


REGIONS = BASE.replace("__global__", "// EVOLVE-BLOCK-START k\n__global__").replace(
    "}\n\nint", "}\n// EVOLVE-BLOCK-END\n\nint"
)


def test_with_regions_the_frame_stays() -> None:
    new = REGIONS.replace("= 1", "= 2")
    assert read(fenced(new), REGIONS) == new
    assert read(fenced(new.replace("<1, 32", "<9, 32").replace("<<<1,", "<<<9,")), REGIONS) == new
    assert read(fenced(NEW), REGIONS) == new  # without markers, but with the whole frame
    assert read(EDIT, REGIONS) == new
    found = read_reply(fenced(new.replace("return 0", "return 1")), Program(REGIONS), free=False)
    assert found.notes == ("a change of the frame at line 12 was left out",)
    assert "markers" in problem(fenced(NEW.replace("return 0", "return 1")), REGIONS)
    frame = EDIT.replace("x[threadIdx.x] = 1", "return 0").replace("x[threadIdx.x] = 2", "abort()")
    assert "not in a mutable region" in problem(frame, REGIONS)
