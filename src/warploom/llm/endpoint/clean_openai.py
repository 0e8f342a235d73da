"""What calls of OpenAI's two APIs may hold: fields, items and tools that cost tokens alone.

What is not listed is left out, so that a field that we do not know cannot add to a call's price.
"""

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

_BOTH = frozenset(
    {
        "model", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options",
        "temperature", "top_p", "top_logprobs", "user", "safety_identifier", "prompt_cache_key",
    }
)  # fmt: skip
_RESPONSES = _BOTH | {
    "input", "instructions", "reasoning", "include", "text", "max_output_tokens",
    "max_tool_calls", "metadata", "client_metadata",
}  # fmt: skip
# The second row is for servers of one's own, which speak this format.
_CHAT = _BOTH | {
    "messages", "max_tokens", "max_completion_tokens", "stop", "seed", "response_format",
    "reasoning_effort", "verbosity", "presence_penalty", "frequency_penalty", "logit_bias",
    "logprobs", "functions", "function_call",
    "top_k", "min_p", "repetition_penalty", "reasoning", "thinking", "enable_thinking",
    "chat_template_kwargs",
}  # fmt: skip
_KEPT_THERE = ("previous_response_id", "conversation", "prompt", "background")
_DEARER_CHAT = ("web_search_options", "audio", "plugins")
_REASONING = frozenset({"effort", "summary", "generate_summary", "context"})
# Items of an input that say themselves what they hold; others name what the provider keeps.
_ITEMS = frozenset(
    {
        "message", "agent_message", "reasoning", "function_call", "function_call_output",
        "custom_tool_call", "custom_tool_call_output", "local_shell_call",
        "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
        "apply_patch_call_output", "tool_search_call", "tool_search_output", "web_search_call",
        "additional_tools", "compaction", "compaction_summary", "context_compaction",
    }
)  # fmt: skip
_USUAL_TIER = "default"  # without a word a call gets the tier of the user's project


def clean_responses(body: JsonObject) -> JsonObject:
    """Keep what costs tokens alone: no tools that the provider runs, nothing that it keeps.

    Raises:
        BadInputError: it needs what lies elsewhere, or its limits are no whole numbers.
    """
    refuse(body, _KEPT_THERE)
    made = only(body, _RESPONSES)
    limit(made, "max_output_tokens")
    if isinstance(made.get("input"), list):
        made["input"] = [_item(item) for item in as_list(made, "input")]
    if "reasoning" in made:
        made["reasoning"] = only(as_object(made["reasoning"]), _REASONING)
    # What is not stored cannot be referred to by a later call.
    made |= {"store": False, "service_tier": _USUAL_TIER}
    return with_tools(made, _own_tools(made))


def clean_chat(body: JsonObject) -> JsonObject:
    """Keep what costs tokens alone: one reply, in text, with no tools that the provider runs.

    Raises:
        BadInputError: it needs more than that, or its limits are no whole numbers.
    """
    refuse(body, _DEARER_CHAT)
    one_reply(body, "n")
    made = only(body, _CHAT)
    for name in ("max_tokens", "max_completion_tokens"):
        limit(made, name)
    for message in as_list(made, "messages"):
        refuse(message, ("audio",))  # an earlier reply in sound, which the provider keeps
    made["service_tier"] = _USUAL_TIER
    return with_tools(made, _own_tools(made))


def _own_tools(body: JsonObject) -> list[JsonObject]:
    """Return the tools that the agent runs itself, those within a namespace too."""
    kept = (_own_tool(tool) for tool in as_list(body, "tools"))
    return [tool for tool in kept if tool is not None]


def _own_tool(tool: JsonObject) -> JsonObject | None:
    match tool.get("type"):
        case "function" | "custom" | "local_shell" | "apply_patch":
            return tool
        case "shell" if as_object(tool.get("environment")).get("type", "local") == "local":
            return {**tool, "environment": {"type": "local"}}
        case "tool_search" if tool.get("execution") == "client":
            return tool
        case "namespace" if own := _own_tools(tool):
            return {**tool, "tools": own}
        case _:
            return None


def _item(item: JsonObject) -> JsonObject:
    """Return an item of an input; tools that it brings along are the agent's own.

    Raises:
        BadInputError: it refers to what the provider keeps.
    """
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    if not isinstance(kind, str) or kind not in _ITEMS:
        raise BadInputError(
            f"a call must hold what it asks about, got an item of the type {str(kind)[:40]!r}: "
            "what that adds cannot be known before it is sent"
        )
    if kind == "reasoning" and not item.get("encrypted_content"):  # an id asks for it as kept
        item = {name: value for name, value in item.items() if name != "id"}
    return {**item, "tools": _own_tools(item)} if "tools" in item else item
