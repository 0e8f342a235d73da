"""Where a program could read its own text: `#x` in a macro, whose argument we rewrite.

What the rewriter inserts (a shift's operand, a launch, assembly) would be part of the string, and
so would the macros of our headers where a macro passes them on. A string that is only printed
harms nobody: macros that check errors do that.
"""

import re
from collections.abc import Sequence

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.system_macros import system_macros
from warploom.evaluation.legality.tokens import Token

_REWRITTEN = words(
    "asm __asm__ __asm __shared__ __device__ __constant__ __managed__ __global__ __noinline__ "
    "threadIdx blockIdx blockDim gridDim warpSize"
)
_PRINTS = frozenset({"printf", "fprintf"})
_STREAMS = (["std", "::", "cerr"], ["std", "::", "cout"], ["std", "::", "clog"])
_COUNTS = re.compile(r"%[-+ #0-9.*hlqjztL]*n")
_STATEMENT = frozenset({";", "{", "}", "else", "do"})


def shows_rewriting(argument: Sequence[Token], *, nested: bool) -> bool:
    """Whether the string of a macro's argument may differ here from what nvcc makes of it.

    `nested`: the use stands in another macro, so that macros of headers are expanded in it.
    """
    for token, after in zip(argument, [*argument[1:], None], strict=True):
        if token.kind == "punct":
            if token.text in ("{", ";", "<<<", ">>>"):
                return True
            twice = after is not None and after.text == token.text and not after.spaced
            if token.text in ("<", ">") and twice:
                return True
            if token.text == "*" and _is_void(argument, token):  # of a kernel, perhaps
                return True
        elif token.text in _REWRITTEN or (nested and token.text in system_macros().names):
            return True
    return False


def _is_void(argument: Sequence[Token], star: Token) -> bool:
    """Whether a pointer to void ends with `star`: casts to `void**` are not rewritten."""
    at = next(i for i, token in enumerate(argument) if token is star)
    before = [token.text for token in argument[max(0, at - 2) : at]]
    follows = argument[at + 1].text if at + 1 < len(argument) else ""
    return "void" in before and before[-1] != "*" and follows != "*"


def is_only_printed(body: Sequence[Token], at: int) -> bool:
    """Whether the string that `#` at `at` of a macro's body makes is printed, and nothing else."""
    texts = [token.text for token in body]
    before, after = _neighbors(body, at)
    opening = _opening(texts, at) if before == "," and after in (",", ")") else -1
    call = opening - 1
    if opening > 0 and texts[call] in _PRINTS:
        if call > 1 and texts[call - 1] == "::" and texts[call - 2] == "std":
            call -= 2
        return _is_statement(texts, call) and _has_format(body, opening, at)
    start = at
    while start > 0 and texts[start - 1] not in _STATEMENT:
        start -= 1
    if before != "<<" or after not in ("<<", ";"):
        return False
    return start > 0 and texts[start : start + 3] in _STREAMS


def _neighbors(body: Sequence[Token], at: int) -> tuple[str, str]:
    """Return what stands around a value and the texts that are one with it: it is no operand."""
    first, last = at - 1, at + (2 if body[at].text == "#" else 1)
    while first >= 0 and _is_text(body[first]):
        first -= 1
    while last < len(body) and _is_text(body[last]):
        last += 1
    left = [token.text for token in body[max(0, first - 1) : first + 1]]
    right = [token.text for token in body[last : last + 2]]
    shift = ["<", "<"]  # two tokens
    before = "<<" if left == shift else "".join(left[-1:])
    return before, "<<" if right == shift else "".join(right[:1])


def _is_text(token: Token) -> bool:
    return token.kind == "string" or token.text == "__FILE__"


def _opening(texts: Sequence[str], at: int) -> int:
    """Return the `(` around `at`, or -1."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if texts[i] == ")":
            depth += 1
        elif texts[i] == "(":
            if depth == 0:
                return i
            depth -= 1
    return -1


def _is_statement(texts: Sequence[str], at: int) -> bool:
    """Whether what begins at `at` begins a statement, so that nobody takes its value."""
    if at > 0 and texts[at - 1] in _STATEMENT:
        return True
    if at == 0 or texts[at - 1] != ")":
        return False
    opening = _opening(texts, at - 1)
    return opening > 0 and texts[opening - 1] in ("if", "while", "for")


def _has_format(body: Sequence[Token], opening: int, at: int) -> bool:
    """Whether a literal format stands before `at`, which stores no count of what was printed."""
    first = opening + 1
    if body[opening - 1].text == "fprintf":
        if body[first].text not in ("stderr", "stdout"):
            return False
        first += 2
    end = first
    while (end < at or _is_text(body[at])) and _is_text(body[end]):
        end += 1
    literal = "".join(token.text for token in body[first:end])
    return end > first and body[end].text == "," and not _COUNTS.search(literal)
