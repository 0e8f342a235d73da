"""Parsing, edits, differences and the scan for text that reaches out of itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Node

from warploom.core.errors import BadInputError
from warploom.source import TextEdit, apply_edits, parse_source, unified_diff
from warploom.source.lexical import find_leak
from warploom.source.syntax import load_source

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_lines_and_offsets_agree() -> None:
    file = parse_source("int a;\nint b;\n\nvoid f() { a = 1; }\n")
    assert [file.line_of(o) for o in (0, 6, 7, 14, 15)] == [1, 1, 2, 3, 4]
    assert file.slice(*file.line_span(2)) == "int b;\n"
    (call,) = file.nodes("assignment_expression")
    assert file.node_text(call) == "a = 1" and file.line_of(call.start_byte) == 4
    assert file.skipped == ()


def test_attributes_do_not_hide_a_kernel() -> None:
    text = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) k(float* a) { a[0] = 1; }\n'
    file = parse_source(text)
    assert file.skipped == ()
    (definition,) = file.nodes("function_definition")
    assert "__cluster_dims__(2, 1, 1) k" in file.node_text(definition)


def test_half_statements_in_branches_are_joined() -> None:
    text = (
        "void f() {\n#ifdef A\n  if (a) {\n#else\n  if (b) {\n#endif\n    g();\n  }\n}\n"
        "void h() { g(); }\n"
    )
    file = parse_source(text)
    assert len(list(file.nodes("function_definition"))) == 2
    assert [str(r) for r in file.skipped] == ["5"]
    other = parse_source(text, defines={"A": ""})
    assert other.skipped == ()
    assert len(other.parsed) == len(other.text)


def test_conditions_are_known_by_line() -> None:
    file = parse_source("#ifdef A\n#if B > 2\nint x;\n#endif\n#else\nint y;\n#endif\nint z;\n")
    assert file.conditions_at(3) == ("ifdef A", "if B > 2")
    assert file.conditions_at(6) == ("else",)
    assert file.conditions_at(8) == ()


def test_macro_without_semicolon_is_whole() -> None:
    file = parse_source(
        'void f() {\n  PUSH("x", 1)\n  while (a) { g(); }\n  POP\n  int b = 1;\n}\n'
    )
    assert file.skipped == ()
    assert len(list(file.nodes("while_statement"))) == 1


def test_types_as_arguments_and_conditions_that_declare_are_whole() -> None:
    file = parse_source(
        "int f(int n, ...) {\n  int a = va_arg(ap, unsigned int), *b = va_arg(ap, struct s*);\n"
        "  g(va_arg(ap, int (*)(int)));\n  for (int i = 0; bool more = next(i); ++i) g(more);\n"
        "  for (; const auto* node = next(node);) { g(node); }\n"
        "  for (int i = 0; std::pair<int, int> p = next(i); i++) g(p);\n"
        "  for (int i{0}; i == a; i++) b = 0;\n  return a;\n}\nint main() { return f(1); }\n"
    )
    assert file.skipped == () and len(file.parsed) == len(file.text)
    assert len(list(file.nodes("function_definition"))) == 2
    assert [file.node_text(n) for n in file.nodes("assignment_expression")] == [
        "more = next(i)", "node = next(node)", "p = next(i)", "b = 0",
    ]  # fmt: skip


@given(st.lists(st.sampled_from("abcé\n"), max_size=40), st.data())
def test_edits_do_what_slices_do(chars: list[str], data: st.DataObject) -> None:
    raw = "".join(chars).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [TextEdit(a, b, f"<{n}>") for n, (a, b) in enumerate(pairs)]
    expected, at = b"", 0
    for edit in edits:
        expected += raw[at : edit.start] + edit.text.encode()
        at = edit.end
    expected += raw[at:]
    result = apply_edits(raw, reversed(edits) if len(set(cuts)) == len(cuts) else edits)
    assert result.encode("utf-8", "surrogateescape") == expected


def test_overlapping_and_outside_edits_are_refused() -> None:
    with pytest.raises(BadInputError, match="overlap"):
        apply_edits("abcdef", [TextEdit(0, 3, ""), TextEdit(2, 4, "")])
    with pytest.raises(BadInputError, match="within the 3 bytes"):
        apply_edits("abc", [TextEdit(2, 9, "")])


def test_difference_is_unified_and_empty_for_equals() -> None:
    assert unified_diff("a\n", "a\n") == ""
    said = unified_diff("a\nb\n", "a\nc", name="x.cu")
    assert "--- a/x.cu\n+++ b/x.cu\n" in said
    assert "-b\n+c\n\\ No newline at end of file\n" in said


@pytest.mark.parametrize(
    "text",
    [
        "a = '{';  // }\n",
        'printf("}{ \\" )");\n',
        "/* ( */ f(a[1], {2});\n",
        'auto s = R"x(}} ")x";\n',
        "int n = 1'000'000;\n",
        "#if A\nf();\n#else\ng();\n#endif\n",
        "#define CALL(x) \\\n  f(x)\n",
        "",
    ],
)
def test_whole_text_does_not_leak(text: str) -> None:
    assert find_leak(text) is None


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("f();\n}\n{\n", 1, "closes nothing"),
        ("f(\n", 0, "not closed"),
        ("a;\n/* open\n", 1, "comment"),
        ('a;\nb = "open\n', 1, "string"),
        ('R"x(open)"\n', 0, "raw string"),
        ("#if A\n", 0, "#if"),
        ("#endif\n", 0, "without its #if"),
        ("#if 0\n{\n#endif\n}\n", 2, "bracket"),
        ("#define OPEN {\n}\n", 0, "in #define"),
        ("f(); \\\n", 0, "backslash"),
        ("f();\n<%\n", 1, "digraph"),
    ],
)
def test_text_that_reaches_out_is_told(text: str, line: int, said: str) -> None:
    leak = find_leak(text)
    assert leak is not None and said in leak.message
    assert leak.line == line


def test_what_is_missing_after_the_last_line_is_no_line() -> None:
    source = parse_source("int main(int argc, char** argv) {\n#include <nccl_device.h>\n")
    assert source.text.endswith(b".h>\n")


def _walked(node: Node, kinds: tuple[str, ...]) -> list[Node]:
    below = [found for child in node.children for found in _walked(child, kinds)]
    return [node, *below] if node.type in kinds else below


@pytest.mark.parametrize("name", ["moe", "attention"])
def test_nodes_are_those_of_a_walk_in_its_order(name: str) -> None:
    file = load_source(EXAMPLES / name / f"{name}.cu")
    kinds = ("call_expression", "identifier", "if_statement", "function_definition")
    assert list(file.nodes(*kinds)) == _walked(file.root, kinds) != []
    for function in file.nodes("function_definition"):
        assert list(file.nodes("function_definition", within=function)) == [function]
        assert list(file.nodes(*kinds, within=function)) == _walked(function, kinds)
