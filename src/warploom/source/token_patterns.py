"""The tokens of C++ as regular expressions: one home for what each reader of CUDA text goes by.

For patterns with `re.VERBOSE` and `re.DOTALL`. Readers differ in what they keep (offsets, tricks,
brackets), never in where a comment, a literal, a number or a name ends: tests/fuzz/
test_readers_agree.py holds them to that. Sources: C++20, [lex.pptoken], [lex.ppnumber], [lex.ccon],
[lex.string]. A splice may have blanks before its line break, as g++ and clang allow.
"""

_PREFIX = "(?:u8|[uUL])?"
SPLICE = r"\\[ \t\f\v]*\r?\n"
LINE_COMMENT = r"//(?:[^\\\n]|\\(?:[ \t\f\v]*\r?\n)?)*"
COMMENT = rf"{LINE_COMMENT}|/\*.*?\*/"
RAW_OPENING = rf'{_PREFIX}R"[^()\\\s]{{0,16}}\('
RAW = rf'{_PREFIX}R"(?P<tag>[^()\\\s]{{0,16}})\(.*?\)(?P=tag)"'
STRING = rf'{_PREFIX}"(?:[^"\\\n]|\\.)*"'
CHAR = rf"{_PREFIX}'(?:[^'\\\n]|\\.)*'"
NUMBER = r"\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*"
NAME = r"[A-Za-z_$][A-Za-z0-9_$]*"
