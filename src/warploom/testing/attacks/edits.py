"""Programs as edits of other programs: exact replacements, and unified diffs."""

import re
from collections.abc import Sequence

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


class EditError(Exception):
    """An edit does not fit the text that it was written for."""


def replace(text: str, *pairs: tuple[str, str]) -> str:
    """Replace each first part, which must be there exactly once, by its second."""
    for old, new in pairs:
        if text.count(old) != 1:
            raise EditError(f"must be there once, is there {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    return text


def before(text: str, mark: str, new: str) -> str:
    """Insert `new` before the only place where `mark` is."""
    return replace(text, (mark, new + mark))


def after(text: str, mark: str, new: str) -> str:
    """Insert `new` after the only place where `mark` is."""
    return replace(text, (mark, mark + new))


def base_of(diff: str) -> str:
    """Return the file that a unified diff was made from."""
    first = diff.split("\n", 1)[0]
    if not first.startswith("--- "):
        raise EditError(f"a diff begins with `--- FILE`, got {first!r}")
    return first[4:].split("\t")[0].strip()


def patched(text: str, diff: str) -> str:
    """Apply a unified diff; a hunk may have moved, but its lines must be there once."""
    lines = text.split("\n")
    moved = 0
    for start, old, new in _hunks(diff.split("\n")[2:]):
        at = _find(lines, old, start - 1 + moved)
        lines[at : at + len(old)] = new
        moved = at + len(new) - len(old) - (start - 1)
    return "\n".join(lines)


def _hunks(lines: Sequence[str]) -> list[tuple[int, list[str], list[str]]]:
    hunks: list[tuple[int, list[str], list[str]]] = []
    for line in lines:
        head = _HUNK.match(line)
        if head:
            hunks.append((int(head.group(1)), [], []))
        elif hunks and line[:1] in (" ", "-", "+"):
            _, old, new = hunks[-1]
            if line[0] != "+":
                old.append(line[1:])
            if line[0] != "-":
                new.append(line[1:])
    return hunks


def _find(lines: Sequence[str], wanted: Sequence[str], near: int) -> int:
    def fits(at: int) -> bool:
        return list(lines[at : at + len(wanted)]) == wanted

    if fits(near):
        return near
    places = [at for at in range(len(lines)) if fits(at)]
    if len(places) != 1:
        raise EditError(f"{len(places)} places for a hunk that begins with {wanted[:2]}")
    return places[0]
