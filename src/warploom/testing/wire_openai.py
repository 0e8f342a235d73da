"""OpenAI's wire formats: Responses, and chat completions as compatible servers speak it too."""

from collections.abc import Iterator

from warploom.testing.wire import Answer, Asked, JsonObject, Part, Status, pieces

_CREATED = 1_700_000_000
_KINDS = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def _error(status: Status) -> JsonObject:
    return {
        "error": {
            "message": status.message,
            "type": status.kind or _KINDS.get(status.code, "server_error"),
            "param": None,
            "code": status.kind or _CODES.get(status.code),
        }
    }


class Chat:
    """`POST .../chat/completions`."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for server-sent events."""
        return bool(asked.body.get("stream"))

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply that is not streamed."""
        calls = [_chat_call(part) for part in answer.parts if part.name]
        message: JsonObject = {
            "role": "assistant",
            "content": "".join(part.text for part in answer.parts) or None,
            "refusal": None,
        }
        if calls:
            message["tool_calls"] = calls
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": _chat_finish(answer),
            "native_finish_reason": _chat_finish(answer),
            "logprobs": None,
        }
        return {**self._head(answer, "chat.completion"), "choices": [choice], **_chat_usage(answer)}

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        """Yield chunks, then the counts where they are asked for."""
        head = self._head(answer, "chat.completion.chunk")
        yield "", {**head, "choices": [_delta({"role": "assistant", "content": ""})]}
        index = 0
        for part in answer.parts:
            if part.name:
                call = {**_chat_call(part), "index": index}
                call["function"] = {"name": part.name, "arguments": ""}
                yield "", {**head, "choices": [_delta({"tool_calls": [call]})]}
                for piece in pieces(part.arguments):
                    more = {"index": index, "function": {"arguments": piece}}
                    yield "", {**head, "choices": [_delta({"tool_calls": [more]})]}
                index += 1
            else:
                for piece in pieces(part.text):
                    yield "", {**head, "choices": [_delta({"content": piece})]}
        yield "", {**head, "choices": [{**_delta({}), "finish_reason": _chat_finish(answer)}]}
        options: JsonObject = answer.asked.body.get("stream_options") or {}
        if options.get("include_usage"):
            yield "", {**head, "choices": [], **_chat_usage(answer)}

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return _error(status)

    def _head(self, answer: Answer, kind: str) -> JsonObject:
        return {
            "id": f"chatcmpl-{answer.asked.number}",
            "object": kind,
            "created": _CREATED,
            "model": answer.asked.model,
            "provider": "loopback",  # OpenRouter's, as is native_finish_reason
        }


def _delta(delta: JsonObject) -> JsonObject:
    return {"index": 0, "delta": delta, "finish_reason": None, "logprobs": None}


def _chat_call(part: Part) -> JsonObject:
    function = {"name": part.name, "arguments": part.arguments}
    return {"id": part.call_id, "type": "function", "function": function}


def _chat_finish(answer: Answer) -> str:
    if answer.reply.truncated:
        return "length"
    if answer.reply.refused:
        return "content_filter"
    return "tool_calls" if answer.calls_tools else "stop"


def _chat_usage(answer: Answer) -> JsonObject:
    if not answer.reply.usage:
        return {}
    counts = answer.counts
    return {
        "usage": {
            "prompt_tokens": counts.input,
            "completion_tokens": counts.output,
            "total_tokens": counts.input + counts.output,
            "prompt_tokens_details": {"cached_tokens": counts.cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
    }


class Responses:
    """`POST .../responses`."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for server-sent events."""
        return bool(asked.body.get("stream"))

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply that is not streamed."""
        return self._response(answer, _status(answer), _items(answer))

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        """Yield the events of a response, numbered."""
        for number, (name, data) in enumerate(self._events(answer)):
            yield name, {"type": name, "sequence_number": number, **data}

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return _error(status)

    def _events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        begun = {"response": self._response(answer, "in_progress", [])}
        yield "response.created", begun
        yield "response.in_progress", begun
        for index, (item, part) in enumerate(zip(_items(answer), answer.parts, strict=True)):
            at = {"output_index": index, "item_id": item["id"]}
            open_ = {**item, "status": "in_progress"}
            open_.update({"arguments": ""} if part.name else {"content": []})
            yield "response.output_item.added", {"output_index": index, "item": open_}
            yield from _call_events(at, part) if part.name else _text_events(at, part)
            yield "response.output_item.done", {"output_index": index, "item": item}
        end = "incomplete" if _status(answer) == "incomplete" else "completed"
        yield f"response.{end}", {"response": self.whole(answer)}

    def _response(self, answer: Answer, status: str, items: list[JsonObject]) -> JsonObject:
        counts = answer.counts
        usage = {
            "input_tokens": counts.input,
            "input_tokens_details": {"cached_tokens": counts.cached},
            "output_tokens": counts.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": counts.input + counts.output,
        }
        reason = "content_filter" if answer.reply.refused else "max_output_tokens"
        return {
            "id": f"resp_{answer.asked.number}",
            "object": "response",
            "created_at": _CREATED,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if status == "incomplete" else None,
            "instructions": None,
            "metadata": {},
            "model": answer.asked.model,
            "output": items,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": usage if answer.reply.usage and status != "in_progress" else None,
        }


def _status(answer: Answer) -> str:
    return "incomplete" if answer.reply.truncated or answer.reply.refused else "completed"


def _items(answer: Answer) -> list[JsonObject]:
    number = answer.asked.number
    items: list[JsonObject] = []
    for index, part in enumerate(answer.parts):
        if part.name:
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{number}_{index}",
                    "call_id": part.call_id,
                    "name": part.name,
                    "arguments": part.arguments,
                    "status": "completed",
                    **({"namespace": part.namespace} if part.namespace else {}),
                }
            )
        else:
            items.append(
                {
                    "type": "message",
                    "id": f"msg_{number}_{index}",
                    "status": "completed",
                    "role": "assistant",
                    "content": [_text_part(part.text)],
                }
            )
    return items


def _text_part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _text_events(at: JsonObject, part: Part) -> Iterator[tuple[str, JsonObject]]:
    at = {**at, "content_index": 0}
    yield "response.content_part.added", {**at, "part": _text_part("")}
    for piece in pieces(part.text):
        yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part.text, "logprobs": []}
    yield "response.content_part.done", {**at, "part": _text_part(part.text)}


def _call_events(at: JsonObject, part: Part) -> Iterator[tuple[str, JsonObject]]:
    for piece in pieces(part.arguments):
        yield "response.function_call_arguments.delta", {**at, "delta": piece}
    done = {**at, "name": part.name, "arguments": part.arguments}
    yield "response.function_call_arguments.done", done
