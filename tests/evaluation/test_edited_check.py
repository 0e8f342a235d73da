"""What a rewritten program changed of the original's own check is told by line."""

from pathlib import Path

import pytest

from warploom.evaluation.kept.edited_check import edited_check_findings
from warploom.source.regions import Program

ORIGINAL = """\
#define COUNT 64
constexpr double kTolerance = 1e-5;
int main() {
  bool good = true;
  cudaEventRecord(start);
  if (fabs(a - b) > kTolerance) good = false;
  printf("%s", good ? "PASS" : "FAIL");
  return good ? 0 : 1;
}
"""


def told(candidate: str) -> list[str]:
    found = edited_check_findings(
        Program(candidate, Path("new.cu")), Program(ORIGINAL, Path("old.cu")), "new.cu"
    )
    return [item.message for item in found]


def test_the_same_check_elsewhere_is_not_told() -> None:
    assert told("// more\n#include <x.h>\n" + ORIGINAL.replace("  bool", "    bool")) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("#define COUNT 64", "#define COUNT 8", 1),
        ("1e-5", "1e5", 2),
        ("cudaEventRecord(start);", "", 5),
        ("fabs(a - b) > kTolerance", "fabs(a - b) > kTolerance * 10", 6),
        ('good ? "PASS" : "FAIL"', '"PASS"', 7),
        ("return good ? 0 : 1;", "return 0;", 8),
    ],
)
def test_what_weakens_it_is_told_by_line(old: str, new: str, line: int) -> None:
    [message] = told(ORIGINAL.replace(old, new))
    assert f"line {line}:" in message
