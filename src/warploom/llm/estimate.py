"""The most that a call can use, known before it is sent.

A byte-level tokenizer makes at most one token of each UTF-8 byte, so the bytes of a prompt bound
its tokens for any provider; real code takes about a third. A provider wraps each message and tool
in tokens of its own: `_FRAMING` and `_PER_ITEM` are generous for those that document it (Anthropic:
313 to 346 tokens for tool use).
"""

import json

from warploom.llm.ledger import Estimate
from warploom.llm.prices import Prices
from warploom.llm.transport import Delivery, Exchange, Repair, Results, Said, Turn

_FRAMING = 512
_PER_ITEM = 32


def prompt_bound(exchange: Exchange) -> int:
    """Return a bound of the tokens of all that an exchange sends."""
    texts = [exchange.system, *(_text(turn) for turn in exchange.turns)]
    if exchange.output is not None:
        texts.append(json.dumps(exchange.output.model_json_schema()))
    texts += [
        tool.name + tool.description + json.dumps(tool.arguments.model_json_schema())
        for tool in exchange.tools
    ]
    return _FRAMING + sum(_PER_ITEM + len(text.encode()) for text in texts)


def estimate_call(exchange: Exchange, model: str, prices: Prices) -> Estimate:
    """Return the most tokens and dollars that the call can use."""
    prompt = prompt_bound(exchange)
    return Estimate(
        tokens=prompt + exchange.max_output_tokens,
        dollars=prices.bound(model, prompt, exchange.max_output_tokens),
    )


def _text(turn: Turn) -> str:
    match turn:
        case Said(text) | Repair(text):
            return text
        case Results(results):
            return "".join(item.id + item.name + item.text for item in results)
        case Delivery():
            return json.dumps(turn.raw) + turn.text + (turn.output or "")
