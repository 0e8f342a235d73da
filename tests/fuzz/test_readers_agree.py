"""All readers of CUDA text take the same pieces for comments, literals, numbers and names.

The rewriter's (`emulator/tokens.py`) keeps offsets in bytes; the legality rules'
(`evaluation/legality/tokens.py`) undoes the first phases of translation and names tricks; regions
are looked through for leaks (`source/lexical.py`), and the proposers' rules read a text whose
comments and literals are blanked (`source/masking.py`). What one takes for code and another
for a comment would be judged as what it is not.
"""

from collections.abc import Iterator
from random import Random

import pytest

from warploom.emulator.tokens import Kind, tokenize
from warploom.evaluation.legality.tokens import Scan, scan
from warploom.source.lexical import find_leak
from warploom.source.masking import mask

TEXTS = 10_000
PIECES = (
    *"abc0179_$ \t\n\n\n;;,(){}[]<>=+-*/%&|^!~?:.#\"'\\",
    "//", "/*", "*/", "/**/", "/*/", "*//", "\\\n", "\\ \n", "\r\n", "\\\r\n", "//\\\n",
    "// a\\\nb\n",
    'R"(', ')"', 'R"x(', ')x"', 'u8R"(', "u8", "LR", 'L"', "u'", "'x'", "'{'", "u8'a'", "'\\''",
    '"\\""', '"a//b"', '"/*"', "1'000", "1'0", "0x1p-3", "1e+5", ".5f", "1.", "...", "->*", "<=>",
    "<<<", ">>>", "<<=", "::", "##", "<:", ":>", "<%", "%>", "%:", "??/", "??=", "#define f(x) x\n",
    "#if 0\n", "#endif\n", "# include <x>\n", "operator", "kernel<<<1, 2>>>()",
    "case u8'a': {", " x = 1'0;",
)  # fmt: skip
_OPENED = {")": "(", "]": "[", "}": "{"}


def accepted(seed: int) -> Iterator[tuple[str, Scan]]:
    """Yield texts without a trick, which the rules refuse."""
    random, count = Random(seed), 0
    while count < TEXTS:
        text = "".join(random.choice(PIECES) for _ in range(random.randint(1, 16)))
        found = scan(text)
        if not found.tricks:
            count += 1
            yield text, found


def of_the_rewriter(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for token in tokenize(text.encode()).tokens:
        words = token.text.decode()
        if token.kind is Kind.PUNCT:
            found += [("punct", mark) for mark in words]  # the readers group them differently
        else:
            found.append((token.kind.name.lower(), words))
    return found


def of_the_rules(read: Scan) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for token in read.tokens:
        if token.kind == "directive":
            found.append(("punct", "#"))
        elif token.kind == "punct":
            found += [("punct", mark) for mark in token.text]
        else:
            found.append((token.kind, token.text))
    return found


def is_balanced(read: Scan) -> bool:
    opened: list[str] = []
    for kind, text in of_the_rules(read):
        if kind != "punct":
            continue
        if text in "([{":
            opened.append(text)
        elif text in _OPENED and (not opened or opened.pop() != _OPENED[text]):
            return False
    return not opened


def test_the_rewriter_and_the_rules_see_the_same_tokens() -> None:
    for text, read in accepted(13):
        assert of_the_rewriter(text) == of_the_rules(read), repr(text)


def test_no_region_is_let_pass_whose_brackets_reach_out_of_it() -> None:
    stands_alone = 0
    for text, read in accepted(14):
        if any(token.directive for token in read.tokens) or find_leak(text) is not None:
            continue
        stands_alone += 1
        assert is_balanced(read), repr(text)
    assert stands_alone > 1000


def test_what_is_not_blanked_is_code() -> None:
    for text, read in accepted(15):
        code = [one for one in of_the_rules(read) if one[0] not in ("string", "char")]
        shown = of_the_rewriter(mask(text.encode()).decode())
        assert shown == code, repr(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("// C:\\\\\nint a;\nint b;", ["int", "b"]),  # two backslashes: the line goes on
        ("// up to \\  \nint a;\nint b;", ["int", "b"]),  # blanks behind the backslash
        ("u8'a' b 1'000 'c' d", ["b", "d"]),
        ("args...1", ["args"]),
        ('au8R"(x)" y', ["au8R", "y"]),  # a name, then a plain string
    ],
)
def test_where_readers_once_differed(text: str, names: list[str]) -> None:
    for one in (text, mask(text.encode()).decode()):
        assert [word for kind, word in of_the_rewriter(one) if kind == "name"] == names


def test_a_bracket_between_a_character_and_a_separated_number_is_seen() -> None:
    assert find_leak("case u8'a': { x = 1'0;") is not None
