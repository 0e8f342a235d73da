"""The wire formats that agents speak: what a call asks for, and what its reply has used.

Each format is a `Wire`. A call is cleaned before it is sent: what a provider would bill beside
tokens, or for text that the call does not carry, is taken out or refused, so that the bytes of a
call and its limit of output bound what it can cost.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from warploom.core.errors import BadInputError
from warploom.llm.records import Usage

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """The tokens that a reply, or an event of a stream, names; `final`: no later event adds."""

    usage: Usage
    final: bool


_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
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
        return _count(body.get("max_tokens"))

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `max_tokens`; a budget of thinking must stay below it, or goes."""
        made = {**body, "max_tokens": tokens}
        thinking = _object(body.get("thinking"))
        budget = _count(thinking.get("budget_tokens"))
        if budget is not None and budget >= tokens:
            room = tokens - _LEAST_THINKING
            if room >= _LEAST_THINKING:
                made["thinking"] = {**thinking, "budget_tokens": room}
            else:
                del made["thinking"]
        return made

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Take out the provider's own tools and a dearer speed; refuse what lies elsewhere."""
        _refuse(body, ("mcp_servers", "container", "inference_geo"))
        made = {name: _brief(value) for name, value in body.items() if name != "speed"}
        return _with_tools(made, [tool for tool in _list(body, "tools") if _messages_tool(tool)])

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a message, or of the events that begin and end one."""
        told = _object(reply.get("usage")) or _object(_object(reply.get("message")).get("usage"))
        if not told:
            return None
        cached = _count(told.get("cache_read_input_tokens")) or 0
        written = _count(told.get("cache_creation_input_tokens")) or 0
        plain = _count(told.get("input_tokens")) or 0
        output = _count(told.get("output_tokens")) or 0
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
        return _count(body.get("max_output_tokens"))

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `max_output_tokens`."""
        return {**body, "max_output_tokens": tokens}

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Take out the provider's own tools and a dearer tier; refuse what lies elsewhere."""
        _refuse(body, ("previous_response_id", "conversation", "prompt", "background"))
        tools = [tool for tool in _list(body, "tools") if _openai_tool(tool)]
        return _with_tools(_usual_tier(body), tools)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a response, or of the event that completes one."""
        told = _object(reply.get("usage")) or _object(_object(reply.get("response")).get("usage"))
        if not told:
            return None
        cached = _count(_object(told.get("input_tokens_details")).get("cached_tokens")) or 0
        used = Usage(
            _count(told.get("input_tokens")) or 0, _count(told.get("output_tokens")) or 0, cached
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
        """Return the limit, whichever of its two names is used."""
        limit = _count(body.get("max_completion_tokens"))
        return _count(body.get("max_tokens")) if limit is None else limit

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set the limit by the name that the call uses; a stream tells its usage."""
        name = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        made = {**body, name: tokens}
        if body.get("stream"):
            told = _object(body.get("stream_options"))
            made["stream_options"] = {**told, "include_usage": True}
        return made

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Take out the provider's own tools and a dearer tier; refuse several replies at once."""
        _refuse(body, ("web_search_options", "audio"))
        if (_count(body.get("n")) or 1) > 1:
            raise BadInputError("a call must ask for one reply, got n above 1")
        tools = [tool for tool in _list(body, "tools") if _openai_tool(tool)]
        return _with_tools(_usual_tier(body), tools)

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usage` of a completion, or of the chunk that ends one."""
        told = _object(reply.get("usage"))
        if not told:
            return None
        cached = _count(_object(told.get("prompt_tokens_details")).get("cached_tokens")) or 0
        used = Usage(
            _count(told.get("prompt_tokens")) or 0,
            _count(told.get("completion_tokens")) or 0,
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
        return _count(_object(body.get("generationConfig")).get("maxOutputTokens"))

    def limited(self, body: JsonObject, tokens: int) -> JsonObject:
        """Set `maxOutputTokens`."""
        config = _object(body.get("generationConfig"))
        return {**body, "generationConfig": {**config, "maxOutputTokens": tokens}}

    def cleaned(self, body: JsonObject) -> JsonObject:
        """Keep the agent's own functions only; refuse what lies elsewhere."""
        _refuse(body, ("cachedContent",))
        if (_count(_object(body.get("generationConfig")).get("candidateCount")) or 1) > 1:
            raise BadInputError("a call must ask for one reply, got candidateCount above 1")
        functions = ("functionDeclarations", "function_declarations")
        kept = (
            {name: value for name, value in tool.items() if name in functions}
            for tool in _list(body, "tools")
        )
        return _with_tools(body, [tool for tool in kept if tool])

    def used(self, reply: JsonObject) -> Told | None:
        """Read `usageMetadata`, which counts thoughts apart."""
        told = _object(reply.get("usageMetadata"))
        if not told:
            return None
        read = ("promptTokenCount", "toolUsePromptTokenCount")
        written = ("candidatesTokenCount", "thoughtsTokenCount")
        used = Usage(
            sum(_count(told.get(name)) or 0 for name in read),
            sum(_count(told.get(name)) or 0 for name in written),
            _count(told.get("cachedContentTokenCount")) or 0,
        )
        ended = any(item.get("finishReason") for item in _list(reply, "candidates"))
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


_GEMINI_PATH = re.compile(r"/v1(?:alpha|beta)?/models/([^/:]+):(\w+)\Z")
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


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _list(body: JsonObject, name: str) -> list[JsonObject]:
    value = body.get(name)
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [_object(item) for item in found]


def _count(value: object) -> int | None:
    number = isinstance(value, int) and not isinstance(value, bool)
    return max(0, cast("int", value)) if number else None


def _refuse(body: JsonObject, names: tuple[str, ...]) -> None:
    found = [name for name in names if body.get(name)]
    if found:
        raise BadInputError(
            f"a call must cost what its own tokens usually cost, got {', '.join(found)}: "
            "what that adds cannot be known before it is sent"
        )


def _brief(value: object) -> object:
    """Return a value whose marks for the cache ask for the usual time: a longer one costs more."""
    if isinstance(value, list):
        return [_brief(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    found = {name: _brief(item) for name, item in cast("JsonObject", value).items()}
    mark = found.get("cache_control")
    return {**found, "cache_control": {"type": "ephemeral"}} if isinstance(mark, dict) else found


def _with_tools(body: JsonObject, tools: list[JsonObject]) -> JsonObject:
    """Return the call with these tools; without any, a choice of tools goes too."""
    if "tools" not in body:
        return body
    if tools:
        return {**body, "tools": tools}
    none = ("tools", "tool_choice", "toolConfig", "parallel_tool_calls")
    return {name: value for name, value in body.items() if name not in none}


_MESSAGES_TOOLS = ("custom", "bash_", "text_editor_", "computer_", "memory_")


def _messages_tool(tool: JsonObject) -> bool:
    """Whether the agent runs the tool itself."""
    return str(tool.get("type") or "custom").startswith(_MESSAGES_TOOLS)


_OPENAI_TOOLS = frozenset(
    {"function", "custom", "local_shell", "shell", "apply_patch", "namespace", "tool_search"}
)


def _openai_tool(tool: JsonObject) -> bool:
    """Whether the agent runs the tool itself."""
    return tool.get("type") in _OPENAI_TOOLS


def _usual_tier(body: JsonObject) -> JsonObject:
    return {name: value for name, value in body.items() if name != "service_tier"}
