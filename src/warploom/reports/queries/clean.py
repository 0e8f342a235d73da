"""Text of anybody, made fit for JSON, XML and HTML: valid Unicode and no control characters.

Nor what turns the direction of text: a page would show something else than was said.
"""

import re
from collections.abc import Mapping

from warploom.core.records import Json

# What XML 1.0 cannot hold at all, lone surrogates included; and marks of direction.
_ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def clean(text: str) -> str:
    """Return `text` with a replacement character where there is what no document may hold."""
    return text if text.isascii() and text.isprintable() else _ODD.sub("\ufffd", text)


def cleaned(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return a JSON object with all of its texts cleaned."""
    return {clean(key): _cleaned(item) for key, item in value.items()}


def _cleaned(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return cleaned(value)
    return [_cleaned(item) for item in value] if isinstance(value, list) else value
