"""A model that answers from a script: no network, no key, no extra.

model = ScriptedModel(["first reply", Overloaded(), "second reply"])
client = LLMClient([model], Budget(tokens=100_000), folder)
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import BaseModel

from warploom.llm.errors import LLMError, LLMOverloadedError
from warploom.llm.estimate import prompt_bound
from warploom.llm.records import Usage
from warploom.llm.transport import AttemptError, Delivery, Exchange, Said


@dataclass(frozen=True, slots=True)
class Overloaded:
    """An attempt that the provider turns away; `retry_after` in seconds."""

    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Slow:
    """A reply that takes `seconds`."""

    reply: str
    seconds: float


Step: TypeAlias = str | BaseModel | Delivery | Overloaded | Slow | LLMError


@dataclass(slots=True)
class ScriptedModel:
    """Answers with the steps of a script, or with a function of each exchange.

    A string is the text of a reply, a pydantic object a typed one, a `Delivery` anything else (tool
    calls, `finish="length"`), an `LLMError` what the provider refuses. Tokens of text are its bytes
    divided by 4, rounded up. `exchanges` keeps what was sent. A script that has ended is an
    AssertionError: the test asked for more than it planned.
    """

    script: Iterable[Step] | Callable[[Exchange], Step]
    name: str = "scripted"
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    _steps: Iterator[Step] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._steps = None if callable(self.script) else iter(self.script)

    async def send(self, exchange: Exchange) -> Delivery:
        """Answer with the next step."""
        self.exchanges.append(exchange)
        if callable(self.script):
            step = self.script(exchange)
        else:
            assert self._steps is not None
            step = next(self._steps, None)
        if step is None:
            raise AssertionError(f"the script of {self.name} has no step {len(self.exchanges)}")
        if isinstance(step, Overloaded):
            error = LLMOverloadedError(f"{self.name} is overloaded", hint="wait")
            raise AttemptError(error, again=True, retry_after=step.retry_after)
        if isinstance(step, LLMError):
            raise AttemptError(step, again=False)
        if isinstance(step, Slow):
            await asyncio.sleep(step.seconds)
            step = step.reply
        return self._delivered(step, exchange)

    async def close(self) -> None:
        """Nothing is open."""

    def _delivered(self, step: str | BaseModel | Delivery, exchange: Exchange) -> Delivery:
        if isinstance(step, Delivery):
            return step
        text = step if isinstance(step, str) else step.model_dump_json()
        usage = Usage(input=min(_tokens(exchange), prompt_bound(exchange)), output=_count(text))
        if isinstance(step, BaseModel):
            return Delivery(text="", usage=usage, output=text, model=self.name)
        return Delivery(text=text, usage=usage, model=self.name)


def _tokens(exchange: Exchange) -> int:
    said = (turn.text for turn in exchange.turns if isinstance(turn, Said))
    return _count(exchange.system) + sum(map(_count, said))


def _count(text: str) -> int:
    return -(-len(text.encode()) // 4)
