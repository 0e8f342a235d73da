"""What a text declares at namespace and class scope, read from its tokens alone.

This is no parser: it finds where functions, types and variables begin and end, which is all that
the rules on untrusted regions need, and it cannot be talked into skipping text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.evaluation.legality.tokens import Token

_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = {")": "(", "]": "[", "}": "{"}
_TAGS = frozenset({"class", "struct", "union", "enum"})
_GROUP_PREFIXES = frozenset(
    {"alignas", "decltype", "noexcept", "throw", "requires", "explicit", "__launch_bounds__",
     "__attribute__", "__declspec", "__align__", "__cluster_dims__", "__maxnreg__", "sizeof"}
)  # fmt: skip
_AFTER_PARAMETERS = frozenset(
    {"const", "volatile", "noexcept", "override", "final", "mutable", "&", "&&", "try"}
)


_DEEPEST = 500
"""Brackets within brackets: more than that is no program, and would end a reader that recurses."""


class UnbalancedError(ValueError):
    """Brackets do not match, or nest without end; `line` is where that shows."""

    def __init__(self, line: int) -> None:
        super().__init__(f"brackets do not match at line {line}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration. `kind`: function, type, variable, statement or namespace.

    `level` is namespace or class. `tokens` are those of the declaration, without the bodies of
    functions and types; `body` are the tokens of a function's body, `inside` those of a type's.
    `scope` names the namespaces and types around it.
    """

    kind: str
    name: str
    line: int
    level: str
    tokens: tuple[Token, ...]
    body: tuple[Token, ...] = ()
    inside: tuple[Token, ...] = ()
    scope: str = ""

    def has(self, *words: str) -> bool:
        """Whether the declaration contains any of `words` as a token."""
        return any(token.text in words for token in self.tokens)


def declarations(tokens: Sequence[Token]) -> tuple[Declared, ...]:
    """Return all declarations at namespace and class scope, in order.

    `tokens` are those of one choice of preprocessor branches, without directives.

    Raises:
        UnbalancedError: brackets do not match.
    """
    plain = [token for token in tokens if not token.directive]
    return tuple(_Reader(plain, _match(plain)).level(0, len(plain), "namespace", ""))


def members(inside: Sequence[Token]) -> tuple[Declared, ...]:
    """Return what the body of a type declares, in order."""
    return tuple(_Reader(inside, _match(inside)).level(0, len(inside), "class", ""))


def _match(tokens: Sequence[Token]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "punct":
            continue
        if token.text in _OPEN:
            stack.append(at)
            if len(stack) > _DEEPEST:
                raise UnbalancedError(token.line)
        elif token.text in _CLOSE:
            if not stack or tokens[stack[-1]].text != _CLOSE[token.text]:
                raise UnbalancedError(token.line)
            pairs[stack.pop()] = at
    if stack:
        raise UnbalancedError(tokens[stack[-1]].line)
    return pairs


class _Reader:
    def __init__(self, tokens: Sequence[Token], pairs: dict[int, int]) -> None:
        self.tokens = tokens
        self.pairs = pairs

    def level(self, start: int, end: int, level: str, scope: str) -> Iterator[Declared]:
        """Yield the declarations of tokens `start` to `end` at `level`."""
        head: list[Token] = []
        at = start
        while at < end:
            token = self.tokens[at]
            if token.text == ";":
                if head:
                    yield _statement(head, level, scope)
                head = []
            elif token.text == ":" and [t.text for t in head] in _ACCESS:
                head = []
            elif token.text in ("(", "["):
                head += self.tokens[at : self.pairs[at] + 1]
                at = self.pairs[at]
            elif token.text == "{":
                close = self.pairs[at]
                kind = _brace_kind(head, self._after(close))
                yield from self._braces(kind, head, at, close, level, scope)
                if kind in ("namespace", "function"):
                    head = []
                else:
                    head += (token, *(self._inner(kind, at, close)), self.tokens[close])
                at = close
            else:
                head.append(token)
            at += 1
        if head:
            yield _statement(head, level, scope)

    def _braces(
        self, kind: str, head: list[Token], at: int, close: int, level: str, scope: str
    ) -> Iterator[Declared]:
        line = head[0].line if head else self.tokens[at].line
        name = _name(head)
        if kind == "namespace":
            yield Declared("namespace", name, line, level, tuple(head), scope=scope)
            yield from self.level(at + 1, close, "namespace", f"{scope}::{name}")
        elif kind == "function":
            body = tuple(self.tokens[at + 1 : close])
            yield Declared("function", name, line, level, tuple(head), body, scope=scope)
        elif kind == "type":
            inside = tuple(self.tokens[at + 1 : close])
            named = _type_name(head)
            yield Declared("type", named, line, level, tuple(head), (), inside, scope)
            if any(token.text == "enum" for token in head):
                for word in _enumerators(self.tokens[at + 1 : close]):
                    yield Declared("type", word.text, word.line, level, (word,), scope=scope)
            else:
                yield from self.level(at + 1, close, "class", f"{scope}::{named}")

    def _inner(self, kind: str, at: int, close: int) -> Sequence[Token]:
        return () if kind == "type" else self.tokens[at + 1 : close]

    def _after(self, close: int) -> str:
        return self.tokens[close + 1].text if close + 1 < len(self.tokens) else ""


_ACCESS = (["public"], ["private"], ["protected"])


def without_groups(head: Sequence[Token]) -> list[Token]:
    """Drop `template <...>`, `alignas(...)`, `[[...]]` and the like from the front matter."""
    kept: list[Token] = []
    at = 0
    while at < len(head):
        word = head[at].text
        following = head[at + 1].text if at + 1 < len(head) else ""
        if word == "template" and following == "<":
            at = skip_angles(head, at + 1)
        elif word in _GROUP_PREFIXES and following == "(":
            at = skip_round(head, at + 1)
        elif word == "[" and following == "[":
            at = skip_round(head, at, "[", "]")
        else:
            kept.append(head[at])
        at += 1
    return kept


def skip_angles(head: Sequence[Token], at: int) -> int:
    """Return the index of the `>` that closes the `<` at `at`."""
    depth = 0
    while at < len(head):
        word = head[at].text
        if word in ("(", "["):
            at = skip_round(head, at, word, _OPEN[word])
        elif word == "<":
            depth += 1
        elif word in (">", ">>", ">>>"):
            depth -= len(word)
            if depth <= 0:
                return at
        at += 1
    return at


def skip_round(head: Sequence[Token], at: int, opening: str = "(", closing: str = ")") -> int:
    """Return the index of the bracket that closes the one at `at`."""
    depth = 0
    while at < len(head):
        depth += (head[at].text == opening) - (head[at].text == closing)
        if depth == 0:
            return at
        at += 1
    return at


def _top_level(head: Sequence[Token]) -> list[Token]:
    """Return the tokens outside of all brackets; an opening bracket stands for its group."""
    kept: list[Token] = []
    at = 0
    while at < len(head):
        kept.append(head[at])
        if head[at].text in _OPEN:
            at = skip_round(head, at, head[at].text, _OPEN[head[at].text])
        at += 1
    return kept


def _brace_kind(head: Sequence[Token], after: str) -> str:
    """Tell what an opening brace begins: namespace, type, function or init."""
    words = [token.text for token in _top_level(without_groups(head))]
    if "namespace" in words and "=" not in words:
        return "namespace"
    if words[:1] == ["extern"] and len(words) == 2 and words[1].startswith('"'):
        return "namespace"
    assigned = any(
        word == "=" and (at == 0 or words[at - 1] != "operator") for at, word in enumerate(words)
    )
    if assigned:
        return "init"
    if "(" in words:
        return "init" if _in_member_initializers(words) and after in (",", "{") else "function"
    return "type" if _TAGS & set(words) else "init"


def _in_member_initializers(words: Sequence[str]) -> bool:
    return ":" in words[words.index("(") :]


def _statement(head: Sequence[Token], level: str, scope: str) -> Declared:
    """Make the declaration that ends with a semicolon."""
    line = head[0].line
    words = _top_level(without_groups(head))
    texts = [token.text for token in words]
    kept = tuple(head)
    if texts[:1] in (["using"], ["typedef"]):
        alias = _alias_name(words)
        return Declared("type" if alias else "statement", alias, line, level, kept, scope=scope)
    if texts[:1] == ["namespace"] and len(texts) > 2:  # `namespace a = b;`
        return Declared("type", texts[1], line, level, kept, scope=scope)
    if texts[:1] in (["static_assert"], ["friend"], ["public"], ["private"], ["protected"]):
        return Declared("statement", "", line, level, kept, scope=scope)
    if _TAGS & set(texts) and texts[-1:] == ["{"]:  # `struct A { ... };`, told before
        return Declared("statement", "", line, level, kept, scope=scope)
    if len(texts) == 2 and texts[0] in _TAGS:  # `struct A;`
        return Declared("type", texts[1], line, level, kept, scope=scope)
    return Declared("variable", _name(head), line, level, kept, scope=scope)


def _alias_name(words: Sequence[Token]) -> str:
    texts = [token.text for token in words]
    if texts[0] == "using":
        return (
            texts[1]
            if len(texts) > 2 and texts[2] == "="
            else texts[-1]
            if ("namespace" not in texts)
            else ""
        )
    names = [token.text for token in words if token.kind == "name"]
    return names[-1] if names else ""


def _type_name(head: Sequence[Token]) -> str:
    words = without_groups(head)
    for at, token in enumerate(words):
        if token.text in _TAGS:
            rest = [t.text for t in words[at + 1 :] if t.kind == "name" and t.text not in _TAGS]
            return rest[0] if rest else ""
    return ""


def _name(head: Sequence[Token]) -> str:
    """Return the declared name: before the first parenthesis, `=`, `[` or `{`, else the last."""
    words = _top_level(without_groups(head))
    before = None
    for token in words:
        if token.text == "operator":
            return "operator"
        if token.text in ("(", "=", "[", "{", ":") and before is not None:
            break
        if token.kind == "name" and token.text not in _AFTER_PARAMETERS:
            before = token
    return before.text if before else ""


def _enumerators(tokens: Sequence[Token]) -> Iterator[Token]:
    fresh = True
    for token in _top_level(tokens):
        if fresh and token.kind == "name":
            yield token
        fresh = token.text == ","
