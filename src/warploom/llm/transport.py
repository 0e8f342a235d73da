"""What a model must be able to do: one exchange, sent once.

The client is written against these records only. `provider.py` implements them on pydantic-ai;
`warploom.testing.scripted` implements them from a script.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, TypeAlias

from pydantic import BaseModel

from warploom.core.records import Json
from warploom.llm.errors import LLMError
from warploom.llm.records import Tool, Usage


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to be run; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One whole reply as it was delivered.

    `output` is the JSON text of a typed reply. `finish` is why it ended: "stop", "length",
    "tool_call", "content_filter" or "error". `model` is the provider's name for what answered.
    `raw` holds what the provider needs to see again in the next turn. `cost` is in US dollars,
    where the model itself tells it; a recorded delivery has none, for the call holds it.
    """

    text: str
    usage: Usage
    finish: str = "stop"
    output: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""
    raw: Json = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What we say to the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned, for the model to see."""

    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Results:
    """The results of all tool calls of the reply before."""

    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """Why the typed reply before is not accepted."""

    text: str


Turn: TypeAlias = Said | Delivery | Results | Repair


@dataclass(frozen=True, slots=True)
class Exchange:
    """All that one call sends. `timeout_s` bounds the whole of it, in seconds."""

    system: str
    turns: tuple[Turn, ...]
    max_output_tokens: int
    timeout_s: float
    output: type[BaseModel] | None = None
    tools: tuple[Tool, ...] = field(default=())
    stream: bool = False
    cache: bool = True


class Transport(Protocol):
    """What carries exchanges to one model and back; `name` is its model string."""

    @property
    def name(self) -> str:
        """The model string, such as `anthropic:claude-sonnet-5-5`."""
        ...

    async def send(self, exchange: Exchange) -> Delivery:
        """Send once and return what was delivered.

        Raises:
            AttemptError: nothing was delivered; says whether another attempt may help.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class AttemptError(Exception):
    """One attempt failed: `error` is what to raise when there is no other.

    `again` says that a later attempt may work, after `retry_after` seconds where the provider named
    them. `maybe_billed` says that the provider may charge for it although nothing was delivered.
    """

    def __init__(
        self,
        error: LLMError,
        *,
        again: bool,
        retry_after: float | None = None,
        maybe_billed: bool = False,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.again = again
        self.retry_after = retry_after
        self.maybe_billed = maybe_billed
