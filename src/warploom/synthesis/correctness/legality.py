"""What a candidate's text may hold: kernels, and of the host's interfaces little but launches.

Beside the rules for mutable regions (`evaluation/legality/check.py`), which refuse files,
processes, clocks and new meanings for names of the frame.
"""

import re
from collections.abc import Iterator, Sequence

from warploom.core.records import Finding, Severity
from warploom.evaluation.legality.branches import choices
from warploom.evaluation.legality.scopes import Declared, UnbalancedError, declarations
from warploom.evaluation.legality.tokens import Token, scan
from warploom.synthesis.correctness.frame import first_line_of_body

ALLOWED_CALLS = frozenset(
    {
        "cudaStream_t", "cudaError_t", "cudaSuccess", "cudaGetLastError", "cudaPeekAtLastError",
        "cudaMallocAsync", "cudaFreeAsync", "cudaMemsetAsync", "cudaFuncSetAttribute",
        "cudaFuncAttributeMaxDynamicSharedMemorySize", "cudaErrorInvalidValue",
    }
)  # fmt: skip
"""Of the CUDA runtime's names, those that a kernel's launch needs."""
ALLOWED_OF_RANKS = frozenset(
    {
        "ncclDevComm", "ncclWindow_t", "ncclTeam", "ncclTeamLsa", "ncclTeamTagLsa", "ncclCoopCta",
        "ncclCoopWarp", "ncclCoopThread", "ncclLsaBarrierSession", "ncclGetLsaPointer",
        "ncclGetLocalPointer", "ncclGetPeerPointer",
    }
)  # fmt: skip
"""Of NCCL's device API, what reaches other ranks' memory and waits for them."""
_BARRIER = "ncclLsaBarrierSession"
_OF_COOPS = [["<", f"ncclCoop{threads}", ">"] for threads in ("Cta", "Warp", "Thread")]
_API = re.compile(r"(?:cuda|cu|nv|nvrtc|nvml|cublas|cudnn|nccl|MPI_)[A-Z]\w*\Z")
_REFUSED = frozenset({"thread", "async", "jthread", "pthread_create", "asm", "__asm__", "main",
                      "printf", "malloc", "free", "new", "delete", "__managed__",
                      "thread_local", "__func__", "__FUNCTION__", "__PRETTY_FUNCTION__",
                      "__FILE__", "__BASE_FILE__"})  # fmt: skip
_CONSTANT = frozenset({"constexpr", "__constant__"})


def candidate_findings(body: str, name: str, ranks: int = 1) -> list[Finding]:
    """Return what the text of a candidate holds that no kernel needs, for so many ranks."""
    allowed = ALLOWED_CALLS if ranks == 1 else ALLOWED_CALLS | ALLOWED_OF_RANKS
    return [*_findings(body, name, allowed), *_renamed(body, name), *_kept(body, name)]


def _renamed(body: str, name: str) -> Iterator[Finding]:
    """Yield uses of a barrier's type that could be a variable of that name: a hidden comparison."""
    tokens = scan(body).tokens
    for at, token in enumerate(tokens):
        words = [follower.text for follower in tokens[at + 1 : at + 4]]
        if token.text == _BARRIER and words not in _OF_COOPS:
            yield Finding(
                "redefinition", Severity.ERROR,
                f"{_BARRIER} must be followed by the threads that meet: <ncclCoopCta>", "", name,
                token.line + first_line_of_body() - 1,
            )  # fmt: skip


def _kept(body: str, name: str) -> Iterator[Finding]:
    """Yield the variables that outlive a call: what one call leaves must not reach another."""
    tokens = scan(body).tokens
    lines = range(1, body.count("\n") + 2)
    told: set[tuple[str, int]] = set()
    try:
        items = [item for one in choices(tokens, [lines]) for item in declarations(one)]
    except UnbalancedError:
        return  # the rules for regions tell it
    for word, line in [*map(_of_scope, items), *(kept for i in items for kept in _of_body(i))]:
        if word and (word, line) not in told:
            told.add((word, line))
            yield Finding(
                "kept_state", Severity.ERROR,
                f"{word} outlives a call: a kernel must depend on its inputs alone",
                "let it be constexpr, or use memory of cudaMallocAsync within the call", name,
                line + first_line_of_body() - 1,
            )  # fmt: skip


def _of_scope(item: Declared) -> tuple[str, int]:
    if item.kind != "variable" or (item.level == "class" and not item.has("static")):
        return "", 0
    return ("" if _is_constant(item.tokens) or _is_prototype(item) else item.name), item.line


def _is_prototype(item: Declared) -> bool:
    """Whether it declares a function: its name, and brackets that end it."""
    texts = [token.text for token in item.tokens]
    at = texts.index(item.name) if item.name in texts else len(texts)
    return texts[at + 1 : at + 2] == ["("] and texts[-1] == ")"


def _of_body(item: Declared) -> Iterator[tuple[str, int]]:
    """Yield the static variables of a function."""
    for at, token in enumerate(item.body):
        if token.text == "static":
            rest = item.body[at + 1 :]
            stop = next((n for n, t in enumerate(rest) if t.text in ("=", ";", "{")), len(rest))
            if not _is_constant(rest[:stop]):
                name = next((t.text for t in reversed(rest[:stop]) if t.kind == "name"), "static")
                yield name, token.line


def _is_constant(tokens: Sequence[Token]) -> bool:
    """Whether a declaration is of something that cannot change."""
    texts = [token.text for token in tokens]
    if "=" in texts:
        texts = texts[: texts.index("=")]
    if _CONSTANT & set(texts) or "__shared__" in texts:
        return True
    if "*" in texts:
        last = len(texts) - 1 - texts[::-1].index("*")
        return "const" in texts[last:]
    return "const" in texts


def _is_plain_text(tokens: Sequence[Token], at: int) -> bool:
    """Whether a text is that of `extern "C"`, or of what a `static_assert` says."""
    before, after = tokens[at - 1].text if at else "", [t.text for t in tokens[at + 1 : at + 2]]
    if before == "extern":
        return tokens[at].text == '"C"'
    begin = at
    while begin and tokens[begin - 1].text not in (";", "{", "}"):
        begin -= 1
        if tokens[begin].kind == "directive":
            return False
    return tokens[begin].text == "static_assert" and before == "," and after == [")"]


def _findings(body: str, name: str, allowed: frozenset[str]) -> Iterator[Finding]:
    def refused(kind: str, message: str, line: int, hint: str = "") -> Finding:
        return Finding(kind, Severity.ERROR, message, hint, name, line + first_line_of_body() - 1)

    entry = False
    tokens = scan(body).tokens
    assembly = {token.line for token in tokens if token.text in ("asm", "__asm__")}  # told by name
    for at, token in enumerate(tokens):
        hides = token.kind == "string" and not _is_plain_text(tokens, at)
        if hides and token.line not in assembly:
            yield refused(
                "hidden_text", "a kernel has no use for text: its length is a number in disguise",
                token.line, "write numbers as numbers",
            )  # fmt: skip
        if token.kind == "directive" and token.text not in ("define", "undef", "pragma", "if",
                                                            "ifdef", "ifndef", "else", "elif",
                                                            "endif"):  # fmt: skip
            yield refused(
                "forbidden_include" if token.text == "include" else "forbidden_directive",
                f"#{token.text} is refused: what a kernel may use is included already",
                token.line,
            )
        if token.text == "##":
            yield refused("hidden_text", "names must be written out, not pasted together",
                          token.line)  # fmt: skip
        if token.kind != "name":
            continue
        entry = entry or token.text == "warploom_forward"
        if _API.match(token.text) and token.text not in allowed:
            yield refused(
                "forbidden_call",
                f"{token.text} is no part of a kernel or its launch",
                token.line,
                f"of the CUDA runtime a kernel file may use: {', '.join(sorted(allowed))}",
            )
        elif token.text in _REFUSED:
            yield refused("forbidden_call", f"{token.text} is refused in a kernel file",
                          token.line)  # fmt: skip
    if not entry:
        yield refused("no_entry", 'the file must define extern "C" int warploom_forward(...)', 1)
