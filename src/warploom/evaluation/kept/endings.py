"""What added text may not do: end the program as if all were well, or say that it is."""

import re
from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.tokens import Token, joined

ENDS = words(
    "exit _exit _Exit quick_exit abort terminate longjmp siglongjmp MPI_Finalize MPI_Abort"
)
FAILURE = re.compile(r"(?:- )?[1-9]\d*|EXIT_FAILURE")
_STATUS = re.compile(r"[A-Za-z_]\w*")
_SAYS = re.compile(r"PASS|FAIL|(?i:correct|verif|mismatch)")
_SAYS_WELL = re.compile(r"\bPASS")
_PRINTS = words(
    "printf vprintf puts fputs putchar putc fputc write fwrite cout wcout print println fprintf"
)
_ERRORS = words("stderr cerr clog")


def ends_well(tokens: Sequence[Token]) -> bool:
    """Whether a statement may end the program with a status of 0, or MPI before its time."""
    return any(
        token.kind == "name"
        and token.text in ENDS
        and not (at and tokens[at - 1].text in (".", "->"))
        and not _fails_at(tokens, at)
        for at, token in enumerate(tokens)
    )


def _fails_at(tokens: Sequence[Token], at: int) -> bool:
    name = tokens[at].text
    if at + 1 >= len(tokens) or tokens[at + 1].text != "(":
        return False
    if name in ("abort", "terminate"):
        return True
    if name in ("longjmp", "siglongjmp", "MPI_Finalize"):
        return False
    end = next((i for i in range(at, len(tokens)) if tokens[i].text == ")"), len(tokens))
    given = joined(tokens[at + 2 : end])
    if name == "MPI_Abort":  # MPI says so itself, whatever the code is
        code = given.rpartition(" , ")[2]
        return FAILURE.fullmatch(code) is not None or _STATUS.fullmatch(code) is not None
    return FAILURE.fullmatch(given) is not None


def says(tokens: Sequence[Token], *, in_check: bool) -> bool:
    """Whether a statement says what only the check may say.

    `in_check`: it stands in a function of the original. Elsewhere a text may tell of an error.
    """
    names = {token.text for token in tokens if token.kind == "name"}
    told = list(_texts(tokens))
    if any(_SAYS_WELL.search(text) for text in told):
        return True
    if names & _ERRORS:
        return any(_SAYS.search(text.replace("FAIL", "")) for text in told) and in_check
    if in_check or names & _PRINTS:
        return any(_SAYS.search(text) for text in told)
    return False


def prints(names: frozenset[str]) -> bool:
    """Whether a statement prints something."""
    return bool(names & _PRINTS)


def _texts(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the strings; those that follow each other are one."""
    text = ""
    for token in tokens:
        if token.kind == "string":
            text += token.text.partition('"')[2].removesuffix('"')
        elif text:
            yield text
            text = ""
    if text:
        yield text
