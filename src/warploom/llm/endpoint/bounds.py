"""The most tokens that a call can have in its prompt, known before it is sent.

A byte-level tokenizer makes at most one token of each byte (llm/estimate.py). An agent's calls
repeat most of the call before them, so what a provider has counted once is used: a prompt has at
most the tokens of an earlier one, and a token for each byte that the earlier one did not have.

That holds where the earlier count was of all that is repeated. So nothing is taken from a call with
other settings (they say what an image counts), nor for thoughts and tools that a provider counts or
leaves out depending on what stands around them, where that has changed.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.llm.endpoint.fields import JsonObject, as_list, as_object

_FRAMING = 1024  # tokens that a provider adds to a call of its own accord
_PER_ITEM = 64
_PER_IMAGE = 50_000  # the most that any provider documents for one image
_REMEMBERED = 64
_MARKS = frozenset({"cache_control"})  # these move from call to call and are no text
_IMAGES = frozenset({"image", "input_image", "image_url"})
_OTHER_MEDIA = frozenset(
    {"document", "input_file", "file", "input_audio", "container_upload", "search_result"}
)
_OWN_WORDS = frozenset(
    {"tools", "functions", "args", "response", "text", "response_format", "metadata"}
)
_TALKS = ("messages", "input", "contents")
# Fields that may differ between a prompt and an earlier one: what is told apart part by part, and
# what no prompt is made of.
_NO_SETTINGS = frozenset(
    {
        *_TALKS, "tools", "functions", "system", "instructions", "systemInstruction",
        "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "stream",
        "stream_options", "metadata", "client_metadata", "user", "safety_identifier",
        "prompt_cache_key", "cache_control",
    }
)  # fmt: skip
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_THOUGHT_MARKS = ("thought", "thoughtSignature", "reasoning_content", "reasoning_details")
_TOOL_USES = frozenset({"tool_use", "tool_result"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as parts: how often each part occurs, by digest, and its bound in tokens.

    `setting` is the digest of the model and all parameters that are no parts, `fields` the field
    that a part stands in, and `talk` the parts of the conversation in order. `thoughts` are parts
    that a provider may leave out for what follows them, `deferred` tools that it leaves out until
    one of `reveals` names them. `cut`: the provider takes parts out.
    """

    setting: str
    parts: Counter[str]
    bounds: dict[str, int]
    fields: dict[str, str]
    talk: tuple[str, ...]
    thoughts: frozenset[str]
    deferred: frozenset[str]
    reveals: frozenset[str]
    cut: bool

    @property
    def bound(self) -> int:
        """The most tokens, from the bytes alone."""
        return _FRAMING + self._bytes(self.parts)

    def within(self, fields: Collection[str]) -> "Prompt":
        """Return what a count of some fields is sure to be of: not of earlier thoughts."""
        kept = {
            part: times
            for part, times in self.parts.items()
            if self.fields[part] in fields and part not in self.thoughts
        }
        return replace(self, parts=Counter(kept))

    def added(self, earlier: "Prompt") -> int:
        """Return the most tokens that this prompt can have beyond those of an earlier one."""
        fresh = self.parts - earlier.parts
        uncertain: set[str] = set()
        if self.talk[: len(earlier.talk)] != earlier.talk:
            uncertain |= self.thoughts
        if self.reveals & fresh.keys():
            uncertain |= self.deferred
        for part in uncertain:
            fresh[part] = self.parts[part]
        return self._bytes(fresh)

    def _bytes(self, parts: Counter[str]) -> int:
        return sum(self.bounds[part] * times for part, times in parts.items())


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
            if earlier.setting == prompt.setting:
                added = prompt.added(earlier)
                best = min(best, (tokens + added + _PER_ITEM, added))
        return best

    def learn(self, prompt: Prompt, tokens: int) -> None:
        """Remember the most tokens that a provider's count says that a prompt has."""
        self.counted = [*self.counted[1 - _REMEMBERED :], (prompt, tokens)]

    def learn_billed(self, prompt: Prompt, tokens: int) -> None:
        """Remember what a reply says that its prompt had, unless the provider cut it."""
        if not prompt.cut:
            self.learn(prompt, tokens)


def read_prompt(model: str, body: JsonObject) -> Prompt:
    """Split a call into parts.

    Raises:
        BadInputError: it holds what its bytes do not bound: documents, sound, or links to them.
    """
    parts: Counter[str] = Counter()
    bounds: dict[str, int] = {}
    fields: dict[str, str] = {}
    talk: list[str] = []
    marked: dict[str, set[str]] = {"thoughts": set(), "deferred": set(), "reveals": set()}
    for name, value in body.items():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        for item in values:
            plain = _without_marks(item)
            data = _text([name, plain])
            part = digest((data,))
            parts[part] += 1
            bounds[part] = len(data) + _PER_ITEM + _PER_IMAGE * sum(_media(name, plain))
            fields[part] = name
            if name in _TALKS:
                talk.append(part)
            for kind in _kinds(plain):
                marked[kind].add(part)
    thoughts, deferred, reveals = (frozenset(found) for found in marked.values())
    setting = digest((model.encode(), _text(_settings(body))))
    cut = _is_cut(body)
    return Prompt(setting, parts, bounds, fields, tuple(talk), thoughts, deferred, reveals, cut)


def _is_cut(body: JsonObject) -> bool:
    """Whether the provider edits the prompt; keeping all thoughts, as Claude Code asks, is none."""
    edits = as_list(as_object(body.get("context_management")), "edits")
    return any(
        not str(edit.get("type")).startswith("clear_thinking_") or edit.get("keep") != "all"
        for edit in edits
    )


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")


def _settings(value: JsonObject) -> JsonObject:
    """Return the parameters of a call, those of Gemini's own object too."""
    kept = {name: item for name, item in value.items() if name not in _NO_SETTINGS}
    config = kept.get("generationConfig")
    if isinstance(config, dict):
        kept["generationConfig"] = _settings(cast("JsonObject", config))
    return {name: item for name, item in kept.items() if item != {}}


def _kinds(value: Any) -> Iterator[str]:
    """Yield what of a part may be counted or not, for what stands around it."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, list):
            rest.extend(cast("list[Any]", item))
        elif isinstance(item, dict):
            found = cast("JsonObject", item)
            rest.extend(found.values())
            kind = str(found.get("type"))
            if kind in _THOUGHTS or any(found.get(mark) for mark in _THOUGHT_MARKS):
                yield "thoughts"
            if found.get("defer_loading"):
                yield "deferred"
            if "tool_" in kind and kind not in _TOOL_USES:  # a reference, or a change of tools
                yield "reveals"


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
