"""The most tokens that a call can have in its prompt, known before it is sent.

A byte-level tokenizer makes at most one token of each byte (llm/estimate.py). An agent's calls
repeat most of the call before them, so what a provider has counted once is used: a prompt has at
most the tokens of an earlier one, and a token for each byte that the earlier one did not have.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.llm.endpoint.fields import JsonObject

_FRAMING = 1024  # tokens that a provider adds to a call of its own accord
_PER_ITEM = 64
_PER_IMAGE = 50_000  # the most that any provider documents for one image
_REMEMBERED = 64
_MARKS = frozenset({"cache_control"})  # these move from call to call and are no text
_IMAGES = frozenset({"image", "input_image", "image_url"})
_OTHER_MEDIA = frozenset(
    {"document", "input_file", "file", "input_audio", "container_upload", "search_result"}
)
_OWN_WORDS = frozenset({"tools", "args", "response", "text", "response_format", "metadata"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as parts: how often each part occurs, by digest, and its bound in tokens."""

    model: str
    parts: Counter[str]
    bounds: dict[str, int]

    @property
    def bound(self) -> int:
        """The most tokens, from the bytes alone."""
        return _FRAMING + sum(self.bounds[part] * times for part, times in self.parts.items())


@dataclass(slots=True)
class Learned:
    """What providers have counted in this run."""

    counted: list[tuple[Prompt, int]] = field(default_factory=list[tuple[Prompt, int]])

    def bound(self, prompt: Prompt) -> int:
        """Return the most tokens of a prompt, from its bytes and from earlier counts."""
        return self._bound(prompt)[0]

    def uncounted(self, prompt: Prompt) -> int:
        """Return how many tokens of the bound are bytes that no provider has counted."""
        return self._bound(prompt)[1]

    def _bound(self, prompt: Prompt) -> tuple[int, int]:
        best = prompt.bound, prompt.bound
        for earlier, tokens in self.counted:
            if earlier.model == prompt.model:
                fresh = prompt.parts - earlier.parts
                added = sum(prompt.bounds[part] * times for part, times in fresh.items())
                best = min(best, (tokens + added + _PER_ITEM, added))
        return best

    def learn(self, prompt: Prompt, tokens: int) -> None:
        """Remember the most tokens that a provider's count says that a prompt has."""
        self.counted = [*self.counted[1 - _REMEMBERED :], (prompt, tokens)]


def read_prompt(model: str, body: JsonObject) -> Prompt:
    """Split a call into parts.

    Raises:
        BadInputError: it holds what its bytes do not bound: documents, sound, or links to them.
    """
    parts: Counter[str] = Counter()
    bounds: dict[str, int] = {}
    for name, value in body.items():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        for item in values:
            plain = _without_marks(item)
            text = json.dumps([name, plain], ensure_ascii=False, sort_keys=True)
            data = text.encode("utf-8", "surrogatepass")
            part = digest((data,))
            parts[part] += 1
            bounds[part] = len(data) + _PER_ITEM + _PER_IMAGE * sum(_media(name, plain))
    return Prompt(model, parts, bounds)


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        found = cast("JsonObject", value)
        return {name: _without_marks(item) for name, item in found.items() if name not in _MARKS}
    if isinstance(value, list):
        return [_without_marks(item) for item in cast("list[Any]", value)]
    return value


def _media(name: str, value: Any) -> Iterator[int]:
    """Yield 1 for each image below a value; refuse other media.

    Definitions of tools and what the model calls them with are the agent's own words.
    """
    if name in _OWN_WORDS:
        return
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _media("", item)
    if not isinstance(value, dict):
        return
    found = cast("JsonObject", value)
    kind = str(found.get("type"))
    inline = found.get("inlineData") or found.get("inline_data")
    if kind in _IMAGES or (isinstance(inline, dict) and _is_image(cast("JsonObject", inline))):
        yield 1
    elif kind in _OTHER_MEDIA or inline or found.get("fileData") or found.get("file_data"):
        raise BadInputError(
            f"a call must hold text and images only, got {kind if kind != 'None' else 'a file'}: "
            "what else it costs cannot be known before it is sent"
        )
    elif kind != "tool_use":
        for below, item in found.items():
            yield from _media(below, item)


def _is_image(inline: JsonObject) -> bool:
    kind = inline.get("mimeType") or inline.get("mime_type")
    return str(kind).startswith("image/")
