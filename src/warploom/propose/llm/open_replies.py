"""Reads a program of any language out of a reply."""

import re

from warploom.propose.llm.replies import MOST_BYTES, Reading, fenced_blocks
from warploom.source.any_language import Edited, has_markers, with_edits, written_anew

_EDIT = re.compile(r"^[ \t]*(?:<{5,9}[ \t]*SEARCH|>{5,9}[ \t]*REPLACE)[ \t]*\r?$", re.MULTILINE)


def read_open_reply(reply: str, base: str) -> Reading:
    """Return the program that a reply proposes in place of `base`, or what is wrong with it."""
    if not reply.strip():
        return Reading(problem="the reply is empty")
    if len(reply) > MOST_BYTES:
        return Reading(problem=f"the reply has more than {MOST_BYTES} characters")
    if _EDIT.search(reply):
        return _reading(with_edits(base, reply))
    blocks = fenced_blocks(reply)
    if any(not block.closed for block in blocks):
        return Reading(problem="the reply ends inside of a code block: it is truncated")
    diffs = [b.text for b in blocks if b.info.split(" ")[0].lower() in ("diff", "patch")]
    if diffs:
        return _reading(with_edits(base, "\n".join(diffs)))
    whole = [b.text for b in blocks if has_markers(b.text) or not has_markers(base)]
    if len(whole) == 1:
        return _reading(written_anew(base, whole[0]))
    if whole:
        return Reading(problem=f"the reply has {len(whole)} programs: reply with exactly one")
    told = "has no code" if not blocks else "has no program with its marker lines"
    return Reading(
        problem=f"the reply {told}. Reply with the complete program in one fenced block, or with "
        "SEARCH/REPLACE edits"
    )


def _reading(edited: Edited) -> Reading:
    return Reading(edited.text, edited.problem)
