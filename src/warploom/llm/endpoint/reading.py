"""Reads an agent's HTTP request: nothing odd in it may reach a provider, or a counter of money."""

import json
import re
from email.message import Message
from typing import NoReturn, cast
from urllib.parse import parse_qsl, urlencode

from warploom.core.errors import BadInputError
from warploom.llm.endpoint.fields import JsonObject

_DEPTH = 200  # of nested JSON; schemas of tools have 20
_PASSED_ON = ("accept", "anthropic-version", "user-agent")
_QUERY = frozenset({"alt", "beta"})  # the words of a query that agents use
_PLAIN = re.compile(r"[\x20-\x7e]{1,1000}")
_WORD = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LENGTH = re.compile(r"[0-9]{1,12}", re.ASCII)
_LONE = re.compile("[\ud800-\udfff]")
_DEARER = (
    "fast-mode", "mcp-client", "code-execution", "files-api", "skills", "compact", "web-",
    "server-side-fallback", "advisor",
)  # fmt: skip


def read_object(body: bytes) -> JsonObject:
    """Read a body; halves of characters, which agents in JavaScript send, become U+FFFD.

    Raises:
        BadInputError: it is no JSON object, or cannot be written as JSON again.
    """
    try:
        value: object = json.loads(body.decode(), parse_constant=_no_number)
        _check_depth(value)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if _LONE.search(text):
            value = json.loads(_LONE.sub("\ufffd", text))
    except (ValueError, RecursionError):
        raise BadInputError(f"the body must be JSON, at most {_DEPTH} deep") from None
    if not isinstance(value, dict):
        raise BadInputError("the body must be a JSON object")
    return cast("JsonObject", value)


def written(body: JsonObject) -> bytes:
    """Return the bytes of a body."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def read_length(headers: Message) -> int | None:
    """Return the length of a body, or None where it is not told once, and plainly."""
    told = headers.get_all("content-length") or ["0"]
    if headers.get("transfer-encoding") or headers.get("content-encoding"):
        return None
    return int(told[0]) if len(told) == 1 and _LENGTH.fullmatch(told[0].strip()) else None


def shown_key(headers: Message, query: str) -> str:
    """Return the key that a request shows, wherever a provider's SDK puts it."""
    bearer = (headers.get("authorization") or "").removeprefix("Bearer ").strip()
    named = (headers.get(name) or "" for name in ("x-api-key", "x-goog-api-key", "api-key"))
    return next((key for key in (*named, bearer, dict(parse_qsl(query)).get("key", "")) if key), "")


def passed_query(query: str) -> str:
    """Return what of a query goes on, with its question mark."""
    kept = [(name, value) for name, value in parse_qsl(query) if name in _QUERY]
    return f"?{urlencode(kept)}" if kept else ""


def passed_on(headers: Message) -> dict[str, str]:
    """Return the headers that the provider gets: plain ones, and no features that cost more."""
    made = {"content-type": "application/json"}
    for name in _PASSED_ON:
        value = headers.get(name) or ""
        if _PLAIN.fullmatch(value):
            made[name] = value
    betas = [word.strip() for word in (headers.get("anthropic-beta") or "").split(",")]
    plain = [word for word in betas if _WORD.fullmatch(word)]
    usual = [word for word in plain if not word.lower().startswith(_DEARER)]
    return {**made, "anthropic-beta": ",".join(usual)} if usual else made


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


def _check_depth(value: object) -> None:
    """Raise where a value is too deep for what walks through it later."""
    level = [value]
    for _ in range(_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(cast("JsonObject", item).values())
            elif isinstance(item, list):
                below.extend(cast("list[object]", item))
        if not below:
            return
        level = below
    raise RecursionError
