"""Asks a provider how many tokens a prompt has: free, and nearer than the bytes of the prompt.

Anthropic (`/v1/messages/count_tokens`), OpenAI (`/v1/responses/input_tokens`) and Gemini
(`:countTokens`) count; servers of the chat format do not. Anthropic's manual calls its count an
estimate that may differ by a small amount, so a margin is added.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from warploom.llm.endpoint.fields import JsonObject
from warploom.llm.endpoint.wires import Generate, Messages, Responses, Wire

MARGIN = 0.05
"""Share of a count that is added to it."""

_MESSAGES = ("model", "messages", "system", "tools", "tool_choice", "thinking")
_RESPONSES = (
    "model", "input", "instructions", "tools", "tool_choice", "text", "reasoning",
    "parallel_tool_calls", "truncation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Counting:
    """A request that counts a prompt; `fields` are those of the call that the count is of."""

    path: str
    body: JsonObject
    fields: Collection[str]


def count_call(wire: Wire, path: str, model: str, body: JsonObject) -> Counting | None:
    """Return the request that counts a call's prompt; None where the provider has none."""
    match wire:
        case Messages():
            return Counting("/messages/count_tokens", _only(body, _MESSAGES), _MESSAGES)
        case Responses():
            return Counting("/responses/input_tokens", _only(body, _RESPONSES), _RESPONSES)
        case Generate():
            asked = {"generateContentRequest": {"model": f"models/{model}", **body}}
            # Nothing says whether a schema within the configuration is counted.
            fields = body.keys() - {"generationConfig"}
            return Counting(f"{path.rpartition(':')[0]}:countTokens", asked, fields)
        case _:
            return None


def counted_tokens(reply: str) -> int | None:
    """Return the most tokens that a reply to `count_call` leaves room for; None if it has none."""
    try:
        value: object = json.loads(reply)
    except ValueError:
        return None
    found = cast("JsonObject", value) if isinstance(value, dict) else {}
    for name in ("input_tokens", "totalTokens"):
        tokens = found.get(name)
        if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0:
            return int(tokens * (1 + MARGIN)) + 1
    return None


def _only(body: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: body[name] for name in names if name in body}
