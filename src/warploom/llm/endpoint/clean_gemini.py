"""What a call of Gemini's generateContent may hold: fields and tools that cost tokens alone.

Google's servers take each field by two names, `maxOutputTokens` and `max_output_tokens`: a call is
written with the first ones before anything is read.
"""

import re
from typing import cast

from warploom.core.errors import BadInputError
from warploom.llm.endpoint.fields import (
    JsonObject,
    as_list,
    as_object,
    limit,
    one_reply,
    only,
    refuse,
    with_tools,
)

_FIELDS = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"}
)
_CONFIG = frozenset(
    {
        "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema",
        "_responseJsonSchema", "maxOutputTokens", "temperature", "topP", "topK", "seed",
        "presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs", "thinkingConfig",
        "mediaResolution",
    }
)  # fmt: skip
_THINKING = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
_PARTS = frozenset(
    {
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "thought",
        "thoughtSignature", "mediaResolution",
    }
)  # fmt: skip
_TOOLS = frozenset({"functionDeclarations"})
# Below these are words of the agent's own, whose names mean what it says.
_OWN_WORDS = frozenset(
    {
        "args", "response", "parameters", "parametersJsonSchema", "responseSchema",
        "responseJsonSchema", "_responseJsonSchema",
    }
)  # fmt: skip
_SNAKE = re.compile(r"(?<=[A-Za-z0-9])_([A-Za-z0-9])")


def clean_generate(body: JsonObject) -> JsonObject:
    """Keep what costs tokens alone: one reply in text, and the agent's own functions.

    Raises:
        BadInputError: it needs what lies elsewhere, names a field twice, or its limits are no whole
            numbers.
    """
    named = as_object(_camel(body))
    refuse(named, ("cachedContent",))
    made = only(named, _FIELDS)
    config = as_object(made.get("generationConfig"))
    one_reply(config, "candidateCount")
    kinds = config.get("responseModalities")
    if kinds not in (None, []) and kinds != ["TEXT"]:
        raise BadInputError("a call must ask for a reply in text, got other responseModalities")
    made["generationConfig"] = _clean_config(config)
    if "toolConfig" in made:
        made["toolConfig"] = only(as_object(made["toolConfig"]), {"functionCallingConfig"})
    if "systemInstruction" in made:
        made["systemInstruction"] = _clean_content(as_object(made["systemInstruction"]))
    if "contents" in made:
        made["contents"] = [_clean_content(item) for item in _contents(made["contents"])]
    tools = [only(tool, _TOOLS) for tool in as_list(made, "tools")]
    return with_tools(made, [tool for tool in tools if tool])


def _clean_config(config: JsonObject) -> JsonObject:
    made = only(config, _CONFIG)
    limit(made, "maxOutputTokens")
    if "thinkingConfig" in made:
        made["thinkingConfig"] = only(as_object(made["thinkingConfig"]), _THINKING)
    # Models that make images, which OpenCode chooses by itself, would make them without this word.
    return {**made, "responseModalities": ["TEXT"]}


def _contents(value: object) -> list[JsonObject]:
    """Return the contents: Google's servers take one for a list of one."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [as_object(item) for item in items]


def _clean_content(content: JsonObject) -> JsonObject:
    """Return a content whose parts hold what we know: text, images, calls and their answers."""
    parts = content.get("parts")
    if parts is None:
        return content
    return {**content, "parts": [only(part, _PARTS) for part in _contents(parts)]}


def _camel(value: object) -> object:
    """Return a value whose fields have Google's first names.

    Raises:
        BadInputError: a field is named twice: which of the two counts is the server's choice.
    """
    if isinstance(value, list):
        return [_camel(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    made: JsonObject = {}
    for name, item in cast("JsonObject", value).items():
        usual = _SNAKE.sub(lambda found: found[1].upper(), name)
        if usual in made:
            raise BadInputError(f"a call must name each field once, got {usual} twice")
        made[usual] = item if usual in _OWN_WORDS else _camel(item)
    return made
