"""The wire formats that agents speak: what a call asks for, and what its reply has used.

Each format is a `Wire`. A call is cleaned before it is sent: what a provider would bill beside
tokens, or for text that the call does not carry, is taken out or refused, so that the bytes of a
call and its limit of output bound what it can cost.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from warploom.llm.endpoint.clean_anthropic import clean_messages
from warploom.llm.endpoint.clean_gemini import clean_generate
from warploom.llm.endpoint.clean_openai import clean_chat, clean_responses
from warploom.llm.endpoint.fields import JsonObject, as_count, as_list, as_object, limit
from warploom.llm.records import Usage


@dataclass(frozen=True, slots=True)
class Told:
    """The tokens that a reply, or an event of a stream, names; `final`: no later event adds."""

    usage: Usage
    final: bool


_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_CHAT_LIMITS = ("max_completion_tokens", "max_tokens")
_LEAST_THINKING = 1024  # tokens; Anthropic takes no smaller budget


class Wire(Protocol):
    """One provider's format of calls and replies; `provider` is its prefix in model strings."""

    @property
    def provider(self) -> str:
        """Whose key and address a call goes to."""
        ...

    def asked_output(self, body: JsonObject) -> int | None:
        """Return the most tokens that a call asks for, or None where it names no limit."""
        ...

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Return the call with `tokens` as its limit of output."""
        ...

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Return the call without what tokens do not bound.

        Raises:
            BadInputError: it makes no sense without that.
        """
        ...

    def used(self, reply: JsonObject) -> Told | None:
        """Return the tokens that a reply, or an event of a stream, names; None for none."""
        ...

    def error(self, message: str, kind: str) -> JsonObject:
        """Return the body of an error; `kind` is a word such as `invalid_request_error`."""
        ...


@dataclass(frozen=True, slots=True)
class Messages:
    """Anthropic's Messages API."""

    provider: str = "anthropic"

    def asked_output(self, body: JsonObject) -> int | None:
        """Return `max_tokens`, which holds thinking too."""
        return limit(body, "max_tokens")

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `max_tokens`; a budget of thinking must stay below it, or goes."""
        made = {**body, "max_tokens": tokens}
        thinking = as_object(body.get("thinking"))
        budget = as_count(thinking.get("budget_tokens"))
        if budget is not None and budget >= tokens:
            room = tokens - _LEAST_THINKING
            if room >= _LEAST_THINKING:
                made["thinking"] = {**thinking, "budget_tokens": room}
            else:
                del made["thinking"]
        return made

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Keep what costs tokens alone: no tools of the provider, no dearer cache."""
        return clean_messages(body)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a message, or of the events that begin and end one."""
        told = as_object(reply.get("usage")) or as_object(
            as_object(reply.get("message")).get("usage")
        )
        if not told:
            return None
        cached = as_count(told.get("cache_read_input_tokens")) or 0
        written = as_count(told.get("cache_creation_input_tokens")) or 0
        plain = as_count(told.get("input_tokens")) or 0
        output = as_count(told.get("output_tokens")) or 0
        final = reply.get("type") in ("message", "message_delta")
        return Told(Usage(plain + cached + written, output, cached, written), final)

    def error(self, message: str, kind: str) -> JsonObject:
        """Return an error as the Messages API words it."""
        return {"type": "error", "error": {"type": kind, "message": message}}


@dataclass(frozen=True, slots=True)
class Responses:
    """OpenAI's Responses API."""

    provider: str = "openai"

    def asked_output(self, body: JsonObject) -> int | None:
        """Return `max_output_tokens`, which holds reasoning too."""
        return limit(body, "max_output_tokens")

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `max_output_tokens`."""
        return {**body, "max_output_tokens": tokens}

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Keep what costs tokens alone: no tools of the provider, nothing that it keeps."""
        return clean_responses(body)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a response, or of the event that completes one."""
        told = as_object(reply.get("usage")) or as_object(
            as_object(reply.get("response")).get("usage")
        )
        if not told:
            return None
        cached = as_count(as_object(told.get("input_tokens_details")).get("cached_tokens")) or 0
        used = Usage(
            as_count(told.get("input_tokens")) or 0,
            as_count(told.get("output_tokens")) or 0,
            cached,
        )
        return Told(used, reply.get("object") == "response" or reply.get("type") in _ENDS)

    def error(self, message: str, kind: str) -> JsonObject:
        """Return an error as OpenAI words it."""
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


@dataclass(frozen=True, slots=True)
class Chat:
    """OpenAI's chat completions, which many servers speak."""

    provider: str = "openai-chat"

    def asked_output(self, body: JsonObject) -> int | None:
        """Return the lower of the limits that the call gives by two names."""
        asked = [found for name in _CHAT_LIMITS if (found := limit(body, name)) is not None]
        return min(asked, default=None)

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set one limit, by the older name where the call knows no other; a stream tells usage."""
        older = "max_tokens" in body and "max_completion_tokens" not in body
        rest = {name: value for name, value in body.items() if name not in _CHAT_LIMITS}
        made = {**rest, "max_tokens" if older else "max_completion_tokens": tokens}
        if body.get("stream"):
            told = as_object(body.get("stream_options"))
            made["stream_options"] = {**told, "include_usage": True}
        return made

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Keep what costs tokens alone: one reply in text, no tools of the provider."""
        return clean_chat(body)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a completion, or of the chunk that ends one."""
        told = as_object(reply.get("usage"))
        if not told:
            return None
        cached = as_count(as_object(told.get("prompt_tokens_details")).get("cached_tokens")) or 0
        used = Usage(
            as_count(told.get("prompt_tokens")) or 0,
            as_count(told.get("completion_tokens")) or 0,
            cached,
        )
        return Told(used, True)

    def error(self, message: str, kind: str) -> JsonObject:
        """Return an error as OpenAI words it."""
        return Responses().error(message, kind)


@dataclass(frozen=True, slots=True)
class Generate:
    """Gemini's generateContent."""

    provider: str = "gemini"

    def asked_output(self, body: JsonObject) -> int | None:
        """Return `maxOutputTokens`, which holds thoughts too."""
        return limit(as_object(body.get("generationConfig")), "maxOutputTokens")

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `maxOutputTokens`."""
        config = as_object(body.get("generationConfig"))
        return {**body, "generationConfig": {**config, "maxOutputTokens": tokens}}

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Keep what costs tokens alone: one reply in text, the agent's own functions."""
        return clean_generate(body)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usageMetadata`, which counts thoughts apart."""
        told = as_object(reply.get("usageMetadata"))
        if not told:
            return None
        read = ("promptTokenCount", "toolUsePromptTokenCount")
        written = ("candidatesTokenCount", "thoughtsTokenCount")
        used = Usage(
            sum(as_count(told.get(name)) or 0 for name in read),
            sum(as_count(told.get(name)) or 0 for name in written),
            as_count(told.get("cachedContentTokenCount")) or 0,
        )
        ended = any(item.get("finishReason") for item in as_list(reply, "candidates"))
        return Told(used, ended or "promptFeedback" in reply)

    def error(self, message: str, kind: str) -> JsonObject:
        """Return an error as Google's APIs word it."""
        return {"error": {"code": 400, "message": message, "status": kind.upper()}}


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes: `paid` calls are metered, others (counts, lists) cost nothing."""

    wire: Wire
    path: str
    model: str = ""
    paid: bool = True


_GEMINI_PATH = re.compile(r"/v1(?:alpha|beta)?/models/([A-Za-z0-9][\w.-]*):(\w+)\Z", re.ASCII)
_PAID: Mapping[str, Wire] = {
    "/messages": Messages(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
}
_FREE: Mapping[str, Wire] = {
    "/messages/count_tokens": Messages(),
    "/responses/input_tokens": Responses(),
}
_GENERATES = ("generateContent", "streamGenerateContent")


def find_route(method: str, path: str) -> Route | None:
    """Return where a request goes, or None for what we do not serve.

    `path` has no query. Whatever costs money and is not metered (batches, files, embeddings,
    images) is not served.
    """
    if method != "POST":
        return None
    gemini = _GEMINI_PATH.match(path)
    if gemini is not None and gemini[2] in (*_GENERATES, "countTokens"):
        return Route(Generate(), path, gemini[1], gemini[2] in _GENERATES)
    below = path.removeprefix("/v1")
    if below in _PAID:
        return Route(_PAID[below], below)
    if below in _FREE:
        return Route(_FREE[below], below, paid=False)
    return None


def find_wire(path: str) -> Wire:
    """Return the format to answer an unknown path in."""
    if path.startswith("/v1/messages"):
        return Messages()
    return Generate() if path.startswith("/v1beta") else Responses()
