"""`NoveltyJudge`: a model says whether a program that looks like another is a new idea."""

from dataclasses import dataclass

from pydantic import BaseModel, Field

from warploom.core.errors import BadInputError
from warploom.llm import LLMReply, LLMRequest
from warploom.propose.llm.prompts import quoted, render, section
from warploom.propose.llm.shown import Shown

_TOKENS = 2048


class _Answer(BaseModel):
    """Whether two programs differ in what the machine would do."""

    differ: bool = Field(description="whether they differ in what the machine would do")
    why: str = Field(description="one sentence")


@dataclass(frozen=True, slots=True)
class NoveltyVerdict:
    """What the judge says: `why` in a sentence."""

    novel: bool
    why: str


class NoveltyJudge:
    """Asks whether a candidate is a new idea, beside the most similar program.

    It makes requests and reads replies; whoever holds the client sends them.
    """

    def __init__(self, system: str = "") -> None:
        self._system = system or render("system_open")

    def request(self, candidate: str, nearest: Shown, key: str, model: str) -> LLMRequest:
        """Return the question."""
        prompt = render(
            "novelty",
            candidate=section("The candidate", quoted("PROGRAM", candidate)),
            nearest=section(f"The earlier one ({nearest.name})", quoted("PROGRAM", nearest.text)),
        )
        return LLMRequest(
            "novelty", self._system, prompt, key, output=_Answer, max_output_tokens=_TOKENS,
            model=model,
        )  # fmt: skip

    def read(self, reply: LLMReply) -> NoveltyVerdict:
        """Return what a reply says.

        Raises:
            BadInputError: it is the reply to another kind of question.
        """
        if not isinstance(reply.output, _Answer):
            raise BadInputError("the reply is none of a novelty judge")
        return NoveltyVerdict(reply.output.differ, reply.output.why.strip())
