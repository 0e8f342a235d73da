"""Edits of programs: whole lines, one place, inside of the regions, every hunk accounted for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.source import unified_diff
from warploom.source.patches import apply_diff_patch, apply_full_patch
from warploom.source.regions import Program

PROGRAM = """#include <nccl.h>
int maxval = 100;
// EVOLVE-BLOCK-START kernels
__global__ void scale(float* x, int n) {
  int i = threadIdx.x;
  if (i < n) {
    x[i] *= 2.0f;
  }
}
// EVOLVE-BLOCK-END
int main() {
  // EVOLVE-BLOCK-START pipeline
  scale<<<1, 32>>>(x, n);
  check();
  scale<<<1, 32>>>(y, n);
  check();
  // EVOLVE-BLOCK-END
  return 0;
}
"""


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def refused(patch: str, text: str = PROGRAM) -> str:
    result = apply_diff_patch(text, patch)
    assert not result.applied
    assert result.text == text
    assert result.error
    return result.error


def test_a_block_replaces_whole_lines() -> None:
    patch = "Sure, here it is:\n" + block("    x[i] *= 2.0f;\n", "    x[i] += x[i];\n") + "Done."
    result = apply_diff_patch(PROGRAM, patch)
    assert result.applied and not result.error
    assert result.text == PROGRAM.replace("x[i] *= 2.0f", "x[i] += x[i]")
    assert [(h.number, h.line) for h in result.hunks] == [(1, 7)]


def test_part_of_a_line_is_no_match() -> None:
    text = "int maxval = 100;\nint other;\n"
    result = apply_diff_patch(text, block("val = 10\n", "val = 20\n"), free=True)
    assert not result.applied and result.text == text
    assert "whole lines" in result.error


def test_a_deletion_deletes_or_is_refused() -> None:
    gone = apply_diff_patch(PROGRAM, block("  if (i < n) {\n    x[i] *= 2.0f;\n  }\n", ""))
    assert gone.applied
    assert "2.0f" not in gone.text
    assert "not in the program" in refused(block("    y[i] = 0;\n", ""))


def test_one_bad_hunk_refuses_all_and_tells_each() -> None:
    patch = block("    x[i] *= 2.0f;\n", "") + block("    x[j] *= 2.0f;\n", "    f();\n")
    error = refused(patch)
    assert "1 of 2 edits" in error
    assert "edit 1 (x[i] *= 2.0f;): fits at line 7" in error
    assert "edit 2 (x[j] *= 2.0f;): its lines are not in the program" in error
    assert "7 ! " in error  # the nearest line is shown, with its number


def test_several_places_are_refused_with_their_lines() -> None:
    assert "found 2 times (at lines 14, 16)" in refused(block("  check();\n", "  verify();\n"))
    more = block("  scale<<<1, 32>>>(y, n);\n  check();\n", "  scale<<<1, 32>>>(y, n);\n")
    assert apply_diff_patch(PROGRAM, more).text.count("check();") == 1


def test_the_frame_is_out_of_reach() -> None:
    error = refused(block("int maxval = 100;\n", "int maxval = 1;\n"))
    assert "changes line 2, which is not in a mutable region" in error
    assert "kernels (lines 4-9)" in error
    assert "marker" in refused(block("// EVOLVE-BLOCK-END\n", ""))
    assert "marker" in refused(block("  check();\n  scale<<<1, 32>>>(y, n);\n",
                                     "  // EVOLVE-BLOCK-END\n"))  # fmt: skip
    assert "no mutable region" in refused(block("int a;\n", "int b;\n"), "int a;\n")
    whole = block("  scale<<<1, 32>>>(x, n);\n  check();\n  scale<<<1, 32>>>(y, n);\n"
                  "  check();\n", "")  # fmt: skip
    assert "not whole" in refused(whole)


def test_unchanged_lines_of_the_frame_may_be_shown() -> None:
    search = "// EVOLVE-BLOCK-START kernels\n__global__ void scale(float* x, int n) {\n"
    result = apply_diff_patch(PROGRAM, block(search, search + "  __shared__ int s;\n"))
    assert result.applied
    assert Program(result.text).frame == Program(PROGRAM).frame


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("no edit at all", "holds no edit"),
        ("<<<<<<< SEARCH\n  check();\n=======\n", "truncated"),
        ("<<<<<<< SEARCH\n  check();\n", "truncated"),
        ("<<<<<<< SEARCH\n  check();\n>>>>>>> REPLACE\n", "one ======= line"),
        (">>>>>>> REPLACE\n", "no <<<<<<< SEARCH before"),
        (block("\n", "x\n"), "not blank"),
        (block("  return 0;\n", "  return 0;\n"), "changes nothing"),
        ("@@ -7 +7 @@\n-    x[i] *= 2.0f;\n+    f();\nG\n", ""),
        ("@@ -7,2 +7,2 @@\n-    x[i] *= 2.0f;\n+    f();", "ends early"),
        ("@@ -7,3 +7,3 @@\n-    x[i] *= 2.0f;\nif\n+    f();", "must begin with a blank"),
        ("@@\n@@ -1 +1 @@\n-a\n+b\n", "not in the program"),
        ("@@ @@\n+    f();\n", "at least one old line"),
        ("@@ -99,0 +99 @@\n+f();\n", "after line 99"),
    ],
)
def test_what_is_no_whole_edit_is_told(patch: str, reason: str) -> None:
    if not reason:
        assert apply_diff_patch(PROGRAM, patch).applied
        return
    assert reason in refused(patch)


def test_blocks_must_not_touch_the_same_lines() -> None:
    one = block("    x[i] *= 2.0f;\n", "    a();\n")
    assert "that hunk 1 changes" in refused(one + block("    x[i] *= 2.0f;\n", "    b();\n"))


def test_indentation_follows_the_program() -> None:
    patch = block(
        "if (i < n) {\n  x[i] *= 2.0f;\n}\n",
        "if (i < n) {\n  x[i] = 0;\n  if (i) {\n    f();\n  }\n}\n",
    )
    text = apply_diff_patch(PROGRAM, patch).text
    assert "  if (i < n) {\n    x[i] = 0;\n    if (i) {\n      f();\n    }\n  }\n}\n" in text


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("patch_ending", ["\n", "\r\n"])
def test_newlines_stay_as_the_program_has_them(ending: str, patch_ending: str) -> None:
    text = PROGRAM.replace("\n", ending)
    patch = block("  int i = threadIdx.x;\n", "  int i = 0;\n  int j = 1;\n")
    result = apply_diff_patch(text, patch.replace("\n", patch_ending))
    assert result.applied
    wanted = PROGRAM.replace("int i = threadIdx.x;", "int i = 0;\n  int j = 1;")
    assert result.text == wanted.replace("\n", ending)


def test_a_missing_last_newline_stays_missing() -> None:
    assert apply_diff_patch("a\nb", block("b\n", "c\nd\n"), free=True).text == "a\nc\nd"
    assert apply_diff_patch("a\nb", block("a\n", "c\n"), free=True).text == "c\nb"


LINES = st.lists(
    st.sampled_from(
        ["a;", "b;", "  a;", "", "}", "-- x;", "++ y;", "@ z", "\tint f(int q) {", "\f"]
    ),
    max_size=25,
)
ENDS = st.sampled_from(["", "\n"])


@given(LINES, LINES, ENDS, ENDS, st.sampled_from(["\n", "\r\n"]), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_a_unified_diff_goes_there_and_back(
    before: list[str], after: list[str], end: str, end2: str, newline: str, context: int
) -> None:
    one = "\n".join(before) + (end if before else "")
    two = "\n".join(after) + (end2 if after else "")
    if "\n" not in one:
        newline = "\n"  # there is none to follow
    diff = unified_diff(one, two, context=context)
    if one == two:
        assert diff == ""
        return
    result = apply_diff_patch(one.replace("\n", newline), diff, free=True)
    assert result.applied, result.error
    assert result.text == two.replace("\n", newline)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_block_is_applied_exactly_once_or_refused(data: st.DataObject) -> None:
    """Whatever is searched for: one match is edited, any other number is refused."""
    lines = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20))
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    wanted = lines[first:last]
    patch = block("".join(f"{w}\n" for w in wanted), "new\n")
    text = "".join(f"{line}\n" for line in lines)
    places = [n for n in range(len(lines)) if lines[n : n + len(wanted)] == wanted]
    result = apply_diff_patch(text, patch, free=True)
    if len(places) == 1:
        expected = [*lines[:first], "new", *lines[last:]]
        assert result.text == "".join(f"{line}\n" for line in expected)
        assert [h.line for h in result.hunks] == [first + 1]
    else:
        assert not result.applied and result.text == text
        assert f"found {len(places)} times" in result.error


PIECES = st.lists(st.sampled_from(["x;", "y;", "  z;", "f(1);", ""]), max_size=6)


@given(
    st.lists(PIECES, min_size=2, max_size=4), st.text("xyz;= \n<>-+@SEARCHREPLACE", max_size=200)
)
@settings(max_examples=300, deadline=None)
def test_whatever_the_patch_says_the_frame_stays(pieces: list[list[str]], noise: str) -> None:
    parts: list[str] = []
    for number, piece in enumerate(pieces):
        body = "".join(f"{line}\n" for line in piece)
        parts.append(
            f"// EVOLVE-BLOCK-START r{number}\nin{number};\n{body}// EVOLVE-BLOCK-END\n"
            if number % 2
            else body
        )
    program = Program("".join(parts))
    patches = [noise, block("x;\n", noise), block("in1;\n", noise + "\n")]
    patches += [
        unified_diff(program.text, noise),
        unified_diff(program.text, "q;\n" + program.text),
    ]
    for patch in patches:
        result = apply_diff_patch(program, patch)
        assert Program(result.text).frame == program.frame
        assert result.applied != bool(result.error)
        if result.applied:
            assert result.text != program.text
            assert all(hunk.fits for hunk in result.hunks)
        else:
            assert result.text == program.text


def test_a_whole_program_gives_its_regions() -> None:
    new = PROGRAM.replace("2.0f", "3.0f").replace("maxval = 100", "maxval = 1")
    result = apply_full_patch(PROGRAM, new)
    assert result.applied
    assert result.text == PROGRAM.replace("2.0f", "3.0f")
    assert result.notes == ("a change of the frame at line 2 was left out",)


def test_a_whole_program_without_markers() -> None:
    bare = "".join(line for line in PROGRAM.splitlines(True) if "EVOLVE" not in line)
    result = apply_full_patch(PROGRAM, bare.replace("2.0f", "3.0f"))
    assert result.applied, result.error
    assert result.text == PROGRAM.replace("2.0f", "3.0f")
    changed = apply_full_patch(PROGRAM, bare.replace("2.0f", "3.0f").replace("main", "Main"))
    assert "must keep the markers" in changed.error


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("", "is empty"),
        (PROGRAM, "no mutable region was changed"),
        (PROGRAM.replace("// EVOLVE-BLOCK-START pipeline\n", ""), "EVOLVE-BLOCK"),
        (PROGRAM.replace("START pipeline", "START other"), "must keep the regions"),
        (PROGRAM.replace("  if (i < n) {", "  if (i < n) {{"), "whole statements"),
    ],
)
def test_a_whole_program_that_is_refused(code: str, reason: str) -> None:
    result = apply_full_patch(PROGRAM, code)
    assert not result.applied and result.text == PROGRAM
    assert reason in result.error


def test_a_program_without_regions() -> None:
    assert "no mutable region" in apply_full_patch("int a;\n", "int b;\n").error
    free = apply_full_patch("int a;\r\n", "int b;\n", free=True)
    assert free.applied and free.text == "int b;\r\n"
