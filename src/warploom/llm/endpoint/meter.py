"""Admits an agent's calls within the caps of a run, and charges and records what they used."""

import json
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from secrets import token_hex

from warploom.core.jsontext import dumps
from warploom.llm.endpoint.bounds import Learned, Prompt, read_prompt
from warploom.llm.endpoint.fields import JsonObject
from warploom.llm.endpoint.wires import Wire
from warploom.llm.errors import LLMBudgetError, LLMError, LLMPriceError
from warploom.llm.keys import Keys
from warploom.llm.ledger import Estimate, Ledger
from warploom.llm.prices import Prices
from warploom.llm.recorder import Call, Recorder, call_name
from warploom.llm.records import Usage
from warploom.llm.transport import Delivery

USUAL_OUTPUT = 32_768
"""Tokens that a call may generate where the agent names no limit."""

_WORTH_COUNTING = 1024  # tokens of a prompt: below this no count would make a difference
_LEAST_OUTPUT = 1024  # below this a reply is of no use to an agent
_KEPT_REPLY = 1 << 20  # characters of a reply that are recorded


@dataclass(slots=True)
class Tally:
    """What one session of an agent has used.

    `dollars` is the sum of the calls whose price is known, and `unpriced` counts the others;
    `uncounted` counts replies that named no tokens, and `broken` calls without a whole reply: both
    are charged at the most that they could have cost. `refusal` is why a call was refused for good,
    `problem` the first error of a provider; a session that has `ended` makes no calls.
    """

    name: str
    steps: int | None = None
    calls: int = 0
    dollars: Decimal = Decimal(0)
    unpriced: int = 0
    uncounted: int = 0
    broken: int = 0
    refusal: str = ""
    problem: str = ""
    too_many: bool = False
    ended: bool = False
    on_refusal: Callable[[], None] = field(default=lambda: None)

    @property
    def cost(self) -> float | None:
        """US dollars, or None where the price of a call is unknown."""
        return None if self.unpriced else float(self.dollars)


@dataclass(frozen=True, slots=True)
class Question:
    """One call, cleaned; `asked_output` is the limit that the agent named, or None."""

    wire: Wire
    model: str
    body: JsonObject
    prompt: Prompt
    asked_output: int | None

    @property
    def name(self) -> str:
        """The model string, for prices and records."""
        return f"{self.wire.provider}:{self.model}"


@dataclass(slots=True)
class Admitted:
    """A call that may be sent: `body` is what to send, at most `output` tokens come back."""

    question: Question
    body: JsonObject
    estimate: Estimate
    prompt_tokens: int
    output: int
    ticket: int
    call_id: str
    note: Path
    tally: Tally
    began: datetime
    started: float


class Meter:
    """Counts for all sessions of a run; safe to use from several threads."""

    def __init__(self, ledger: Ledger, recorder: Recorder, prices: Prices, keys: Keys) -> None:
        self._ledger = ledger
        self._recorder = recorder
        self._prices = prices
        self._keys = keys
        self._learned = Learned()
        self._turn = threading.Condition()
        self._flying: dict[int, Admitted] = {}

    @property
    def ledger(self) -> Ledger:
        """What the run has spent."""
        return self._ledger

    def read(self, wire: Wire, model: str, body: JsonObject) -> Question:
        """Clean a call.

        Raises:
            BadInputError: it holds what cannot be costed before it is sent.
        """
        cleaned = wire.cleaned(body)
        prompt = read_prompt(f"{wire.provider}:{model}", cleaned)
        return Question(wire, model, cleaned, prompt, wire.asked_output(cleaned))

    def wants_count(self, question: Question) -> bool:
        """Whether a count by the provider could leave room for a call, or for more of its reply."""
        with self._turn:
            if self._learned.uncounted(question.prompt) < _WORTH_COUNTING:
                return False
            prompt = self._learned.bound(question.prompt)
            return not self._fits(question, prompt, self._wanted(question))

    def learn(self, question: Question, tokens: int, fields: Collection[str]) -> None:
        """Take the most tokens that some fields of a prompt have by a provider's count."""
        with self._turn:
            self._learned.learn(question.prompt.within(fields), tokens)

    def admit(self, question: Question, tally: Tally) -> Admitted:
        """Reserve for a call, after those in flight where it does not fit beside them.

        Its limit of output is lowered to what the caps leave, down to 1,024 tokens.

        Raises:
            LLMPriceError: dollars are capped, and no price is known.
            LLMBudgetError: the call could cross a cap, or the session has ended.
        """
        with self._turn:
            self._check_price(question, tally)
            while True:
                if tally.ended:
                    raise LLMBudgetError("the session has ended")
                try:
                    admitted = self._try(question, tally)
                except LLMBudgetError as error:
                    if not self._flying or tally.too_many:
                        self._refuse(tally, error)
                        raise
                    self._turn.wait()
                    continue
                self._flying[admitted.ticket] = admitted
                tally.calls += 1
                return admitted

    def settle(self, call: Admitted, usage: Usage | None, reply: str) -> None:
        """Charge a call for what its reply says that it used, and record it.

        A reply that names no tokens of its prompt is charged at the most that the call could have
        used.
        """
        question = call.question
        if usage is None or not usage.input:
            used, cost = Usage(call.prompt_tokens, call.output), call.estimate.dollars
        else:
            used, cost = usage, self._prices.cost(question.name, usage)
        counted = usage is not None and bool(usage.input)
        delivery = Delivery(
            self._keys.redact(reply[:_KEPT_REPLY]), used, "stop" if counted else "uncounted",
            model=question.model,
        )  # fmt: skip
        record = Call(
            call_id=call.call_id,
            key=call.tally.name,
            purpose="agent",
            model=question.name,
            delivery=delivery,
            cost_usd=cost,
            latency_s=round(time.monotonic() - call.started, 6),
            started=call.began.isoformat(),
            run_seconds=round(self._ledger.run_seconds(), 3),
            note=call.note.name,
        )
        sent = self._keys.redact(dumps(call.body))
        with self._turn:
            if call.ticket not in self._flying:  # given up already, and charged at the most
                return
            self._recorder.keep(record, json.loads(sent), sent)
            self._ledger.settle(call.ticket, used, cost)
            call.note.unlink()
            if counted:
                self._learned.learn_billed(question.prompt, used.input)
            else:
                call.tally.uncounted += 1
            self._charge(call, cost)

    def hold(self, call: Admitted) -> None:
        """Charge a call that may have been billed, at the most; its note stays in the record."""
        with self._turn:
            if call.ticket in self._flying:
                self._ledger.hold(call.ticket)
                call.tally.broken += 1
                self._charge(call, call.estimate.dollars)

    def release(self, call: Admitted) -> None:
        """Forget a call that the provider turned away."""
        with self._turn:
            if call.ticket in self._flying:
                self._ledger.release(call.ticket)
                call.note.unlink()
                call.tally.calls -= 1
                self._done(call)

    def abandon(self, tally: Tally) -> None:
        """Hold all calls of a session that are under way, admit no more: the agent is gone."""
        with self._turn:
            tally.ended = True
            self._turn.notify_all()
            calls = [call for call in self._flying.values() if call.tally is tally]
        for call in calls:
            self.hold(call)

    def _charge(self, call: Admitted, cost: Decimal | None) -> None:
        call.tally.dollars += cost or Decimal(0)
        call.tally.unpriced += cost is None
        self._done(call)

    def _done(self, call: Admitted) -> None:
        del self._flying[call.ticket]
        self._turn.notify_all()

    def _check_price(self, question: Question, tally: Tally) -> None:
        if self._ledger.budget.dollars is None:
            return
        if self._prices.cost(question.name, Usage(1, 1)) is None:
            error = LLMPriceError(
                f"no price is known for {question.name}, so no cap in dollars can hold",
                hint="give its price with --price IN,OUT (dollars per million tokens), "
                "or cap --max-tokens instead of --max-cost",
            )
            self._refuse(tally, error)
            raise error

    def _try(self, question: Question, tally: Tally) -> Admitted:
        if tally.steps is not None and tally.calls >= tally.steps:
            tally.too_many = True
            raise LLMBudgetError(
                f"the session has made {tally.calls} calls of a model, as many as allowed",
                hint="raise --agent-steps",
            )
        prompt = self._learned.bound(question.prompt)
        output = self._fitting(question, prompt)
        estimate = self._estimate(question, prompt, output)
        ticket = self._ledger.reserve(estimate, question.name)
        call_id = call_name(tally.name, token_hex(16))
        try:
            note = self._recorder.intend(call_id, estimate)
        except BaseException:
            self._ledger.release(ticket)
            raise
        body = question.wire.limited(question.body, output)
        return Admitted(
            question, body, estimate, prompt, output, ticket, call_id, note, tally,
            datetime.now(UTC), time.monotonic(),
        )  # fmt: skip

    def _estimate(self, question: Question, prompt: int, output: int) -> Estimate:
        return Estimate(prompt + output, self._prices.bound(question.name, prompt, output))

    def _fitting(self, question: Question, prompt: int) -> int:
        """Return the limit of output: what is asked for, or what the caps leave of it."""
        wanted = self._wanted(question)
        least = min(wanted, _LEAST_OUTPUT)
        if self._fits(question, prompt, wanted):
            return wanted
        if not self._fits(question, prompt, least):
            return least
        low, high = least, wanted
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._fits(question, prompt, middle)
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _wanted(self, question: Question) -> int:
        asked = question.asked_output
        return USUAL_OUTPUT if asked is None else max(1, asked)

    def _fits(self, question: Question, prompt: int, output: int) -> bool:
        """Whether a call of so many tokens is within what the caps leave."""
        room, most = self._ledger.room(), self._estimate(question, prompt, output)
        return (room.tokens is None or most.tokens <= room.tokens) and (
            room.dollars is None or most.dollars is None or most.dollars <= room.dollars
        )

    def _refuse(self, tally: Tally, error: LLMError) -> None:
        told = error.message + (f" ({error.hint})" if isinstance(error, LLMPriceError) else "")
        tally.refusal = tally.refusal or told
        tally.on_refusal()
