"""What a run has spent, and whether the next call fits into its caps.

A call reserves the most that it can use before it is sent, and settles for what it used. So calls
in flight count, and no interleaving of concurrent calls crosses a cap.
"""

import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal

from warploom.llm.errors import LLMBudgetError
from warploom.llm.records import Budget, Usage


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used: by delivered calls, and (`uncertain_*`) at most by calls that ended without.

    A call that timed out, or that was in flight when a process died, may have been billed. The caps
    count it at its reservation. `unpriced_requests` are delivered calls of models without a known
    price: what they cost is not among the dollars.
    """

    dollars: Decimal = Decimal(0)
    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    uncertain_dollars: Decimal = Decimal(0)
    uncertain_tokens: int = 0
    uncertain_requests: int = 0
    unpriced_requests: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that one call can use; `dollars` is None where no price is known."""

    tokens: int
    dollars: Decimal | None


@dataclass(frozen=True, slots=True)
class Room:
    """What caps leave; None where there is no cap. Negative where a call took more than asked."""

    tokens: int | None
    dollars: Decimal | None


class Ledger:
    """Counts spent and reserved against a budget; safe to use from several threads."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._lock = threading.Lock()
        self._spent = Spent()
        self._reserved: dict[int, Estimate] = {}
        self._next = 0
        self._earlier_seconds = 0.0
        self._started = time.monotonic()

    @property
    def spent(self) -> Spent:
        """What was spent until now, by earlier processes of the run too."""
        return self._spent

    def run_seconds(self) -> float:
        """Seconds that the run has taken, with those of earlier processes until their last call."""
        return self._earlier_seconds + time.monotonic() - self._started

    def seconds_left(self) -> float:
        """Seconds until the cap on time, or infinity."""
        cap = self.budget.seconds
        return float("inf") if cap is None else cap - self.run_seconds()

    def restore(self, spent: Spent, run_seconds: float) -> None:
        """Start from what earlier processes of the run spent."""
        with self._lock:
            self._spent = spent
            self._earlier_seconds = run_seconds

    def room(self) -> Room:
        """Return what the caps leave now, beside what is spent and reserved."""
        with self._lock:
            cap, spent, flying = self.budget, self._spent, self._reserved.values()
            tokens = spent.usage.total + spent.uncertain_tokens
            tokens += sum(item.tokens for item in flying)
            dollars = spent.dollars + spent.uncertain_dollars
            dollars += sum((item.dollars or Decimal(0) for item in flying), Decimal(0))
        return Room(
            None if cap.tokens is None else cap.tokens - tokens,
            None if cap.dollars is None else Decimal(str(cap.dollars)) - dollars,
        )

    def reserve(self, estimate: Estimate, model: str) -> int:
        """Reserve for one call and return a ticket.

        Raises:
            LLMBudgetError: the call could cross a cap.
        """
        with self._lock:
            self._check(estimate, model)
            self._next += 1
            self._reserved[self._next] = estimate
            return self._next

    def settle(self, ticket: int, usage: Usage, dollars: Decimal | None) -> None:
        """Replace a reservation by what the delivered call used."""
        with self._lock:
            del self._reserved[ticket]
            self._spent = add_call(self._spent, usage, dollars)

    def release(self, ticket: int) -> None:
        """Drop the reservation of a call that was not billed."""
        with self._lock:
            del self._reserved[ticket]

    def hold(self, ticket: int) -> None:
        """Count the reservation of a call that may have been billed."""
        with self._lock:
            self._spent = add_uncertain(self._spent, self._reserved.pop(ticket))

    def _check(self, estimate: Estimate, model: str) -> None:
        cap, spent, flying = self.budget, self._spent, self._reserved.values()
        if self.seconds_left() <= 0:
            raise _crossed(f"{cap.seconds} seconds", f"{self.run_seconds():.1f} s are used", model)
        if cap.requests is not None:
            used = spent.requests + spent.uncertain_requests
            if used + len(flying) + 1 > cap.requests:
                raise _crossed(
                    f"{cap.requests} requests", f"{used} sent, {len(flying)} in flight", model
                )
        if cap.tokens is not None:
            used = spent.usage.total + spent.uncertain_tokens
            reserved = sum(item.tokens for item in flying)
            if used + reserved + estimate.tokens > cap.tokens:
                raise _crossed(
                    f"{cap.tokens} tokens",
                    f"{used} used, {reserved} in flight, up to {estimate.tokens} for this call",
                    model,
                )
        if cap.dollars is not None and estimate.dollars is not None:
            dollars = spent.dollars + spent.uncertain_dollars
            reserved = sum((item.dollars or Decimal(0) for item in flying), Decimal(0))
            if dollars + reserved + estimate.dollars > Decimal(str(cap.dollars)):
                raise _crossed(
                    f"{cap.dollars} dollars",
                    f"{dollars:.4f} used, {reserved:.4f} in flight, "
                    f"up to {estimate.dollars:.4f} for this call",
                    model,
                )


def add_call(spent: Spent, usage: Usage, dollars: Decimal | None) -> Spent:
    """Return `spent` with one delivered call more."""
    return Spent(
        spent.dollars + (dollars or Decimal(0)),
        spent.usage + usage,
        spent.requests + 1,
        spent.uncertain_dollars,
        spent.uncertain_tokens,
        spent.uncertain_requests,
        spent.unpriced_requests + (dollars is None),
    )


def add_uncertain(spent: Spent, estimate: Estimate) -> Spent:
    """Return `spent` with one call more that may have been billed."""
    return Spent(
        spent.dollars,
        spent.usage,
        spent.requests,
        spent.uncertain_dollars + (estimate.dollars or Decimal(0)),
        spent.uncertain_tokens + estimate.tokens,
        spent.uncertain_requests + 1,
        spent.unpriced_requests,
    )


def _crossed(cap: str, state: str, model: str) -> LLMBudgetError:
    return LLMBudgetError(
        f"the next call to {model} could cross the cap of {cap}: {state}",
        hint="raise the cap and resume: what was paid for is kept; "
        "or lower max_output_tokens, which bounds what one call can cost",
    )
