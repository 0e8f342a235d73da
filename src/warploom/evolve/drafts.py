"""Proposals of models on their way: asked, read, compared, asked again, and then candidates.

What comes of a plan depends on the plan, the replies and the texts of smaller numbers only.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.evolve.candidates import NO_PROGRAM, NOT_NOVEL, Candidate, Plan, Rejection, with_steps
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.desk import ModelDesk, Said
from warploom.evolve.novelty import Look, Novelty
from warploom.llm import LLMRequest
from warploom.llm.errors import LLMBudgetError
from warploom.propose.llm.novelty import NoveltyJudge
from warploom.propose.llm.prompts import render
from warploom.propose.llm.shown import Shown
from warploom.propose.llm.unusable import UNUSABLE, cure

Reader = Callable[[str, str], tuple[str, str]]
"""Reads a reply (its text, then the program that it was about): a program, or what is wrong."""


@dataclass(slots=True)
class _Draft:
    """A plan and how far it is; `look` is set while a judge is asked about `text`."""

    plan: Plan
    base: str
    tries: int = 1
    cost: float = 0.0
    rejections: list[Rejection] = field(default_factory=list[Rejection])
    text: str = ""
    look: Look | None = None


class Drafts:
    """All plans whose models have not answered to the end.

    `ordered`: they come to their end by number. `capped` says which cap a call could have crossed,
    "" where none; `dropped` are the plans that came to nothing for that: they stay on disk.
    """

    def __init__(
        self,
        config: EvolutionConfig,
        desk: ModelDesk,
        novelty: Novelty,
        read: Reader,
        text_of: Callable[[int], str],
        *,
        ordered: bool,
    ) -> None:
        self._config = config
        self._desk = desk
        self._novelty = novelty
        self._read = read
        self._text_of = text_of
        self._ordered = ordered
        self._judge = NoveltyJudge()
        self._drafts: dict[int, _Draft] = {}
        self.capped = ""
        self.dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._drafts)

    def start(self, plan: Plan) -> None:
        """Ask what a plan says."""
        assert plan.lineage.parent is not None
        draft = _Draft(plan, self._text_of(plan.lineage.parent))
        self._drafts[plan.number] = draft
        self._ask(draft, plan.prompt)

    def settle(self) -> Candidate | None:
        """Return the next candidate, one that failed too; None where no draft has come so far.

        Raises:
            LLMError: a model could not be asked.
        """
        for number in sorted(self._drafts):
            while (said := self._desk.take(number)) is not None:
                found = self._step(self._drafts[number], said)
                if found is not None:
                    del self._drafts[number]
                    return found
            if self._ordered and number in self._drafts:
                return None
        return None

    def _ask(self, draft: _Draft, prompt: str) -> None:
        plan = draft.plan
        key = f"attempt-{plan.number:03d}/{plan.template}-{draft.tries}"
        self._desk.ask(plan.number, LLMRequest(
            plan.template, plan.system, prompt, key, model=plan.lineage.model,
            max_output_tokens=self._config.models.max_output_tokens,
        ))  # fmt: skip

    def _step(self, draft: _Draft, said: Said) -> Candidate | None:
        """Go on with a draft after a reply; returns its candidate at the end."""
        draft.cost += said.cost
        error = said.error
        if isinstance(error, LLMBudgetError):
            self.capped = error.message
            self.dropped.append(draft.plan.number)
            del self._drafts[draft.plan.number]
            return None
        if error is not None and not isinstance(error, UNUSABLE):
            raise error
        if draft.look is not None:
            return self._judged(draft, said, draft.look)
        if said.reply is None:
            assert isinstance(error, UNUSABLE)
            return self._again(draft, cure(error))
        draft.text, problem = self._read(said.reply.text, draft.base)
        if problem:
            return self._again(draft, problem)
        look = self._novelty.look(draft.text, draft.plan.number)
        if look.rejection is not None:
            return self._again(draft, look.rejection.why, look.rejection)
        if self._is_doubtful(look):
            self._ask_judge(draft, look)
            return None
        return self._candidate(draft)

    # --- the judge of novelty ---

    def _is_doubtful(self, look: Look) -> bool:
        wanted = self._config.novelty
        return wanted.judge and look.near is not None and look.similarity >= wanted.judge_similarity

    def _ask_judge(self, draft: _Draft, look: Look) -> None:
        assert look.near is not None
        draft.look = look
        text = self._novelty.pending.text(look.near) or self._text_of(look.near)
        key = f"attempt-{draft.plan.number:03d}/novelty-{draft.tries}"
        model = self._config.models.judging
        nearest = Shown(look.near, text)
        self._desk.ask(draft.plan.number, self._judge.request(draft.text, nearest, key, model))

    def _judged(self, draft: _Draft, said: Said, look: Look) -> Candidate | None:
        draft.look = None
        assert look.near is not None
        if said.reply is None:  # the judge said nothing usable: the evaluator will tell
            return self._candidate(draft)
        verdict = self._judge.read(said.reply)
        if verdict.novel:
            return self._candidate(draft)
        why = f"it is no new idea beside program {look.near}: {verdict.why}"
        rejection = Rejection("judge", look.near, look.similarity, why)
        return self._again(draft, rejection.why, rejection)

    # --- the end ---

    def _again(
        self, draft: _Draft, reason: str, rejection: Rejection | None = None
    ) -> Candidate | None:
        """Ask once more and tell why; the attempt has failed where that was done often enough."""
        if rejection is not None:
            draft.rejections.append(rejection)
        plan = draft.plan
        if draft.tries <= self._config.models.retries:
            draft.tries += 1
            self._ask(draft, f"{plan.prompt}\n{render('rejected', reason=reason)}")
            return None
        kind = NO_PROGRAM if rejection is None else NOT_NOVEL
        lineage = with_steps(plan.lineage, {}, rejected=len(draft.rejections))
        return Candidate(
            plan.number, "", plan.api, lineage, draft.cost, tuple(draft.rejections), kind, reason
        )

    def _candidate(self, draft: _Draft) -> Candidate:
        plan = draft.plan
        before, after = self._novelty.levers(draft.base), self._novelty.levers(draft.text)
        changes = tuple(
            f"{name}={after.get(name, '-')}"
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        )
        lineage = with_steps(plan.lineage, after, changes, len(draft.rejections))
        return Candidate(
            plan.number, draft.text, plan.api, lineage, draft.cost, tuple(draft.rejections)
        )
