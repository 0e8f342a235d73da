"""The characters that a string literal stands for."""

import subprocess
from pathlib import Path

import pytest

from warploom.source.literals import value_of_literal
from warploom.toolchain.compilers import find_compiler

READ = [
    r'"plain"', r'"a\tb\n"', r'"\12x"', r'"\x0a z"', r'"\"\\\'\?"', r'"\1234"', r'"\a\b\f\v\r"',
    'R"(a\\n"b)"', 'R"x(a)"b)x"', '"a\\\nb"', 'u8"\\101"', '""',
]  # fmt: skip


UNREAD = [r'"\u000a"', r'"\N{SPACE}"', r'"\xfff"', r'"\777"', r'"\x"', "x"]


@pytest.mark.parametrize("literal", UNREAD)
def test_what_may_be_read_otherwise_is_not_read(literal: str) -> None:
    assert value_of_literal(literal) is None


def test_literals_say_what_a_compiler_reads(tmp_path: Path) -> None:
    lines = "".join(f"  say({literal});\n" for literal in READ)
    (tmp_path / "said.cpp").write_text(
        "#include <cstdio>\n"
        "template <class T, int n> void say(const T (&text)[n]) {\n"
        '  for (int i = 0; i < n - 1; i++) std::printf("%02x", (unsigned char)text[i]);\n'
        '  std::puts("");\n}\n'
        f"int main() {{\n{lines}}}\n"
    )
    program = tmp_path / "said"
    built = [*find_compiler().command, "-std=c++20", program.with_suffix(".cpp"), "-o", program]
    subprocess.run(built, check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    values = [value_of_literal(literal) or "" for literal in READ]
    assert [value.encode("latin-1").hex() for value in values] == said[: len(READ)]
