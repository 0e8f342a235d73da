"""Asks a provider how many tokens a prompt has: free, and nearer than the bytes of the prompt.

Anthropic (`/v1/messages/count_tokens`), OpenAI (`/v1/responses/input_tokens`) and Gemini
(`:countTokens`) count; servers of the chat format do not. Anthropic's manual calls its count an
estimate that may differ by a small amount, so a margin is added.
"""

import json
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


def count_call(
    wire: Wire, path: str, model: str, body: JsonObject
) -> tuple[str, JsonObject] | None:
    """Return path and body of the request that counts a call's prompt; None where none does."""
    match wire:
        case Messages():
            return "/messages/count_tokens", _only(body, _MESSAGES)
        case Responses():
            return "/responses/input_tokens", _only(body, _RESPONSES)
        case Generate():
            asked = {"generateContentRequest": {"model": f"models/{model}", **body}}
            return f"{path.rpartition(':')[0]}:countTokens", asked
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
