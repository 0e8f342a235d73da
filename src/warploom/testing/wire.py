"""What loopback servers answer: steps of a script, and the shapes that all providers share."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
OUTPUT_TOOL = "final_result"


@dataclass(frozen=True, slots=True)
class WireCall:
    """A tool call within a reply; `namespace` is told by the Responses API alone."""

    name: str
    arguments: Mapping[str, Any]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with HTTP status 200.

    `value` is a typed reply: sent as JSON text or through the output tool, as the request asks.
    `input_tokens` counts all of the prompt, `cached` of which are read from a cache and
    `cache_write` written to one; None takes the length of the body, and of the text, divided by 4.
    `truncated` ends it at the limit of tokens, `refused` by the content filter. `usage` False sends
    no counts at all, as some servers of one's own do. `delay` in seconds goes before it.
    """

    text: str = ""
    value: Mapping[str, Any] | None = None
    calls: tuple[WireCall, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int = 0
    cache_write: int = 0
    truncated: bool = False
    refused: bool = False
    usage: bool = True
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Status:
    """An error of the provider; `in_stream` sends it within a stream that began well."""

    code: int
    message: str = "told to fail"
    kind: str = ""
    retry_after: float | None = None
    in_stream: bool = False


@dataclass(frozen=True, slots=True)
class Hang:
    """Accepts the request and says nothing; in a stream, after its first event."""

    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Drop:
    """Closes the connection in the middle of the reply."""


@dataclass(frozen=True, slots=True)
class Huge:
    """Sends `bytes_` bytes of text in one reply."""

    bytes_: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Raw:
    """Sends this body with this status, whatever the wire format wants."""

    body: str
    code: int = 200
    content_type: str = "application/json"


Step: TypeAlias = Reply | Status | Hang | Drop | Huge | Raw


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in; `number` counts from 1 in the order of arrival."""

    number: int
    path: str
    model: str
    body: JsonObject
    headers: Mapping[str, str]

    @property
    def text(self) -> str:
        """The body as JSON text, to look for words in."""
        return json.dumps(self.body)


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens as the server counts them; `input` holds `cached` and `cache_write`."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A text or a tool call, in the order of a reply."""

    text: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    namespace: str = ""

    @property
    def input(self) -> JsonObject:
        """The arguments as an object."""
        return json.loads(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply made ready for a wire format."""

    asked: Asked
    reply: Reply
    counts: Counts
    parts: tuple[Part, ...] = field(default=())

    @property
    def calls_tools(self) -> bool:
        """Whether it ends for tool calls."""
        return any(part.name for part in self.parts)


class Wire(Protocol):
    """One provider's wire format."""

    def streams(self, asked: Asked) -> bool:
        """Whether the request asks for server-sent events."""
        ...

    def whole(self, answer: Answer) -> JsonObject:
        """Return the body of a reply that is not streamed."""
        ...

    def events(self, answer: Answer) -> Iterator[tuple[str, JsonObject]]:
        """Yield the server-sent events of a reply: name (may be empty) and data."""
        ...

    def error(self, status: Status) -> JsonObject:
        """Return the body of an error."""
        ...


def answer(asked: Asked, reply: Reply, tools: Sequence[str]) -> Answer:
    """Make a reply ready: choose how a typed one is sent, and count its tokens."""
    parts: list[Part] = [Part(text=reply.text)] if reply.text else []
    if reply.value is not None:
        text = json.dumps(reply.value)
        if OUTPUT_TOOL in tools:
            parts.append(Part(call_id=f"call_{asked.number}", name=OUTPUT_TOOL, arguments=text))
        else:
            parts.append(Part(text=text))
    for index, call in enumerate(reply.calls):
        parts.append(
            Part(
                call_id=f"call_{asked.number}_{index}",
                name=call.name,
                arguments=json.dumps(dict(call.arguments)),
                namespace=call.namespace,
            )
        )
    sent = sum(len(part.text) + len(part.arguments) for part in parts)
    counts = Counts(
        input=len(asked.text) // 4 if reply.input_tokens is None else reply.input_tokens,
        output=max(1, sent // 4) if reply.output_tokens is None else reply.output_tokens,
        cached=reply.cached,
        cache_write=reply.cache_write,
    )
    return Answer(asked, reply, counts, tuple(parts))


def pieces(text: str) -> Iterator[str]:
    """Cut text for a stream, into at most 64 pieces; an empty one is one empty piece."""
    size = max(32, -(-len(text) // 64))
    yield from (text[at : at + size] for at in range(0, max(len(text), 1), size))
