"""The wire formats of embeddings: OpenAI's (Voyage's too), Gemini's, and Bedrock's for Titan.

Vectors have 8 dimensions and depend on the text alone.
"""

import base64
import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from warploom.testing.wire import Answer, Asked, JsonObject, Status
from warploom.testing.wire_openai import Chat
from warploom.testing.wire_others import Converse, Gemini


def vector(text: str) -> list[float]:
    """Return 8 numbers in [-1, 1) that stand for a text."""
    mark = hashlib.sha256(text.encode()).digest()[:8]
    return [byte / 128 - 1 for byte in mark]


class _Whole:
    """Embeddings are never streamed."""

    def streams(self, asked: Asked) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:  # noqa: ARG002
        """Yield nothing."""
        yield from ()


class Embeddings(_Whole):
    """`POST .../embeddings`: base64 of float32 where it is asked for, as OpenAI's SDK does."""

    def whole(self, answer: Answer) -> JsonObject:
        """Return the vectors of all inputs."""
        texts: list[str] = answer.asked.body["input"]
        packed = answer.asked.body.get("encoding_format") == "base64"
        rows = [
            {"object": "embedding", "index": index, "embedding": _packed(text, packed)}
            for index, text in enumerate(texts)
        ]
        tokens = answer.counts.input
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        model = answer.asked.model
        return {"object": "list", "data": rows, "model": model, "usage": usage}

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return Chat().error(status)


def _packed(text: str, packed: bool) -> Any:
    row = vector(text)
    return base64.b64encode(struct.pack("<8f", *row)).decode() if packed else row


class GeminiEmbeddings(_Whole):
    """`POST .../models/MODEL:batchEmbedContents`."""

    def whole(self, answer: Answer) -> JsonObject:
        """Return the vectors of all inputs."""
        requests = answer.asked.body["requests"]
        texts = [request["content"]["parts"][0]["text"] for request in requests]
        return {
            "embeddings": [{"values": vector(text)} for text in texts],
            "usageMetadata": {"promptTokenCount": answer.counts.input},
        }

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return Gemini().error(status)


class TitanEmbeddings(_Whole):
    """`POST /model/amazon.titan-embed.../invoke`, one text at a time."""

    def whole(self, answer: Answer) -> JsonObject:
        """Return the vector of the one input."""
        row = vector(answer.asked.body["inputText"])
        return {"embedding": row, "inputTextTokenCount": answer.counts.input}

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        return Converse().error(status)
