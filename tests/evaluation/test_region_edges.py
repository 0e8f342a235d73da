"""Regions are whole statements: they reach neither what comes before them nor what comes behind."""

import pytest

from warploom.evaluation.legality.check import refusals
from warploom.source.regions import Program

FRAME = """\
void before();
void after();
void f(int n) {{
  if (n < 0) before();
  // EVOLVE-BLOCK-START
{body}
  // EVOLVE-BLOCK-END
  after();
}}
"""


def kinds(body: str, trusted: str = "  n += 1;") -> set[str]:
    found = refusals(Program(FRAME.format(body=body)), Program(FRAME.format(body=trusted)))
    return {item.kind for item in found}


@pytest.mark.parametrize(
    "body",
    [
        "  n += 1;\n  if (n > 2)",
        "  n += 1;\n  while (n-- > 0)",
        "  n > 2 ? void() :",
        "  n += 1;\n  over:",
        "  else n = 1;",
        "  if (n > 5) goto over;",
        "#define MAYBE if (n > 2)\n  MAYBE",
        "  do { n += 1; }",
        "  struct Pair { int a, b; }",
        "  auto twice = [](int x) { return 2 * x; }",
        "#ifdef ONE\n  if (n > 2)\n#endif",
    ],
)
def test_a_region_that_is_not_whole_is_refused(body: str) -> None:
    assert "unfinished_region" in kinds(body)


@pytest.mark.parametrize(
    "body",
    [
        "  n += 2;  // ends",
        "  if (n > 2) { n = 2; } else { n = 1; }",
        "  for (int i = 0; i < n; ++i) { n -= i; }",
        "  if (n > 5) goto over;\n  n += 1;\nover:\n  n += 2;",
        "  struct Pair { int a, b; };\n  n += Pair{1, 2}.a;",
        "  { n += 1; }",
        "  n += 1;\n#ifdef ONE\n  n += 2;\n#endif",
        "",
    ],
)
def test_whole_statements_pass(body: str) -> None:
    assert "unfinished_region" not in kinds(body or "  ;")


def test_what_the_trusted_region_ends_with_may_stay() -> None:
    assert "unfinished_region" not in kinds("  n += 2;\n  if (n > 7)", "  n += 1;\n  if (n > 7)")


@pytest.mark.parametrize(
    "text",
    [
        "struct Pair make() { return {}; }",
        "template <class T = int> void g(T x) { x = 1; }",
        "namespace own { int x; }",
        "struct Number { int x; Number& operator=(int y) { x = y; return *this; } };",
    ],
)
def test_declarations_that_end_with_a_block_pass(text: str) -> None:
    frame = "// EVOLVE-BLOCK-START\n{}\n// EVOLVE-BLOCK-END\nint main() {{}}\n"
    trusted = Program(frame.format("int before;"))
    found = refusals(Program(frame.format(text)), trusted)
    assert "unfinished_region" not in {item.kind for item in found}
