"""warploom's own agent: a tool-using loop on any model, over the tools in `tools.py`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel

from warploom.core.errors import WarploomError
from warploom.llm import LLMClient, LLMRequest, Tool
from warploom.llm.errors import (
    LLMEmptyError,
    LLMOutputError,
    LLMRefusalError,
    LLMTimeoutError,
    LLMTruncatedError,
)
from warploom.propose.agent.session import AgentLimits, AgentReport, AgentTask, Ended
from warploom.propose.agent.tools import Bench

SYSTEM = Path(__file__).with_name("system.md")
_SUMMARY = 600

# What ends a session, and leaves what the agent wrote until then to be judged.
_ENDS = (LLMOutputError, LLMRefusalError, LLMTimeoutError, LLMTruncatedError)


class _LimitError(WarploomError):
    """A limit of the session was reached while a tool was asked for."""

    def __init__(self, ended: Ended, message: str) -> None:
        super().__init__(message)
        self.ended = ended


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """Lets a model read, edit, build, check and evaluate until it says that it is done.

    Attributes:
        client: asks the model; its budget and records are the run's.
        bench: makes the tools for a session.
        max_output_tokens: of one reply.
    """

    client: LLMClient
    bench: Callable[[AgentTask], Bench]
    max_output_tokens: int = 16_384

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return "agent:own"

    def work(self, task: AgentTask) -> AgentReport:
        """Let the model work in the workspace, to its end or a limit.

        Raises:
            LLMError: the model cannot be asked at all (key, name, price), or the run's budget is
                used up.
        """
        started = time.monotonic()
        before = self.client.spent.dollars
        meter = _Meter(self.client, task.limits, started, before)
        request = LLMRequest(
            purpose="agent",
            system=SYSTEM.read_text(encoding="utf-8"),
            prompt=task.instruction,
            key=f"agent/{task.key}",
            max_output_tokens=self.max_output_tokens,
            tools=tuple(meter.counted(tool) for tool in self.bench(task).tools()),
            max_turns=task.limits.steps + 2,  # the meter counts tools, and stops first
            timeout_s=task.limits.seconds,
        )
        ended, said, notes = Ended.DONE, "", ()
        try:
            said = self.client.ask_blocking(request).text
        except _LimitError as error:
            ended, notes = error.ended, (error.message,)
        except LLMEmptyError as error:  # it neither says more nor asks for more
            notes = (error.message,)
        except _ENDS as error:
            ended, notes = Ended.FAILED, (error.message,)
        (task.log / "reply.txt").write_text(said, encoding="utf-8")
        spent = float(self.client.spent.dollars - before)
        seconds = time.monotonic() - started
        return AgentReport(ended, said.strip()[-_SUMMARY:], meter.taken, spent, seconds, notes)


@dataclass(slots=True)
class _Meter:
    """Counts tool calls and refuses them past a limit."""

    client: LLMClient
    limits: AgentLimits
    started: float
    before: Decimal
    taken: int = field(default=0)

    def counted(self, tool: Tool) -> Tool:
        """Return the tool, counted and held to the limits."""

        async def run(arguments: BaseModel) -> str:
            self.taken += 1
            self._require_room()
            return await tool.run(arguments)

        return replace(tool, run=run)

    def _require_room(self) -> None:
        limits = self.limits
        if self.taken > limits.steps:
            raise _LimitError(Ended.STEPS, f"ended after {limits.steps} tool calls, its limit")
        if time.monotonic() - self.started > limits.seconds:
            raise _LimitError(Ended.TIME, f"ended after {limits.seconds:.0f} s, its limit")
        spent = float(self.client.spent.dollars - self.before)
        if limits.dollars is not None and spent > limits.dollars:
            raise _LimitError(Ended.COST, f"ended after ${spent:.2f} of ${limits.dollars:.2f}")
