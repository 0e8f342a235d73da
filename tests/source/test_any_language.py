"""Edits of programs in any language: lines, and regions by whatever comments mark them."""

import pytest

from warploom.core.errors import BadInputError
from warploom.propose.llm.open_replies import read_open_reply
from warploom.source.any_language import mutable_spans, with_edits, written_anew

PROGRAM = """import math

# EVOLVE-BLOCK-START
def f(x):
    return x  # don't
# EVOLVE-BLOCK-END

print(f(1))
"""
FREE = PROGRAM.replace("# EVOLVE-BLOCK-START\n", "").replace("# EVOLVE-BLOCK-END\n", "")


def edit(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def test_an_edit_of_a_region() -> None:
    found = with_edits(PROGRAM, edit("    return x  # don't   ", "    return 2 * x"))
    assert found.text == PROGRAM.replace("return x  # don't", "return 2 * x")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (edit("print(f(1))", "print(2)"), "outside of the markers"),
        (edit("    return y", "    return 2"), "not in the program"),
        (edit("    return x  # don't", "# EVOLVE-BLOCK-END"), "marker lines stay"),
        (edit("", "    return 2"), "edit 1"),
        (edit("def f(x):", "def f(x):") + edit("def f(x):", "def f(y):"), "the same lines"),
        (edit("    return x  # don't", "    return x  # don't"), "unchanged"),
        ("no edit at all", "holds no edit"),
    ],
)
def test_edits_that_are_refused(reply: str, problem: str) -> None:
    found = with_edits(PROGRAM, reply)
    assert not found.text
    assert problem in found.problem


def test_lines_that_are_there_twice_need_more() -> None:
    twice = "a = 1\nb = 2\na = 1\n"
    assert "found 2 times" in with_edits(twice, edit("a = 1", "a = 3")).problem
    assert with_edits(twice, edit("b = 2\na = 1", "b = 2\na = 3")).text == "a = 1\nb = 2\na = 3\n"


def test_a_program_written_anew_keeps_its_frame() -> None:
    code = PROGRAM.replace("return x", "return 3 * x").replace("print(f(1))", "print('cheat')")
    found = written_anew(PROGRAM, code)
    assert found.text == PROGRAM.replace("return x", "return 3 * x")
    assert written_anew(FREE, code).text == code
    assert "keep them as they are" in written_anew(PROGRAM, FREE).problem


def test_markers_in_other_comments() -> None:
    assert mutable_spans("-- EVOLVE-BLOCK-START\nx\n-- EVOLVE-BLOCK-END\n") == ((1, 2),)
    for text in ("# EVOLVE-BLOCK-END\n", "# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-START\n"):
        with pytest.raises(BadInputError, match="must"):
            mutable_spans(text)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        ("I think so.", "has no code"),
        (f"```python\n{PROGRAM}", "truncated"),
        ("```python\nprint(1)\n```", "no program with its marker lines"),
        (f"```\n{PROGRAM}```\nor\n```\n{PROGRAM}```", "2 programs"),
        (f"```python\n{PROGRAM}```", "unchanged"),
    ],
)
def test_replies_without_a_program(reply: str, problem: str) -> None:
    assert problem in read_open_reply(reply, PROGRAM).problem


def test_replies_with_one() -> None:
    wanted = PROGRAM.replace("return x", "return 5 * x")
    for reply in (
        f"Like so:\n\n```python\n{wanted}```\n",
        edit("    return x  # don't", "    return 5 * x  # don't"),
        "```diff\n@@ -4,2 +4,2 @@\n def f(x):\n-    return x  # don't\n"
        "+    return 5 * x  # don't\n```\n",
    ):
        assert read_open_reply(reply, PROGRAM).text == wanted
