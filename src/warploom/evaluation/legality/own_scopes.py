"""Which names are the program's own scopes: what an operator or a qualified definition may name.

A name counts only where nothing else can be meant by it: one that any text declares as an alias or
as a parameter of a template too, or that a library has, is nobody's.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.allowed_names import VECTOR_TYPE
from warploom.evaluation.legality.region_rules import Frame, is_library_name
from warploom.evaluation.legality.scopes import Declared, skip_angles, skip_round, without_groups
from warploom.evaluation.legality.system_macros import system_macros
from warploom.evaluation.legality.tokens import Token

_TAGS = frozenset({"class", "struct", "union", "enum"})
_BEFORE_TYPE = _TAGS | {"const", "volatile", "typename"}
_LIBRARIES = frozenset({"std", "cuda", "cooperative_groups", "nvcuda", "thrust", "cub"})


class OwnScopes:
    """Own classes and enumerations (`types`), and these with own namespaces (`scopes`)."""

    def __init__(
        self,
        tokens: Sequence[Token],
        items: Sequence[Declared],
        frame: Frame,
        own: frozenset[str],
    ) -> None:
        no_scope = frozenset(_other_names(tokens)) | _LIBRARIES
        defined = {item.name for item in items if item.name and _is_class(item)}
        spaces = {
            token.text
            for item in items
            if item.kind == "namespace"
            for token in item.tokens
            if token.kind == "name"
        }
        self.scopes = (defined | spaces) - no_scope
        # What a class holds has its name there only: where headers have that name too, the
        # operator may take theirs.
        known = system_macros().declared
        ours = {
            item.name
            for item in items
            if _is_class(item) and not item.tokens[0].trusted
            if item.level == "namespace" or item.name not in known
        }
        self.types = frozenset(
            name
            for name in ours - no_scope - (frame.names - own)
            if name and not is_library_name(name)
        )

    def takes_own(self, tokens: Sequence[Token]) -> bool:
        """Whether an operator, whose head is `tokens`, has an operand of an own type."""
        return any(self._is_own(operand) for operand in _operands(tokens))

    def _is_own(self, operand: Sequence[Token]) -> bool:
        """Whether the whole type of a parameter is an own class, by value or by reference."""
        rest = [token for token in operand if token.text not in _BEFORE_TYPE]
        path: list[str] = []
        at = 1 if rest and rest[0].text == "::" else 0
        while at < len(rest) and rest[at].kind == "name":
            path.append(rest[at].text)
            at += 1
            if at >= len(rest) or rest[at].text != "::":
                break
            at += 1
        if at < len(rest) and rest[at].text == "<":
            at = skip_angles(rest, at) + 1
        after = [token.text for token in rest[at:]]
        if after[:1] in (["&"], ["&&"]):
            after = after[1:]
        if not path or len(after) > 1 or not all(word.isidentifier() for word in after):
            return False
        if len(path) == 1 and VECTOR_TYPE.match(path[0]):
            return True
        return path[-1] in self.types and all(name in self.scopes for name in path[:-1])


def root_of(item: Declared) -> str:
    """Return the first scope of a qualified name that is declared: a for `int a::b::f<A>() {}`."""
    tokens = without_groups(item.tokens)
    if item.kind == "type":
        return _root_of_type(tokens)
    at, start, scoped = 0, 0, False
    while at < len(tokens):
        word = tokens[at].text
        if word in ("(", "=", "{"):
            root = tokens[start].text
            return root if any(t.text == "::" for t in tokens[start:at]) else ""
        if word == "<" and at > 0 and tokens[at - 1].text != "operator":
            at = skip_angles(tokens, at)
        elif word == "::":
            scoped = True
        else:
            start = start if scoped else at
            scoped = False
        at += 1
    return ""


def _root_of_type(tokens: Sequence[Token]) -> str:
    """Return the first scope of the name that follows `struct`."""
    if not tokens or tokens[0].text in ("using", "typedef", "namespace"):
        return ""
    tag = next((i for i, token in enumerate(tokens) if token.text in _TAGS), None)
    if tag is None:
        return ""
    at = tag + 1
    while at < len(tokens) and tokens[at].text in (*_TAGS, "[", "]", "(", ")"):
        at = skip_round(tokens, at, "[", "]") + 1 if tokens[at].text == "[" else at + 1
    if at < len(tokens) and tokens[at].text == "::":
        at += 1
    root = tokens[at].text if at < len(tokens) else ""
    after = at + 1
    if after < len(tokens) and tokens[after].text == "<":
        after = skip_angles(tokens, after) + 1
    return root if after < len(tokens) and tokens[after].text == "::" else ""


def _is_class(item: Declared) -> bool:
    """Whether a class or enumeration is defined or declared, and no other name for one."""
    if item.kind != "type" or not item.tokens:
        return False
    words = [token.text for token in without_groups(item.tokens)]
    if words[:1] == ["typedef"]:  # `typedef struct { ... } Row;` names no other type
        return len(words) > 1 and words[1] in _TAGS and "{" in words
    return words[:1] not in (["using"], ["namespace"]) and bool(_TAGS & set(words))


def _other_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield what untrusted text declares as an alias or as a parameter of a template."""
    texts = [token.text for token in tokens]
    for at, token in enumerate(tokens):
        before = texts[at - 1] if at else ""
        outer = texts[at - 2] if at > 1 else ""
        if token.trusted or token.kind != "name":
            continue
        alias = before in ("using", "namespace") and texts[at + 1 : at + 2] in (["="], ["["])
        parameter = before in ("class", "typename") and outer in ("<", ",", ">", ">>")
        if alias or parameter or (before == "..." and outer in ("class", "typename")):
            yield token.text
        elif token.text == "typedef" and not _names_own_body(texts, at):
            end = texts.index(";", at) if ";" in texts[at:] else len(texts)
            yield from (t.text for t in tokens[at + 1 : end] if t.kind == "name")


def _names_own_body(texts: Sequence[str], at: int) -> bool:
    """Whether a typedef defines the class that it names."""
    following = list(texts[at + 1 : at + 4])
    return following[:1] != [] and following[0] in _TAGS and "{" in following[1:]


def _operands(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each parameter of an operator, without a value for it."""
    texts = [token.text for token in tokens]
    at = texts.index("operator") + 1
    if texts[at : at + 2] == ["(", ")"]:
        at += 2
    while at < len(texts) and texts[at] != "(":
        at += 1
    end = skip_round(tokens, at)
    operand: list[Token] = []
    depth, valued = 0, False
    for token in tokens[at + 1 : end]:
        depth += (token.text in ("(", "<", "[", "{")) - (token.text in (")", ">", "]", "}"))
        depth -= 2 * (token.text == ">>")
        if token.text == "," and depth == 0:
            yield operand
            operand, valued = [], False
            continue
        valued = valued or (token.text == "=" and depth == 0)
        if not valued:
            operand.append(token)
    yield operand
