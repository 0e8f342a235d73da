"""Reads a program out of a reply, or says what is wrong with it in words its author can act on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.source.patches import PatchResult, apply_diff_patch, apply_full_patch
from warploom.source.regions import Program

MOST_BYTES = 2 << 20
"""A reply longer than this is refused unread."""

_MOST_GROWTH = 256 << 10  # bytes by which a program may grow

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*)$")
_EDIT = re.compile(r"^[ \t]*(?:<{5,9}[ \t]*SEARCH|>{5,9}[ \t]*REPLACE)[ \t]*\r?$", re.MULTILINE)
_HUNK = re.compile(r"^@@.*@@", re.MULTILINE)
_CODE = re.compile(r"^[ \t]*(?:#[ \t]*include|//|/\*|__global__|template|using |int main)")
_MAIN = re.compile(r"\bmain\s*\(")
_CUDA_WORDS = ("", "c", "c++", "cc", "cpp", "cu", "cuda", "cuda-cpp", "cuda-c++", "cxx")
_FILE_NAME = re.compile(
    r"[\w./-]+\.(?:cu|cuh|h|hpp|hh|cpp|cc|c|py|sh|txt|toml|cmake)\b|\bMakefile\b"
)
_ELLIPSIS = re.compile(
    r"^[ \t]*(?://|/\*)[ \t]*(?:\.{3}|…)[^\n]*$|"
    r"^[ \t]*(?://|/\*)[^\n]*\b(?:rest|remainder|remaining|other|existing|original|previous)\b"
    r"[^\n]*\b(?:unchanged|same|omitted|here|as before|goes here|stays)\b[^\n]*(?:\.{3}|…)?[^\n]*$",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply holds: a program, or a `problem` to tell its author; `notes` for readers."""

    text: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block: what its first line says after the fence, the line before it, its text."""

    info: str
    before: str
    text: str
    closed: bool


def read_reply(reply: str, base: Program, *, free: bool) -> Reading:
    """Return the program that a reply proposes.

    Args:
        reply: what the model said.
        base: the program that it was shown last; edits are made in this one.
        free: whether a program without mutable regions may be changed everywhere.
    """
    if not reply.strip():
        return Reading(problem="the reply is empty")
    try:
        size = len(reply.encode())
    except UnicodeEncodeError:
        return Reading(problem="the reply is no text: it holds half a character")
    if size > MOST_BYTES:
        return Reading(problem=f"the reply has {size} bytes, and at most {MOST_BYTES} are read")
    if _EDIT.search(reply):
        return _patched(apply_diff_patch(base, reply, free=free))
    blocks = fenced_blocks(reply)
    if any(not block.closed for block in blocks):
        return Reading(
            problem="the reply ends inside of a code block: it is truncated. Reply with "
            "SEARCH/REPLACE edits, or with less text around the program"
        )
    diffs = [b for b in blocks if b.info.split(" ")[0].lower() in ("diff", "patch")]
    if diffs or (_HUNK.search(reply) and not any(_MAIN.search(b.text) for b in blocks)):
        text = "\n".join(b.text for b in diffs) if diffs else reply
        return _patched(apply_diff_patch(base, text, free=free))
    return _whole(reply, blocks, base, free=free)


def _patched(result: PatchResult) -> Reading:
    if result.applied:
        return Reading(result.text, notes=result.notes)
    return Reading(problem=result.error)


def fenced_blocks(reply: str) -> list[FencedBlock]:
    """Return the fenced blocks of a reply in order."""
    found: list[FencedBlock] = []
    opened: tuple[str, str, str] | None = None  # fence, info, line before
    inside: list[str] = []
    before = ""
    for raw in reply.split("\n"):
        line = raw.removesuffix("\r")
        match = _FENCE.match(line)
        if opened is None:
            if match:
                opened, inside = (match[1], match[2].strip(), before), []
            elif line.strip():
                before = line.strip()
        elif match and match[1].startswith(opened[0]) and not match[2]:
            found.append(FencedBlock(opened[1], opened[2], "\n".join(inside) + "\n", closed=True))
            opened, before = None, ""
        else:
            inside.append(line)
    if opened is not None:
        found.append(FencedBlock(opened[1], opened[2], "\n".join(inside), closed=False))
    return found


def _whole(reply: str, blocks: Sequence[FencedBlock], base: Program, *, free: bool) -> Reading:
    code = [b for b in blocks if re.split(r"[ :{,]", b.info, maxsplit=1)[0].lower() in _CUDA_WORDS]
    programs = [b for b in code if _is_program(b.text, base)]
    others = [b for b in blocks if b not in programs and _names_a_file(b)]
    if programs and others:
        name = _FILE_NAME.search(f"{others[0].info} {others[0].before}")
        shown = name[0] if name else "one"
        return Reading(
            problem=f"the reply has other files ({shown}): only the program can be changed; put "
            "everything into it"
        )
    if len(programs) > 1:
        return Reading(
            problem=f"the reply has {len(programs)} whole programs: reply with exactly one"
        )
    if programs:
        return _accepted(programs[0].text, base, free=free)
    if not blocks and _CODE.match(reply.lstrip()) and _is_program(reply, base):
        return _accepted(reply, base, free=free)
    if code:
        return Reading(
            problem="the code in the reply is no whole program"
            + (" (it has no main)" if _MAIN.search(base.text) else "")
            + ". Reply with the complete program in one ```cuda block, or with SEARCH/REPLACE edits"
        )
    return Reading(
        problem="the reply has no code: it is prose. Reply with the complete program in one "
        "```cuda block, or with SEARCH/REPLACE edits"
    )


def _is_program(text: str, base: Program) -> bool:
    if base.regions and "EVOLVE-BLOCK-START" in text:
        return True
    return bool(_MAIN.search(text)) or not _MAIN.search(base.text)


def _names_a_file(block: FencedBlock) -> bool:
    first = block.text.lstrip().split("\n", 1)[0]
    told = first if first.startswith(("//", "#")) and "include" not in first else ""
    return bool(_FILE_NAME.search(f"{block.info} {block.before[-80:]} {told}"))


def _accepted(text: str, base: Program, *, free: bool) -> Reading:
    size, most = len(text.encode()), len(base.text) + _MOST_GROWTH
    if size > most:
        return Reading(problem=f"the program has {size} bytes, and {most} are the most")
    elided = _elision(text, base.text)
    if elided is not None:
        line, said = elided
        return Reading(
            problem=f"the program is abbreviated at its line {line} ({said}): write every line of "
            "it, or reply with SEARCH/REPLACE edits"
        )
    result = apply_full_patch(base, text, free=free)
    if not result.applied:
        return Reading(problem=result.error)
    if result.text.split() == base.text.split():
        return Reading(problem="the program is the one that you were given, unchanged")
    return Reading(result.text, notes=result.notes)


def _elision(text: str, known: str) -> tuple[int, str] | None:
    for match in _ELLIPSIS.finditer(text):
        if match[0].strip() not in known:
            return text.count("\n", 0, match.start()) + 1, match[0].strip()[:60]
    return None
