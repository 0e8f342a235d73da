"""What goes to a language model and what comes back, as frozen records."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from warploom.core.errors import BadInputError

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that the model may call while it works on a reply.

    `arguments` is the pydantic class of its arguments; `run` gets one and returns the text that the
    model sees. `effects` says that running it changes something that later tools see (an edit of a
    file): when a recorded call is replayed it is run again, and otherwise its recorded result is
    used. Either way the model is shown the recorded result.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[BaseModel], Awaitable[str]]
    effects: bool = True


def tool(
    name: str,
    description: str,
    arguments: type[ArgumentsT],
    run: Callable[[ArgumentsT], Awaitable[str]],
    *,
    effects: bool = True,
) -> Tool:
    """Return a `Tool`; `run` may name its own arguments class."""

    async def call(values: BaseModel) -> str:
        assert isinstance(values, arguments)
        return await run(values)

    return Tool(name, description, arguments, call, effects)


@dataclass(frozen=True, slots=True)
class LLMRequest:
    """One question to a language model.

    `purpose` is a word such as "rewrite", "judge" or "fix", kept in the record. `key` is an id that
    the caller chooses and that stays the same when the run is repeated, such as
    "iteration-3/rewrite"; with the content of the request it names the recorded call. `output` is
    the pydantic class of a typed reply. `max_output_tokens` bounds what is generated (reasoning
    counts). `model` asks for one model instead of the client's choice. With `tools`, at most
    `max_turns` replies are asked for. `timeout_s` is for each attempt, in seconds; None takes the
    client's.
    """

    purpose: str
    system: str
    prompt: str
    key: str
    output: type[BaseModel] | None = None
    max_output_tokens: int = 16_384
    model: str | None = None
    tools: tuple[Tool, ...] = ()
    max_turns: int = 20
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        if not self.key.strip():
            raise BadInputError("an LLMRequest needs a key, got an empty one")
        for name in ("max_output_tokens", "max_turns"):
            if getattr(self, name) < 1:
                raise BadInputError(f"{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; `input` counts all of the prompt, also what is `cached` (read) or `cache_write`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class LLMReply:
    """What a request ended with.

    `output` is set where a typed reply was asked for. `usage`, `cost_usd` and `latency_s` add up
    all calls that the request took (`calls`); `cost_usd` is None where no price is known. `call_id`
    names the last recorded call. `replayed` says that nothing was sent: every call came from the
    record.
    """

    text: str
    output: BaseModel | None
    model: str
    usage: Usage
    cost_usd: float | None
    latency_s: float
    call_id: str
    replayed: bool
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    `cached` defaults to `input`: no discount is assumed. `cache_write` defaults to `input`, and to
    1.25 times that for Anthropic's models (`anthropic`, `bedrock`), which charge so.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached", "cache_write"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise BadInputError(
                    f"price: {name} must be dollars per million tokens, got {value}"
                )


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps over all calls of a run; None is no cap.

    `seconds` is wall-clock time of the run. The others count what was paid for (also by earlier
    processes of the run), and what calls in flight could still cost at most.
    """

    dollars: float | None = None
    tokens: int | None = None
    requests: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("dollars", "tokens", "requests", "seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise BadInputError(f"budget: {name} must not be negative, got {value}")


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """How calls are made.

    `attempts` bounds the tries per model on overload, time-out or a broken connection, with waits
    that double from `backoff_s` up to `backoff_max_s` seconds (a longer Retry-After is honored up
    to `retry_after_max_s`). `fallbacks` are model strings to try, in order, when all attempts
    failed. `stream` asks for server-sent events. `cache` asks for prompt caching where the provider
    has it. `repairs` bounds how often a reply of the wrong type is sent back. `prices` are by model
    string and go before the built-in ones. `reply_bytes` bounds what one HTTP reply may hold.
    """

    timeout_s: float = 600.0
    attempts: int = 5
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0
    retry_after_max_s: float = 300.0
    concurrency: int = 8
    fallbacks: tuple[str, ...] = ()
    stream: bool = False
    cache: bool = True
    repairs: int = 2
    reply_bytes: int = 32 << 20
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])

    def __post_init__(self) -> None:
        for name in ("attempts", "concurrency", "reply_bytes"):
            if getattr(self, name) < 1:
                raise BadInputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.timeout_s > 0:
            raise BadInputError(f"timeout_s must be positive, got {self.timeout_s}")
