"""A language model as a proposer: it rewrites, is told what failed, and rewrites again."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Self

from warploom.llm import LLMClient, LLMRequest
from warploom.llm.ledger import Spent
from warploom.llm.recorder import Recorder
from warploom.llm.transport import Transport
from warploom.propose.llm.answers import EITHER, WHOLE
from warploom.propose.llm.context import Facts, facts_text, trial_text
from warploom.propose.llm.options import ModelOptions
from warploom.propose.llm.prompts import render
from warploom.propose.llm.protocols import PROTOCOL
from warploom.propose.llm.replies import Reading, read_reply
from warploom.propose.llm.unusable import UNUSABLE, cure
from warploom.propose.protocol import Proposal, ProposalContext, Stage, Trial
from warploom.source.regions import Program

_JUDGE_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class _Said:
    """One call's outcome: what was said, or why nothing usable was; dollars where known."""

    text: str
    cost: float | None
    problem: str = ""


class LLMProposer:
    """Proposes by a language model; another one may explain what failed.

    Each proposal takes one call, and one more of the judge where an attempt before it failed. A
    reply without a usable program becomes a proposal with a `problem`: the next prompt tells it.
    Calls are recorded in `records`, and a call that is recorded there is not made again.
    """

    def __init__(self, options: ModelOptions, facts: Facts, records: Path) -> None:
        judges = () if options.judge is None else (options.judge,)
        self._options = options
        self._facts = facts
        self._records = Recorder(records)
        self._client = LLMClient(
            (*options.models, *judges), options.budget, records, settings=options.settings
        )

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return "llm"

    @property
    def spent(self) -> Spent:
        """What the run has paid for, in earlier processes too."""
        return self._client.spent

    def propose(self, context: ProposalContext) -> Proposal:
        """Return what the model made of the program, whatever it is worth.

        Raises:
            LLMError: no reply could be had: no key, no price, a cap, an outage.
            BadInputError: the program is too long for a prompt.
        """
        words = self._explained(context)
        trials = context.trials
        if words.text:
            trials = (*trials[:-1], _with_words(trials[-1], words.text))
        prompt = _rewrite_prompt(context, trials, self._facts, self._options)
        said = self._ask(context, "rewrite", prompt, self._options.max_output_tokens)
        base = Program(_shown(context))
        reading = Reading(problem=said.problem)
        if not said.problem:
            reading = read_reply(said.text, base, free=not base.regions)
        files = {"prompt.md": prompt, "reply.md": said.text}
        if words.text:
            files["judge.md"] = words.text
        return Proposal(
            text=reading.text,
            origin=self.name,
            summary=f"{_name(self._model(context))}: attempt {context.attempt}",
            notes=reading.notes,
            cost=(said.cost or 0.0) + (words.cost or 0.0),
            cost_known=said.cost is not None and words.cost is not None,
            problem=reading.problem,
            files=files,
        )

    def close(self) -> None:
        """Close connections and release the records."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _model(self, context: ProposalContext) -> str | Transport:
        models = self._options.models
        return models[(context.attempt - 1) % len(models)]

    def _explained(self, context: ProposalContext) -> _Said:
        """Let the judge read the last attempt's report, where one was run."""
        if not self._options.judged or not context.trials or not context.trials[-1].report:
            return _Said("", 0.0)
        program = context.trials[-1].text
        facts = f"The program communicates by {str(context.api).upper()}."
        prompt = render(
            "judge", api=str(context.api).upper(), facts=facts if program else "",
            trial=trial_text(context.trials[-1:]),
        )  # fmt: skip
        said = self._ask(context, "judge", prompt, _JUDGE_TOKENS)
        return _Said("" if said.problem else said.text, said.cost)

    def _ask(self, context: ProposalContext, purpose: str, prompt: str, tokens: int) -> _Said:
        judging = purpose == "judge" and self._options.judge is not None
        model = self._options.judge if judging else self._model(context)
        assert model is not None
        request = LLMRequest(
            purpose=purpose,
            system=render("system"),
            prompt=prompt,
            key=f"{context.stage}/attempt-{context.attempt:03d}/{purpose}",
            max_output_tokens=tokens,
            model=_name(model),
        )
        try:
            reply = self._client.ask_blocking(request)
        except UNUSABLE as error:
            call = self._records.load(error.call_id) if error.call_id else None
            if call is None:
                return _Said("", 0.0, cure(error))
            return _Said(call.delivery.text, _dollars(call.cost_usd), cure(error))
        return _Said(reply.text, reply.cost_usd)


def _dollars(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def _name(model: str | Transport) -> str:
    return model if isinstance(model, str) else model.name


def _with_words(trial: Trial, words: str) -> Trial:
    return Trial(trial.number, trial.text, trial.failure, trial.report, trial.diagnosis, words)


def _shown(context: ProposalContext) -> str:
    """Return the program that edits are made in: the one that the prompt shows last."""
    if context.trials and context.trials[-1].text:
        return context.trials[-1].text
    return context.base or context.text


def _rewrite_prompt(
    context: ProposalContext, trials: tuple[Trial, ...], facts: Facts, options: ModelOptions
) -> str:
    api = str(context.api).upper()
    said = {
        "api": api,
        "facts": facts_text(context, facts, options.context_tokens),
        "trial": trial_text(trials),
        "answer": EITHER if trials and trials[-1].text else WHOLE,
    }
    if context.stage is Stage.WINDOWS:
        return render("rewrite_stage_a", **said)
    name = "rewrite_stage_b" if context.base else "rewrite_single"
    return render(name, protocol=PROTOCOL[context.api], **said)
