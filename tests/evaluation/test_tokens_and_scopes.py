"""The scanner and the scope reader hold on any text, and are not talked into skipping some."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.evaluation.legality.branches import choices, conditionals_balanced
from warploom.evaluation.legality.scopes import UnbalancedError, declarations
from warploom.evaluation.legality.tokens import scan

PIECES = st.sampled_from(
    [
        "a", "system", " ", "\n", "\\\n", "\\ \n", "/*", "*/", "//", '"', "'", 'R"(', ')"', "#",
        "define", "if", "else", "endif", "{", "}", "(", ")", "<", ">", "::", ";", "=", "1'0",
        "0x1p", "namespace", "struct", "template", "operator", "??=", "%:", "<:", "\t", "\x80",
        "@", ",",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_scanned_and_read(text: str) -> None:
    scanned = scan(text)
    last = text.count("\n") + 1
    assert all(1 <= token.line <= last for token in scanned.tokens)
    assert all(1 <= trick.line <= last for trick in scanned.tricks)
    lines = [token.line for token in scanned.tokens]
    assert lines == sorted(lines)
    for tokens in choices(scanned.tokens, [range(1, last + 1)]):
        try:
            declarations(tokens)
        except UnbalancedError as error:
            assert 1 <= error.line <= last


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_name_is_lost(text: str) -> None:
    """Every letter outside of comments and literals is in a token, or a trick was told."""
    scanned = scan(text + " marker ")
    if not scanned.tricks and "/" not in text and '"' not in text and "'" not in text:
        joined = "".join(token.text for token in scanned.tokens)
        assert joined.count("system") >= text.replace("\\\n", "").count("system")
        assert "marker" in joined


@pytest.mark.parametrize("at", range(1, 6))
@pytest.mark.parametrize("splice", ["\\\n", "\\ \t\n", "\\\r\n"])
def test_a_name_split_over_lines_is_joined_and_told(at: int, splice: str) -> None:
    scanned = scan("system"[:at] + splice + "system"[at:] + "();", first_line=5)
    assert scanned.tokens[0].text == "system"
    assert [(trick.what, trick.line) for trick in scanned.tricks] == [
        ("line splice inside a name", 5)
    ]


def test_splices_between_tokens_are_no_trick() -> None:
    scanned = scan("#define A(x) \\\n  do { \\\n    x; \\\n  } while (0)\nint y;")
    assert scanned.tricks == ()
    assert [(t.text, t.line, t.directive) for t in scanned.tokens if t.text in ("x", "y")] == [
        ("x", 1, "define"),
        ("x", 3, "define"),
        ("y", 5, ""),
    ]


def test_literals_are_one_token() -> None:
    scanned = scan('f(R"x(system( " )x", "a\\"b//", \'"\', 1\'000, u8"z", L\'c\');')
    assert scanned.tricks == ()
    assert [t.kind for t in scanned.tokens if t.kind in ("string", "char", "number")] == [
        "string", "string", "char", "number", "string", "char",
    ]  # fmt: skip


def test_a_scope_is_no_digraph_but_a_digraph_is() -> None:
    assert scan("std::vector<::Row> v;").tricks == ()
    assert [t.what for t in scan("int a<:3:>;").tricks] == ["digraph <:", "digraph :>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f(int a) { return a; }", ("function", "f")),
        ("int f(int a);", ("variable", "f")),
        ("template <class T, int N = (3 > 2)> T g(T* p) { return *p; }", ("function", "g")),
        ("auto h() -> int { return 1; }", ("function", "h")),
        ("struct A { int b; };", ("type", "A")),
        ("struct alignas(16) A { int b; };", ("type", "A")),
        ("struct A* f() { return 0; }", ("function", "f")),
        ("enum class E : int { kA };", ("type", "E")),
        ("namespace n { }", ("namespace", "n")),
        ("using T = int;", ("type", "T")),
        ("typedef float T;", ("type", "T")),
        ("int x = 3;", ("variable", "x")),
        ("int x{3};", ("variable", "x")),
        ("int x[] = {1, 2};", ("variable", "x")),
        ("auto x = [](int a) { return a; };", ("variable", "x")),
        ("__global__ void __launch_bounds__(256, 2) k(int* p) { *p = 1; }", ("function", "k")),
        ("struct A { A(); };\nA::A() : b{1}, c(2) { run(); }", ("function", "A")),
        ("bool operator==(const A& a, const A& b) { return true; }", ("function", "operator")),
        ('static const char* names[] = {"a"};', ("variable", "names")),
    ],
)
def test_what_a_declaration_is(text: str, expected: tuple[str, str]) -> None:
    found = [(item.kind, item.name) for item in declarations(scan(text).tokens)]
    assert expected in found


def test_members_and_nested_scopes_are_told_apart() -> None:
    text = "namespace n { struct S { static inline int v = 1; int f() { return 1; } }; int w; }"
    found = {(i.kind, i.name, i.level) for i in declarations(scan(text).tokens)}
    assert {
        ("variable", "v", "class"),
        ("function", "f", "class"),
        ("variable", "w", "namespace"),
    } <= found


def test_conditionals() -> None:
    assert conditionals_balanced(scan("#if A\n#else\n#endif\n").tokens)
    assert not conditionals_balanced(scan("#if A\n").tokens)
    assert not conditionals_balanced(scan("#endif\n#if A\n").tokens)
    assert not conditionals_balanced(scan("#else\n").tokens)


def test_every_branch_is_seen_once_at_least() -> None:
    text = "#if A\n#if B\nb\n#elif C\nc\n#else\nd\n#endif\n#else\n#ifdef E\ne\n#endif\n#endif\n"
    seen = {t.text for tokens in choices(scan(text).tokens, [range(1, 99)]) for t in tokens}
    assert seen == set("bcde")


def test_long_text_is_scanned_quickly() -> None:
    text = "int f(int a) { return a \\\n + 1; }\n" * 20000
    started = time.monotonic()
    assert len(declarations(scan(text).tokens)) == 20000
    assert time.monotonic() - started < 10
