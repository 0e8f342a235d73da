"""A region is whole statements: what it begins and ends with, and where its `goto` goes.

`if (x)` as the last words of a region would make the frame's next statement a part of it, `else` as
the first one would hang on the frame's last, and a jump to a label of another region would pass
over what the frame does between the two.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.tokens import Token

_OPENERS, _CLOSERS = frozenset("([{"), frozenset(")]}")
_TYPES = words("struct class union enum")
_GO_ON = words("else catch")


def edge_problems(tokens: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and subject of each way in which a region reaches over its edge.

    `tokens` are those of one outcome of its conditions, with balanced brackets.
    """
    yield from _jumps(tokens)
    plain = [token for token in tokens if not token.directive and token.kind != "directive"]
    if not plain:
        return
    if plain[0].text in _GO_ON:
        about = f"begins with {plain[0].text}"
        yield plain[0].line, f"`{plain[0].text}` would go on with what the frame says", about
    end = plain[-1]
    if end.text not in (";", "}") or (end.text == "}" and not _is_whole(plain)):
        message = f"a region must end with a whole statement, got `{end.text}` as its last word"
        yield end.line, message, f"ends with {end.text}"


def _is_whole(tokens: Sequence[Token]) -> bool:
    """Whether the block that ends `tokens` ends what it is of; a type or a value needs a `;`."""
    depth = 0
    at = len(tokens) - 1
    while at >= 0:
        depth += (tokens[at].text in _CLOSERS) - (tokens[at].text in _OPENERS)
        at -= 1
        if depth == 0:
            break
    head: list[str] = []
    while at >= 0 and tokens[at].text not in (";", "{", "}"):
        if tokens[at].text == ")":  # what is between round brackets says nothing
            depth = 1
            while depth and at > 0:
                at -= 1
                depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        head.append(tokens[at].text)
        at -= 1
    if not head:
        return True
    first = head[-1]
    if first in ("return", "do", "try") or head[0] in ("do", "try"):
        return False
    if "=" in head and "operator" not in head and first != "template":
        return False
    return "(" in head or not _TYPES & set(head)


def _jumps(tokens: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    labels = {
        token.text
        for at, token in enumerate(tokens[:-1])
        if tokens[at + 1].text == ":"
        and token.kind == "name"
        and (at == 0 or tokens[at - 1].text in (";", "{", "}", ":", ")", "else"))
    }
    for at, token in enumerate(tokens):
        if token.text != "goto":
            continue
        to = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if to not in labels:
            message = f"goto {to}: a region may jump to labels of its own only"
            yield token.line, message, f"goto {to}"
