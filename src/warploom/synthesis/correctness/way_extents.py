"""Conditions that turn out otherwise only where a size is 0: a case has it, or no task does.

Where the reference fails on nothing, or no size varies, no case takes `if (n == 0) return 0;`.
"""

import math
import re
from dataclasses import dataclass

from tree_sitter import Node

from warploom.source.syntax import SourceFile
from warploom.synthesis.correctness.way_exits import closes_last, unbracketed

_SIZE = re.compile(r"sizes\[\d+\]")
_WIDE = r"(?:unsigned|int|long|longlong|unsignedlonglong|size_t|u?int(?:32|64)_t)"
_CAST = re.compile(rf"static_cast<{_WIDE}>(?=\()|\({_WIDE}\)(?=[\w(])|{_WIDE}(?=\()")
_TYPE = re.compile(r"(?:const|constexpr|unsigned|long|int|size_t|u?int(?:32|64)_t|auto)"
                   r"(?:\s+(?:const|unsigned|long|int))*\s+")  # fmt: skip
_CEILING = re.compile(r"\((?P<size>.+)\+(?P<more>\w+)(?P<less>-1)?\)/(?P<each>\w+)")
_NUMBER = re.compile(r"(\d+)(?:ll|l|u|ull|ul)?", re.IGNORECASE)
_ZERO_WAYS = {("==", 0): True, ("<=", 0): True, ("<", 1): True,
              ("!=", 0): False, (">", 0): False, (">=", 1): False}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NEITHER: frozenset[bool] = frozenset()
_NARROW = re.compile(r"(?:unsigned|u?int32_t|(?<!long )int)\b(?! long)")
_SEVERAL = re.compile(
    r"(?P<kind>(?:const\s+)?(?:int|unsigned|long\s+long|size_t|u?int\d+_t))\s+"
    r"(?P<first>\w+\s*=(?!=)[^;,{}]*),\s*(?P<rest>\w+\s*=(?!=)[^;{}]*;)"
)
_MOST = 1 << 16  # that numbers multiply sizes by
_DEEPEST = 8


def zero_way(tree: SourceFile, node: Node) -> frozenset[bool]:
    """Return the way that a condition takes only where a size, or a product of sizes, is 0.

    `node` is a condition of the entry point itself.
    """
    around: Node = node
    while around.parent is not None and around.type != "function_definition":
        around = around.parent
    entry = _Entry(_one_by_one(tree.node_text(around)), _may_change(tree))
    if not entry.has_given_sizes():
        return _NEITHER
    sign = node.child_by_field_name("operator")
    if node.type != "binary_expression" or sign is None:
        return frozenset({False}) if entry.is_extent(tree.node_text(node)) else _NEITHER
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = tree.node_text(sign)
    if left is None or right is None or operator not in _TURNED:
        return _NEITHER
    texts = [tree.node_text(left), tree.node_text(right)]
    if _number(texts[0]) is not None:
        texts, operator = texts[::-1], _TURNED[operator]
    number = _number(texts[1])
    way = _ZERO_WAYS.get((operator, number)) if number is not None else None
    return _NEITHER if way is None or not entry.is_extent(texts[0]) else frozenset({way})


@dataclass(frozen=True, slots=True)
class _Entry:
    """The text of the entry point; `passed`: what it calls may change its variables."""

    text: str
    passed: bool

    def has_given_sizes(self) -> bool:
        """Whether `sizes` are those that it was given, everywhere."""
        head, _, body = self.text.partition("{")
        mentions = len(re.findall(r"\bsizes\b", body))
        plain = len(re.findall(r"(?<![&\w])sizes\s*\[\s*\d+\s*\]", body))
        return bool(re.search(r"const\s+long\s+long\s*\*\s*sizes\b", head)) and mentions == plain

    def is_extent(self, text: str) -> bool:
        """Whether a text is 0 only where a size is: a size, their products, blocks for them.

        No size may be in it twice: the third power of 2048 is 0 where 32 bits hold it. Nor may 32
        bits hold one that an even number multiplies.
        """
        sizes = self._sizes_of(text, 0, narrow=False)
        return bool(sizes) and len(set(sizes)) == len(sizes)

    def _sizes_of(self, text: str, depth: int, *, narrow: bool) -> list[str]:
        """Return the sizes of which one must be 0 where a text is; none where more may be."""
        text = _bare(text)
        while cast := _CAST.match(text):
            rest = text[cast.end() :]
            if rest[:1] == "(" and not closes_last(rest):
                break
            narrow = narrow or bool(_NARROW.search(cast[0]))
            text = _bare(rest)
        if depth > _DEEPEST:
            return []
        if _SIZE.fullmatch(text):
            return [text]
        if text.isidentifier():
            kind, value = self._declared(text)
            narrow = narrow or bool(_NARROW.search(kind))
            return self._sizes_of(value, depth + 1, narrow=narrow) if value else []
        ceiling = _CEILING.fullmatch(text)
        if ceiling:
            more, each = (self._constant(ceiling[name]) for name in ("more", "each"))
            if more is None or each is None or each < 1:
                return []
            more -= 1 if ceiling["less"] else 0
            if more != each - 1:
                return []
            return self._sizes_of(ceiling["size"], depth + 1, narrow=narrow)
        factors = _factors(text)
        numbers = [number for one in factors if (number := _number(one)) is not None]
        times = math.prod(numbers)
        narrow = narrow or any(_NARROW.search(f"{self._declared(f)[0]} {f}") for f in factors)
        if len(factors) < 2 or not 0 < times <= _MOST or (narrow and times % 2 == 0):
            return []
        found = [
            self._sizes_of(one, depth + 1, narrow=narrow) for one in factors if _number(one) is None
        ]
        return [size for one in found for size in one] if all(found) else []

    def _constant(self, text: str) -> int | None:
        known = _number(text)
        return known if known is not None else _number(self._declared(text)[1])

    def _declared(self, name: str) -> tuple[str, str]:
        """Return the type and the value of a variable that nothing changes; empty texts else."""
        word = rf"(?<![\w.>]){re.escape(name)}\b"
        given = list(re.finditer(rf"([^;{{}}()]*?){word}\s*=(?!=)([^;,]*);", self.text))
        written = re.findall(
            rf"{word}\s*(?:=(?!=)|\{{|\+\+|--|(?:[-+*/%&|^]|<<|>>)=)|(?:\+\+|--|(?<!&)&)\s*{word}",
            self.text,
        )
        if len(given) != 1 or len(written) != 1 or not _TYPE.fullmatch(given[0][1].lstrip()):
            return "", ""
        constant = given[0][1].lstrip().startswith(("const ", "constexpr "))
        return (given[0][1].strip(), given[0][2]) if constant or not self.passed else ("", "")


def _one_by_one(text: str) -> str:
    """Return a function's text with a declaration for each of its variables."""

    def parted(found: re.Match[str]) -> str:
        if found["first"].count("(") != found["first"].count(")"):
            return found[0]
        return f"{found['kind']} {found['first']}; {found['kind']} {found['rest']}"

    for _ in range(_DEEPEST):
        before, text = text, _SEVERAL.sub(parted, text)
        if text == before:
            break
    return text


def _may_change(tree: SourceFile) -> bool:
    """Whether a function or variable of the file is a reference by which something changes."""
    for node in tree.nodes("reference_declarator", "abstract_reference_declarator"):
        around = node.parent
        while around is not None and around.type not in ("parameter_declaration", "declaration"):
            around = around.parent
        if around is None or not tree.node_text(around).startswith("const "):
            return True
    return False


def _number(text: str) -> int | None:
    found = _NUMBER.fullmatch(_bare(text))
    return int(found[1]) if found else None


def _bare(text: str) -> str:
    """Return a text without blanks, and without brackets around all of it."""
    return unbracketed(re.sub(r"\s+", "", text))


def _factors(text: str) -> list[str]:
    """Return what is multiplied; nothing where something else is done."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if depth == 0 and sign in "+-/%&|^<>?:=!~,":
            return []
        if depth == 0 and sign == "*":
            parts.append("")
        else:
            parts[-1] += sign
    return parts
