"""`MetaSummarizer`: what a search has learned, by a model, or by counting where there is none."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from warploom.core.errors import BadInputError
from warploom.llm import LLMReply, LLMRequest
from warploom.propose.llm.context import cut, listed
from warploom.propose.llm.prompts import quoted, render, section
from warploom.propose.llm.shown import Shown, account, record

_TOKENS = 4096
_MOST_BYTES = 60_000  # of the record in one prompt
_KEPT_BYTES = 6000  # of each part of a summary
_MOST_IDEAS = 5


class _Answer(BaseModel):
    """What has been learned."""

    summary: str = Field(description="what these attempts show, at most ten sentences")
    scratchpad: str = Field(description="what is known of the whole search, short lines")
    recommendations: list[str] = Field(description="up to five ideas worth trying next")


@dataclass(frozen=True, slots=True)
class MetaSummary:
    """What has been learned: of the last attempts, of the whole search, and what to try next."""

    summary: str
    scratchpad: str
    recommendations: tuple[str, ...]

    @property
    def advice(self) -> str:
        """Notes and recommendations, as prompts show them."""
        if not self.recommendations and not self.scratchpad:
            return ""
        return quoted("NOTES", f"{self.scratchpad.strip()}\n{listed(self.recommendations)}")


class MetaSummarizer:
    """Sums a search up. It makes requests and reads replies; whoever holds the client sends them.

    Without a model, `digest` counts: which changes gained how much, what failed how often.
    """

    def __init__(self, system: str = "") -> None:
        self._system = system or render("system_open")

    def request(
        self, programs: Sequence[Shown], before: MetaSummary | None, key: str, model: str
    ) -> LLMRequest:
        """Return the question about the programs that were judged since the last summary."""
        notes = "" if before is None else before.scratchpad
        told = cut(record(programs), _MOST_BYTES)
        prompt = render(
            "summary",
            notes=section("The scratchpad until now", quoted("NOTES", notes) if notes else ""),
            history=section("The attempts", quoted("RECORD", told)),
        )
        return LLMRequest(
            "summary", self._system, prompt, key, output=_Answer, max_output_tokens=_TOKENS,
            model=model,
        )  # fmt: skip

    def read(self, reply: LLMReply) -> MetaSummary:
        """Return what a reply says.

        Raises:
            BadInputError: it is the reply to another kind of question.
        """
        said = reply.output
        if not isinstance(said, _Answer):
            raise BadInputError("the reply is none of a summary")
        ideas = tuple(cut(idea.strip(), 500) for idea in said.recommendations if idea.strip())
        return MetaSummary(
            cut(said.summary.strip(), _KEPT_BYTES),
            cut(said.scratchpad.strip(), _KEPT_BYTES),
            ideas[:_MOST_IDEAS],
        )

    def digest(self, programs: Sequence[Shown], before: MetaSummary | None) -> MetaSummary:
        """Return what counting says of the programs since the last summary."""
        good = [one for one in programs if one.correct]
        failures = Counter(one.failure or "run" for one in programs if not one.correct)
        lines = [f"{len(programs)} attempts, {len(good)} correct."]
        best = max(good, key=_gain, default=None)
        if best is not None and _gain(best) > 0:
            lines.append(f"The largest step: {account(best)}.")
        if failures:
            told = ", ".join(f"{kind} {count}" for kind, count in failures.most_common(5))
            lines.append(f"Failures: {told}.")
        notes = [] if before is None else before.scratchpad.splitlines()
        gains = _gains(good)
        fresh = [f"{name}: {math.exp(gain):.3f} times as fast in the mean" for name, gain in gains]
        known = {line.partition(":")[0] for line in fresh}
        kept = [line for line in notes if line.partition(":")[0] not in known]
        ideas = tuple(f"Try {name} on other programs." for name, gain in gains if gain > 0)
        return MetaSummary(" ".join(lines), "\n".join((*fresh, *kept)[:20]), ideas[:_MOST_IDEAS])


def _gain(one: Shown) -> float:
    """Return the logarithm of the speed-up from what a program was made of; 0 if unknown."""
    if one.time_ms and one.before:
        return math.log(one.before / one.time_ms)
    return (one.score or 0.0) - one.before if one.before is not None and not one.time_ms else 0.0


def _gains(good: Sequence[Shown]) -> list[tuple[str, float]]:
    """Return the mean gain of each step, or operator where no step is named; best first."""
    sums: dict[str, list[float]] = {}
    for one in good:
        if one.before is None or not one.time_ms:
            continue
        for name in one.changes or (one.operator,):
            sums.setdefault(name, []).append(_gain(one) / max(1, len(one.changes)))
    means = [(name, sum(found) / len(found)) for name, found in sums.items()]
    return sorted(means, key=lambda item: (-item[1], item[0]))[:10]
