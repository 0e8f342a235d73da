"""Finds, in what an agent printed, the line that says what went wrong."""

import json
import re
from typing import cast

NOTHING = "it said nothing"
"""What stands for a message where there is none."""

_LONGEST = 500
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]")
_WRONG = re.compile(
    r"\berror\b|\w+Error\b|\bfatal\b|\bfailed\b|\bfailure\b|\bcannot\b|\bcan't\b|\bdenied\b|"
    r"\bunauthorized\b|\bforbidden\b|\binvalid\b|\bnot found\b|\bno such\b|\bexpired\b|"
    r"\bplease (?:log|sign|run|set)\b|\bnot logged in\b|\bpanicked\b|\bexceeded\b|\brefused\b|"
    r"\bE[A-Z]{3,}:|\b(?:401|403|404|429|5\d\d)\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\bwarn(?:ing)?\b|\bdeprecat|\b0 errors?\b|\bno errors?\b|\bdebug\b|\binfo\b", re.IGNORECASE
)
_TOLD_AS = ("error", "message", "result", "detail", "reason")


def first_complaint(*texts: str) -> str:
    """Return the first line that tells of an error, or else the last one that was printed.

    Escape sequences of terminals are taken out; of a line that is JSON, its message is taken.
    Texts are searched in order: what went to standard error first.
    """
    last = ""
    for text in texts:
        lines = [line for raw in text.splitlines() if (line := _plain(raw))]
        for line in lines:
            if _WRONG.search(line) and not _HARMLESS.search(line):
                return line[:_LONGEST]
        last = last or (lines[-1] if lines else "")
    return last[:_LONGEST] or NOTHING


def _plain(line: str) -> str:
    text = _ESCAPES.sub("", line).strip()
    if text.startswith("{"):
        try:
            said = _message(json.loads(text))
        except (ValueError, RecursionError):
            return text
        return " ".join(said.split())
    return text


def _message(data: object) -> str:
    """Return the message within JSON, however deep; "" where it is no message of an error."""
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return ""
    items = cast("dict[str, object]", data)
    if items.get("is_error") is False:
        return ""
    for name in _TOLD_AS:
        found = _message(items.get(name))
        if found:
            kind = items.get("type")
            told = isinstance(kind, str) and "error" in kind.lower() and not _WRONG.search(found)
            return f"error: {found}" if told or name == "error" else found
    return ""
