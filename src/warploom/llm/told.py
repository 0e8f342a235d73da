"""What commands that ask a model print of its cost and tokens, as JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from warploom.llm.records import Usage


@dataclass(frozen=True, slots=True)
class ToldReply:
    """A reply in JSON: its text, and dollars and tokens where it tells them.

    `failed` says that the command itself calls it an error.
    """

    text: str
    dollars: float | None
    usage: Usage | None
    failed: bool = False


def read_told(printed: str) -> ToldReply | None:
    """Read what `claude -p --output-format json` prints, or None where it is something else.

    That is one object of the type `result`; with `--verbose` a list that ends with it, and with
    `stream-json` one object on each line.
    """
    found = next((item for item in _objects(printed) if item.get("type") == "result"), None)
    if found is None:
        return None
    dollars = found.get("total_cost_usd")
    text = found.get("result")
    return ToldReply(
        text if isinstance(text, str) else "",
        float(dollars) if isinstance(dollars, int | float) else None,
        _usage(found.get("usage")),
        bool(found.get("is_error")),
    )


def told_cost(printed: str) -> float | None:
    """Return the dollars that a command tells, or None where it tells none."""
    told = read_told(printed)
    return None if told is None else told.dollars


def _objects(printed: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, the last first."""
    for text in (printed, *reversed(printed.splitlines())):
        if not text.lstrip().startswith(("{", "[")):
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for item in reversed(cast("list[object]", value) if isinstance(value, list) else [value]):
            if isinstance(item, dict):
                yield cast("dict[str, Any]", item)


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    told = cast("dict[str, object]", value)
    names = (
        "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    )  # fmt: skip
    plain, output, cached, written = (_count(told.get(name)) for name in names)
    return Usage(plain + cached + written, output, cached, written)


def _count(value: object) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return max(0, cast("int", value)) if whole else 0
