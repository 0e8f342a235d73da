"""Reads fields of calls, whose values an agent may have written in any shape."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias, cast

from warploom.core.errors import BadInputError

JsonObject: TypeAlias = dict[str, Any]

_MOST_OUTPUT = 10_000_000  # tokens; no model generates as many, and larger numbers are slow
_TOO_SMALL_TO_MATTER: tuple[object, ...] = (None, False, [], "")

# Models whose calls cost more than their tokens: searches, sound and images have prices of their
# own, and research models search on their own accord.
_SEARCH_OR_SOUND = "search|online|deep-research|sonar|audio|tts|realtime|live|transcribe|lyria"
_PICTURES = "image|imagen|imagine|nano-banana|sora|veo"
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@+\[\]-]{0,199}", re.ASCII)


def as_object(value: object) -> JsonObject:
    """Return an object, or an empty one for anything else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def as_list(body: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects of a list; what is none of an object's becomes an empty one."""
    value = body.get(name)
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [as_object(item) for item in found]


def as_count(value: object) -> int | None:
    """Return a number of tokens that a provider tells, or None."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return max(0, cast("int", value)) if number else None


def limit(body: JsonObject, name: str) -> int | None:
    """Return a limit of tokens, or None where the call names none.

    Raises:
        BadInputError: it is no whole number: providers read `8.0` and "8" as numbers, or do not.
    """
    value = body.get(name)
    if value is None:
        return None
    number = as_count(value)
    if number is None:
        raise BadInputError(f"{name} must be a whole number, got {str(value)[:40]!r}")
    return min(number, _MOST_OUTPUT)


def one_reply(body: JsonObject, name: str) -> None:
    """Refuse a call that asks for several replies at once, or for a number of them in odd words."""
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value > 1):
        raise BadInputError(f"a call must ask for one reply, got {name} above 1 or no whole number")


def only(body: Mapping[str, Any], names: Collection[str]) -> JsonObject:
    """Return the fields that are known to change neither what a call costs nor what it refers to.

    Providers read a null as a field that is not there.
    """
    return {name: value for name, value in body.items() if name in names and value is not None}


def refuse(body: JsonObject, names: Iterable[str]) -> None:
    """Refuse what costs more and cannot be left out; an empty object asks for it too."""
    found = [name for name in names if body.get(name) not in _TOO_SMALL_TO_MATTER]
    if found:
        raise BadInputError(
            f"a call must cost what its own tokens usually cost, got {', '.join(found)}: "
            "what that adds cannot be known before it is sent"
        )


def with_tools(body: JsonObject, tools: list[JsonObject]) -> JsonObject:
    """Return the call with these tools; without any, a choice of tools goes too."""
    if "tools" not in body:
        return body
    if tools:
        return {**body, "tools": tools}
    none = ("tools", "tool_choice", "toolConfig", "parallel_tool_calls")
    return {name: value for name, value in body.items() if name not in none}


def checked_model(value: object, *, text_only: bool) -> str:
    """Return the name of a model; with `text_only` the call keeps it from making images.

    Raises:
        BadInputError: it is no plain name, or one whose price is not that of its tokens alone.
    """
    if not value or not isinstance(value, str) or not _MODEL.fullmatch(value) or ".." in value:
        told = f"{str(value)[:60]!r}" if value else "none"
        raise BadInputError(f"a call must name its model, got {told}")
    words = _SEARCH_OR_SOUND if text_only else f"{_SEARCH_OR_SOUND}|{_PICTURES}"
    if re.search(rf"(?:\A|[-_.:/])(?:{words})(?:\Z|[-_.:/@])", value, re.IGNORECASE):
        raise BadInputError(
            f"{value} is priced by more than tokens (searches, sound or images): "
            "what its calls cost cannot be known before they are sent"
        )
    return value
