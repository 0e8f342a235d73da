"""The rules as a proposer: conservative first, then with all memory in windows, then no more."""

from warploom.propose.protocol import Proposal, ProposalContext, Stage
from warploom.propose.rules.refusals import require_transformable
from warploom.propose.rules.rewriter import Rewrite, RewritePlan, rewrite


class RulesProposer:
    """Rewrites by rules: needs no model and no network, and is deterministic."""

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return "rules"

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Return the rewritten program, or None after the second attempt of a stage.

        Raises:
            RefusedError: the program is beyond the rules; names every reason and line.
        """
        require_transformable(context.analysis, context.text)
        plan = RewritePlan(context.api, context.stage, markers=context.markers)
        result = rewrite(context.text, context.analysis, plan)
        if context.attempt > 1:
            if context.attempt > 2 or result.every_allocation:
                return None
            wider = RewritePlan(context.api, context.stage, True, context.markers)
            result = rewrite(context.text, context.analysis, wider)
        return Proposal(
            text=result.text,
            origin=self.name,
            summary=_summary(context, result),
            notes=_notes(result),
        )


def _summary(context: ProposalContext, result: Rewrite) -> str:
    windows = f"{len(result.windows)} allocations become windows"
    if context.stage is Stage.WINDOWS:
        return f"{windows}; the host collectives stay"
    calls = len(context.analysis.collectives)
    return f"{windows}; {calls} calls become kernels that communicate by {context.api.upper()}"


def _notes(result: Rewrite) -> tuple[str, ...]:
    notes: list[str] = []
    if result.every_allocation:
        notes.append("all device memory of the program is in windows")
    if not result.opened:
        notes.append("the first communication opens the windows: no statement before it is common")
    return tuple(notes)
