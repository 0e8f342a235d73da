"""Anthropic's wire format: `POST /v1/messages`."""

from collections.abc import Iterator

from warploom.testing.wire import Answer, Asked, JsonObject, Part, Status, pieces

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages:
    """`POST .../messages`."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for server-sent events."""
        return bool(asked.body.get("stream"))

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply that is not streamed."""
        return self._message(answer, [_block(part) for part in answer.parts], _stop(answer))

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        """Yield the events of a message."""
        for name, data in self._events(answer):
            yield name, {"type": name, **data}

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error; the same within a stream."""
        kind = status.kind or _KINDS.get(status.code, "api_error")
        error = {"type": kind, "message": status.message}
        return {"type": "error", "error": error, "request_id": "req_loopback"}

    def _events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        yield "message_start", {"message": self._message(answer, [], None)}
        yield "ping", {}
        for index, part in enumerate(answer.parts):
            at = {"index": index}
            yield "content_block_start", {**at, "content_block": _empty(part)}
            for piece in pieces(part.arguments if part.name else part.text):
                kind = ("input_json_delta", "partial_json") if part.name else ("text_delta", "text")
                yield "content_block_delta", {**at, "delta": {"type": kind[0], kind[1]: piece}}
            yield "content_block_stop", at
        delta = {"stop_reason": _stop(answer), "stop_sequence": None}
        usage = {"output_tokens": answer.counts.output} if answer.reply.usage else {}
        yield "message_delta", {"delta": delta, "usage": usage or {"output_tokens": 0}}
        yield "message_stop", {}

    def _message(self, answer: Answer, content: list[JsonObject], stop: str | None) -> JsonObject:
        counts, known = answer.counts, answer.reply.usage
        fresh = counts.input - counts.cached - counts.cache_write
        usage = {
            "input_tokens": fresh if known else 0,
            "cache_creation_input_tokens": counts.cache_write,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": (counts.output if stop else 1) if known else 0,
            "service_tier": "standard",
        }
        return {
            "id": f"msg_{answer.asked.number}",
            "type": "message",
            "role": "assistant",
            "model": answer.asked.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }


def _stop(answer: Answer) -> str:
    if answer.reply.truncated:
        return "max_tokens"
    if answer.reply.refused:
        return "refusal"
    return "tool_use" if answer.calls_tools else "end_turn"


def _block(part: Part) -> JsonObject:
    if part.name:
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": part.input}
    return {"type": "text", "text": part.text, "citations": None}


def _empty(part: Part) -> JsonObject:
    if part.name:
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": {}}
    return {"type": "text", "text": "", "citations": None}
