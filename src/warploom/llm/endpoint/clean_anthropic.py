"""What a call of Anthropic's Messages API may hold: fields and tools that cost tokens alone.

What is not listed is left out, so that a field that we do not know cannot add to a call's price.
"""

from typing import cast

from warploom.llm.endpoint.fields import (
    JsonObject,
    as_list,
    as_object,
    limit,
    only,
    refuse,
    with_tools,
)

_FIELDS = frozenset(
    {
        "model", "messages", "system", "max_tokens", "metadata", "stop_sequences", "stream",
        "temperature", "top_k", "top_p", "thinking", "tools", "tool_choice", "output_config",
        "output_format", "context_management", "cache_control",
    }
)  # fmt: skip
_ELSEWHERE = ("mcp_servers", "container", "inference_geo", "fallbacks")
_TOOLS = frozenset(
    {
        None, "custom", "bash_20241022", "bash_20250124", "memory_20250818",
        "text_editor_20241022", "text_editor_20250124", "text_editor_20250429",
        "text_editor_20250728", "computer_20241022", "computer_20250124", "computer_20251124",
    }
)  # fmt: skip
_EDITS = frozenset({"clear_tool_uses_20250919", "clear_thinking_20251015"})


def clean_messages(body: JsonObject) -> JsonObject:
    """Keep what costs tokens alone: no tools that the provider runs, no dearer cache.

    Raises:
        BadInputError: it needs what lies elsewhere, or its limits are no whole numbers.
    """
    refuse(body, _ELSEWHERE)
    made = as_object(_brief(only(body, _FIELDS)))
    limit(made, "max_tokens")
    limit(as_object(made.get("thinking")), "budget_tokens")
    if "context_management" in made:
        made = _clearing_only(made)
    return with_tools(made, [tool for tool in as_list(made, "tools") if _runs_outside(tool)])


def _runs_outside(tool: JsonObject) -> bool:
    """Whether the agent runs the tool itself."""
    kind = tool.get("type")
    return (kind is None or isinstance(kind, str)) and kind in _TOOLS


def _clearing_only(body: JsonObject) -> JsonObject:
    """Return the call without edits that have a model write a summary, which is billed too."""
    edits = as_list(as_object(body["context_management"]), "edits")
    kept = [edit for edit in edits if str(edit.get("type")) in _EDITS]
    rest = {name: value for name, value in body.items() if name != "context_management"}
    return {**rest, "context_management": {"edits": kept}} if kept else rest


def _brief(value: object) -> object:
    """Return a value whose marks for the cache ask for the usual time: a longer one costs more."""
    if isinstance(value, list):
        return [_brief(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    found = {name: _brief(item) for name, item in cast("JsonObject", value).items()}
    mark = found.get("cache_control")
    return {**found, "cache_control": {"type": "ephemeral"}} if isinstance(mark, dict) else found
