"""Makes the proposer that a configuration asks for, and hands over from the rules to a model."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from warploom.core.errors import RefusedError
from warploom.evaluation.survey import nccl_version
from warploom.propose import Proposal, ProposalContext, Proposer
from warploom.propose.llm import Facts, LLMProposer, ModelOptions
from warploom.propose.rules import RulesProposer
from warploom.toolchain.gpu import find_gpus
from warploom.toolchain.sandbox import require_sandbox
from warploom.transform.agents import open_agent
from warploom.transform.config import EMULATOR, TransformConfig, choose_api
from warploom.workload.workload import Workload

CALLS = "calls"
"""The folder of a run that holds what models were asked and said."""

_MORE = "a language model may take over: --model PROVIDER:NAME (docs/transform.md)"

MakeModel = Callable[[tuple[str, ...]], LLMProposer]
"""Opens the model; the argument says why the rules refused."""


class AutoProposer:
    """The rules first; where they refuse or have nothing left, a model, if there is one."""

    def __init__(self, make_model: MakeModel | None, *, plain: bool = True) -> None:
        self._rules = RulesProposer(plain=plain)
        self._make_model = make_model
        self._model: LLMProposer | None = None
        self._refusals: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the origin of its proposals is called; each proposal names the one that made it."""
        return "auto"

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Return the rules' proposal, or else the model's.

        Raises:
            RefusedError: the rules refuse, and there is no model.
        """
        try:
            proposal = None if self._refusals else self._rules.propose(context)
        except RefusedError as error:
            if self._make_model is None:
                refused = RefusedError(error.message, error.refusals)
                refused.hint = _MORE
                raise refused from None
            proposal = None
            self._refusals = tuple(f"line {r.line}: {r.reason}" for r in error.refusals)
        if proposal is not None or self._make_model is None:
            return proposal
        if self._model is None:
            self._model = self._make_model(self._refusals)
        return self._model.propose(context)

    def close(self) -> None:
        """Close the model, where it was opened."""
        if self._model is not None:
            self._model.close()


@contextmanager
def open_proposer(config: TransformConfig, workload: Workload, folder: Path) -> Generator[Proposer]:
    """Yield the proposer that `config` names; its calls are recorded in `folder`/calls.

    Raises:
        MissingToolError: a model or an agent is to propose, and nothing here holds its programs.
    """
    options = config.model

    def make_model(refusals: tuple[str, ...]) -> LLMProposer:
        assert options is not None
        require_sandbox("a language model", unsafe=config.unsafe)
        return LLMProposer(options, facts_of(config, workload, refusals), folder / CALLS)

    if config.proposer == "rules":
        yield RulesProposer(plain=config.plain)
    elif config.proposer == "llm":
        with make_model(()) as model:
            yield model
    elif config.proposer == "agent":
        require_sandbox("a coding agent", unsafe=config.unsafe)
        with open_agent(config, workload, folder, folder / CALLS) as agent:
            yield agent
    else:
        auto = AutoProposer(make_model if options is not None else None, plain=config.plain)
        try:
            yield auto
        finally:
            auto.close()


def facts_of(config: TransformConfig, workload: Workload, refusals: tuple[str, ...] = ()) -> Facts:
    """Return what a model is told besides the program."""
    api, reason = choose_api(config.api_type, workload)
    gpus = () if config.backend == EMULATOR else find_gpus()
    return Facts(
        nccl=nccl_version(workload),
        ranks=workload.shape.ranks,
        lsa_size=workload.shape.lsa_size,
        directives=(("API", f"{api} ({reason})"),),
        hardware=f"The GPUs here: {len(gpus)} x {gpus[0].describe()}." if gpus else "",
        refusals=refusals,
    )


__all__ = ["AutoProposer", "ModelOptions", "facts_of", "open_proposer"]
