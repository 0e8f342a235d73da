"""What was sent, for people (`prompt.md`) and for machines (`sent` in `call.json`)."""

from warploom.core.records import Json, to_json
from warploom.llm.records import LLMRequest
from warploom.llm.transport import Delivery, Exchange, Repair, Results, Said


def prompt_text(exchange: Exchange) -> str:
    """Return the whole conversation that a call sends, as Markdown."""
    parts = [f"# system\n\n{exchange.system}"]
    for turn in exchange.turns:
        match turn:
            case Said(text):
                parts.append(f"# prompt\n\n{text}")
            case Repair(text):
                parts.append(f"# not accepted\n\n{text}")
            case Results(results):
                parts += [f"# tool result: {item.name}\n\n{item.text}" for item in results]
            case Delivery():
                parts.append(f"# reply\n\n{turn.text or turn.output or ''}")
                parts += [f"# tool call: {c.name}\n\n{c.arguments}" for c in turn.tool_calls]
    return "\n\n".join(parts) + "\n"


def sent_json(request: LLMRequest, exchange: Exchange) -> Json:
    """Return all that a call sends but earlier replies, which have records of their own."""
    turns: list[Json] = [
        {"kind": type(turn).__name__, "value": to_json(turn)}
        for turn in exchange.turns
        if not isinstance(turn, Delivery)
    ]
    return {
        "system": exchange.system,
        "turns": turns,
        "max_output_tokens": exchange.max_output_tokens,
        "output": None if exchange.output is None else exchange.output.model_json_schema(),
        "tools": [tool.name for tool in exchange.tools],
        "model": request.model,
        "stream": exchange.stream,
        "cache": exchange.cache,
    }
