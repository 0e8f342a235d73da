"""The wire formats of Gemini and of Bedrock's Converse (not streamed)."""

from collections.abc import Iterator

from warploom.testing.wire import Answer, Asked, JsonObject, Part, Status

_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class Gemini:
    """`POST .../models/MODEL:generateContent` and `:streamGenerateContent`."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for server-sent events."""
        return ":streamGenerateContent" in asked.path

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply that is not streamed."""
        finish = "STOP"
        if answer.reply.truncated or answer.reply.refused:
            finish = "MAX_TOKENS" if answer.reply.truncated else "SAFETY"
        content = {"role": "model", "parts": [_google_part(part) for part in answer.parts]}
        counts = answer.counts
        used = {
            "promptTokenCount": counts.input,
            "candidatesTokenCount": counts.output,
            "totalTokenCount": counts.input + counts.output,
            "cachedContentTokenCount": counts.cached,
        }
        return {
            "candidates": [{"content": content, "finishReason": finish, "index": 0}],
            **({"usageMetadata": used} if answer.reply.usage else {}),
            "modelVersion": answer.asked.model,
            "responseId": f"gemini-{answer.asked.number}",
        }

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        """Yield the reply as one event."""
        yield "", self.whole(answer)

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        kind = status.kind or _GOOGLE.get(status.code, "INTERNAL")
        return {"error": {"code": status.code, "message": status.message, "status": kind}}


def _google_part(part: Part) -> JsonObject:
    if part.name:
        call = {"id": part.call_id, "name": part.name, "args": part.input}
        return {"functionCall": call}
    return {"text": part.text}


class Converse:
    """`POST /model/MODEL/converse`."""

    def streams(self, asked: Asked) -> bool:  # noqa: ARG002
        """Never: Bedrock streams in a binary format that is not spoken here."""
        return False

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply."""
        stop = "tool_use" if answer.calls_tools else "end_turn"
        if answer.reply.truncated or answer.reply.refused:
            stop = "max_tokens" if answer.reply.truncated else "content_filtered"
        content = [_converse_part(part) for part in answer.parts]
        counts = answer.counts
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": stop,
            "usage": {
                "inputTokens": counts.input - counts.cached - counts.cache_write,
                "outputTokens": counts.output,
                "totalTokens": counts.input + counts.output,
                "cacheReadInputTokens": counts.cached,
                "cacheWriteInputTokens": counts.cache_write,
            },
            "metrics": {"latencyMs": 1},
        }

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:  # noqa: ARG002
        """Yield nothing: see `streams`."""
        yield from ()

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return {"message": status.message}


def _converse_part(part: Part) -> JsonObject:
    if part.name:
        return {"toolUse": {"toolUseId": part.call_id, "name": part.name, "input": part.input}}
    return {"text": part.text}
