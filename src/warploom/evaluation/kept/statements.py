"""Which statements of a function a transform may change or add."""

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from warploom.evaluation.kept.data import (
    ASSIGNS,
    Functions,
    guarded_names,
    is_upload,
    may_change,
    mentions,
)
from warploom.evaluation.kept.endings import ENDS, FAILURE, ends_well, prints, says
from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.statements import Statement
from warploom.evaluation.legality.tokens import Token, joined

_MOVES = re.compile(
    r"nccl(?:Send|Recv|GroupEnd|AllReduce|AllGather|AlltoAll|AllToAll|ReduceScatter|Reduce"
    r"|Broadcast|Bcast|Gather|Scatter)\Z"
)
_TRANSFORMS = re.compile(
    r"nccl\w+|cuda(?:Malloc|Free|Memcpy|Memset|Host(?:Alloc|Register|Unregister)|Stream(?!Wait)"
    r"|DeviceSynchronize|SetDevice|LaunchKernel|LaunchCooperativeKernel|GetLastError|PeekAtLast"
    r"|FuncSetAttribute|GraphLaunch|Graph|OccupancyMax)\w*|MPI_(?:Bcast|Barrier|Comm_split\w*)\Z"
)
_TEARDOWN = re.compile(
    r"(?:cudaFree\w*|nccl(?:Mem|Comm|DevComm)\w*(?:Free|Destroy|Finalize|Deregister|Abort)"
    r"|ncclMemFree|ncclCommDestroy|ncclRedOpDestroy|cudaStreamDestroy)\Z"
)
_WAITS = words("MPI_Barrier cudaDeviceSynchronize cudaStreamSynchronize")
_TIMERS = words(
    "cudaEventRecord cudaEventElapsedTime MPI_Wtime now clock_gettime gettimeofday clock"
)
_CONTROL = words("if for while switch else do try catch")
_LOOPS = words("for while do switch")
_BEFORE_LAMBDA = words("= ( , return && || : ?") | {""}
_LIBRARY = re.compile(r"(?:cuda|nccl)[A-Z]|MPI_")


def moves_data(name: str) -> bool:
    """Whether a call of NCCL moves data from rank to rank."""
    return _MOVES.match(name) is not None


def is_transforms(one: Statement, communicates: frozenset[str]) -> bool:
    """Whether a transform may change a statement: communication, memory or the pipeline."""
    first = one.tokens[0].text
    if first in _CONTROL or first == "return" or _times(one):
        return False
    if any(token.text == "<<<" for token in one.tokens) or one.names & communicates:
        return True
    return any(_TRANSFORMS.match(name) for name in one.names)


def is_teardown(one: Statement, checks: Set[str]) -> bool:
    """Whether a statement only gives memory or communicators back.

    `checks` are what the original itself wraps calls in.
    """
    called = set(_called(one)) - checks
    written = any(token.text in ASSIGNS for token in one.tokens)
    return bool(called) and all(_TEARDOWN.match(name) for name in called) and not written


def _waits(one: Statement, checks: Set[str]) -> bool:
    called = set(_called(one)) - checks
    return bool(called) and called <= _WAITS


def _times(one: Statement) -> bool:
    return any(name in _TIMERS for name in _called(one))


def _called(one: Statement) -> Iterator[str]:
    for token, after in zip(one.tokens, one.tokens[1:], strict=False):
        if token.kind == "name" and after.text == "(":
            yield token.text


def _assigned(one: Statement) -> set[str]:
    """Return the names that a statement writes as they stand: `a = 1`, `++a`, `f(&a)`."""
    found: set[str] = set()
    texts = ["", "", *(token.text for token in one.tokens), "", ""]
    for at, token in enumerate(one.tokens, 2):
        if token.kind != "name" or texts[at - 1] in (".", "->", "::"):
            continue
        after = texts[at + 1]
        written = after in ASSIGNS or texts[at - 1] in ("++", "--")
        taken = texts[at - 1] == "&" and texts[at - 2] in ("(", ",", "=", ")")
        if written or (taken and after not in (".", "->", "[")):
            found.add(token.text)
    return found


@dataclass(frozen=True, slots=True)
class Sides:
    """One function of the original and of the candidate, as far as added text depends on them.

    `fixed` are the original's statements that must stay, `moved` those that may change; `checks` is
    what the original wraps calls in, `own` what names of variables it has, `declared` where the
    candidate declares a name (by identity of the token), `functions` those of the candidate, `head`
    what stands before the body.
    """

    fixed: Sequence[Statement]
    moved: Sequence[Statement]
    checks: Set[str]
    own: Set[str]
    declared: Set[int]
    functions: Functions
    head: Set[str]

    @property
    def basis(self) -> set[str]:
        """What the fixed statements name."""
        return {name for one in self.fixed for name in one.names}

    def is_ours(self, name: str) -> bool:
        """Whether a name may be one of the check's variables."""
        if name in self.own:
            return True
        plain = name.isupper() or name in _COMMON or name in _CONTROL
        return not plain and not _LIBRARY.match(name)


def added_refusals(
    after: Sequence[Statement], added: set[int], tail: int, sides: Sides
) -> Iterator[tuple[int, str]]:
    """Yield line and text of each added statement that a transform has no need of.

    Args:
        after: the candidate's statements.
        added: which of them are not the original's.
        tail: where what follows the last communication begins.
        sides: what the original's function consists of.
    """
    moved, checks = sides.moved, sides.checks
    touches = _touching(sides)
    returned = {_arguments(one, checks) for one in moved if is_teardown(one, checks)}
    loops = _inside_added(after, added, lambda at: after[at].tokens[0].text in _LOOPS)
    bodies = _inside_added(after, added, lambda at: _is_body(after, at))
    own = _own_names(after, added, sides.declared)
    for at in sorted(added):
        one = after[at]
        first = one.tokens[0].text
        if one.text in ("{", "}", ";"):
            continue
        bad = _times(one) or touches(one, own.get(at, frozenset()))
        bad = bad or any(
            _means(after, added, reach, name, sides.declared)
            for name, reach in _declared_here(after, at, sides.declared)
        )
        bad = bad or says(one.tokens, in_check=True) or ends_well(one.tokens)
        if first == "return" and not one.names & ENDS:
            bad = bad or not (at in bodies or _fails(one, sides))
        if first in ("break", "continue", "goto"):
            bad = bad or first == "goto" or at not in loops
        if (first in _CONTROL or _heads(after, at)) and not _holds_added_only(after, added, at):
            bad = True
        if at >= tail:
            plain = is_teardown(one, checks) or _arguments(one, checks) in returned
            bad = bad or not (plain or first in _CONTROL or _waits(one, checks))
        if bad:
            yield one.line, one.shown


def _touching(sides: Sides) -> Callable[[Statement, Set[str]], bool]:
    """Return a test of whether an added statement reaches for what the check rests on.

    What the statements that may change do nothing but upload, added ones may upload too. What else
    these name may be read, and what they assign may be assigned. Elements that get memory of the
    device there (`cudaMalloc(&p[i], n)`) may get it otherwise, and those that NCCL sends or fills
    (`ncclSend(&p[i], ...)`, the same as `p + i`) may be sent or filled otherwise.
    """
    basis = {name for name in sides.basis if sides.is_ours(name)}
    written = {name for one in sides.moved for name in _assigned(one)}
    moved = [one.tokens for one in sides.moved]
    guarded = guarded_names(basis, moved, sides.functions)

    def elements(takes: Callable[[str], bool]) -> set[str]:
        calls = [one.tokens for one in sides.moved if any(map(takes, _called(one)))]
        return {element for tokens in calls for element in _elements(tokens)}

    given = elements(lambda name: name.startswith("cudaMalloc"))
    sent = elements(moves_data)

    def touches(one: Statement, own: Set[str]) -> bool:
        if _assigned(one) & (sides.basis - written - own):
            return True
        return any(
            not is_upload(one.tokens, at, sides.functions)
            if name in guarded
            else may_change(one.tokens, at, sides.functions)
            for name in (one.names & basis) - written - own
            for at in mentions(one.tokens, name)
            if _element(one.tokens, at) not in (given if name in guarded else given | sent)
        )

    return touches


def _elements(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the elements whose address is taken, such as `& p [ i ]`."""
    for at, token in enumerate(tokens):
        if token.kind == "name" and (element := _element(tokens, at)):
            yield element


def _element(tokens: Sequence[Token], at: int) -> str:
    """Return the element of a name at `at` whose address is taken; "" where that is none."""
    texts = [token.text for token in tokens[at - 1 : at + 2]] if at else []
    if texts[:1] != ["&"] or texts[2:] != ["["]:
        return ""
    depth = 0
    for end in range(at + 1, len(tokens)):
        depth += (tokens[end].text == "[") - (tokens[end].text == "]")
        if depth == 0:
            return joined(tokens[at - 1 : end + 1])
    return ""


def _heads(after: Sequence[Statement], at: int) -> bool:
    """Whether a block follows that is a statement's own: of a lambda, a class, a list."""
    follows = at + 1 < len(after) and after[at + 1].text == "{"
    return follows and not after[at].text.endswith((";", "}"))


def _declared_here(
    after: Sequence[Statement], at: int, declared: Set[int]
) -> Iterator[tuple[str, range]]:
    """Yield the names that a statement declares, and the statements after it that mean them."""
    one = after[at]
    depth = 0
    for place, token in enumerate(one.tokens):
        depth += (token.text == "(") - (token.text == ")")
        if id(token) not in declared:
            continue
        captured = one.tokens[place - 1].text in ("[", ",") and one.tokens[place + 1].text == "="
        inner = depth > 0 or (captured and "[" in one.text)
        if not inner:
            end = _end_of_block(after, at + 1)
            if at > 1 and after[at - 1].text == "{" and "enum" in after[at - 2].names:
                end = _end_of_block(after, end + 1)  # enumerators are names of the scope around
            yield token.text, range(at + 1, end)
        elif _heads(after, at) or one.tokens[0].text in _CONTROL:
            yield token.text, _block(after, at)
        else:
            yield token.text, range(at, at)  # of a lambda that ends in the statement


def _means(
    after: Sequence[Statement], added: set[int], reach: range, name: str, declared: Set[int]
) -> bool:
    """Whether the original's statements in `reach` name `name` and do not declare it themselves."""
    skip = reach.start
    for at in reach:
        one = after[at]
        if at < skip or name not in one.names:
            continue
        here = list(mentions(one.tokens, name))
        if any(id(one.tokens[i]) in declared for i in here):
            own = one.tokens[0].text in _CONTROL or _heads(after, at)
            skip = _block(after, at).stop if own else _end_of_block(after, at + 1)
        elif here and at not in added:
            return True
    return False


def _end_of_block(after: Sequence[Statement], start: int) -> int:
    depth = 0
    for at in range(start, len(after)):
        depth += (after[at].text == "{") - (after[at].text == "}")
        if depth < 0:
            return at
    return len(after)


# Words that say nothing of what is checked.
_COMMON = words(
    "int float double char bool void auto const static unsigned long short size_t std vector "
    "nullptr true false sizeof uint32_t uint64_t int32_t int64_t static_cast reinterpret_cast "
    "return printf fprintf stderr stdout data size constexpr max min"
)


def _arguments(one: Statement, checks: Set[str]) -> str:
    """Return what stands in the innermost brackets of a call, such as `p` of `CHECK(free(p));`."""
    found = re.search(r"\(([^()]*)\)[\s);]*\Z", one.text)
    called = [name for name in _called(one) if name not in checks]
    return found[1].strip() if found and len(called) == 1 and not _assigned(one) else "\0"


def _fails(one: Statement, sides: Sides) -> bool:
    """Whether a return says that something went wrong, or leaves nothing of the check out."""
    value = " ".join(t.text for t in one.tokens[1:] if t.text != ";")
    if not value:
        return not any(prints(other.names) or _times(other) for other in sides.fixed)
    return FAILURE.fullmatch(value) is not None and "bool" not in sides.head


def _is_body(after: Sequence[Statement], at: int) -> bool:
    """Whether what follows is the body of a lambda or of a class, whose returns are its own."""
    one = after[at]
    if one.tokens[0].text in _CONTROL or one.text.endswith(":") or not _heads(after, at):
        return False
    if one.tokens[0].text in ("struct", "class", "union"):
        return True
    texts = ["", *(token.text for token in one.tokens), ""]
    return any(
        word == "[" and texts[i + 1] != "[" and texts[i - 1] in _BEFORE_LAMBDA
        for i, word in enumerate(texts)
    )


def _block(after: Sequence[Statement], at: int) -> range:
    """Return the statements that the head at `at` governs."""
    start = at + 1
    if start >= len(after) or after[start].text != "{":
        end = start
        while end < len(after) and after[end].tokens[0].text in _CONTROL:
            end += 1
        return range(start, min(end + 1, len(after)))
    depth = 0
    for end in range(start, len(after)):
        depth += (after[end].text == "{") - (after[end].text == "}")
        if depth == 0:
            return range(start, end + 1)
    return range(start, len(after))


def _holds_added_only(after: Sequence[Statement], added: set[int], at: int) -> bool:
    """Whether an added head governs nothing of the original's; a brace is nobody's."""
    return all(i in added or after[i].text in ("{", "}", ";") for i in _block(after, at))


def _inside_added(
    after: Sequence[Statement], added: set[int], is_head: Callable[[int], bool]
) -> set[int]:
    return {i for at in added if is_head(at) for i in _block(after, at)}


def _own_names(
    after: Sequence[Statement], added: set[int], declared: Set[int]
) -> dict[int, frozenset[str]]:
    """Return for each added statement the names that added text has declared for it."""
    found: dict[int, frozenset[str]] = {}
    for at in added:
        for name, reach in _declared_here(after, at, declared):
            for i in (at, *reach):
                found[i] = found.get(i, frozenset()) | {name}
    return found
