"""The rules as a proposer: the plain form, the general one, then all memory in windows."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from warploom.propose.protocol import Proposal, ProposalContext, Stage
from warploom.propose.rules.plain import PLAIN
from warploom.propose.rules.refusals import require_transformable
from warploom.propose.rules.rewriter import Rewrite, RewritePlan, rewrite


class RulesProposer:
    """Rewrites by rules: needs no model and no network, and is deterministic.

    `plain`: the plain form first, where a program allows it.
    """

    def __init__(self, *, plain: bool = True) -> None:
        self._plain = plain

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return "rules"

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Return the rewritten program, or None when no form is left.

        Raises:
            RefusedError: the program is beyond the rules; names every reason and line.
        """
        require_transformable(context.analysis, context.text)
        forms = islice(self._forms(context), context.attempt - 1, None)
        result = next(forms, None)
        if result is None:
            return None
        return Proposal(
            text=result.text,
            origin=self.name,
            summary=_summary(context, result),
            notes=_notes(result),
        )

    def _forms(self, context: ProposalContext) -> Iterator[Rewrite]:
        """Yield the program in its plain form, in the general one, and with all memory in windows.

        A later stage keeps the form of the one before.
        """
        plan = RewritePlan(context.api, context.stage, markers=context.markers)
        if self._plain and (not context.base or PLAIN in context.base):
            plain = rewrite(context.text, context.analysis, replace(plan, plain=True))
            if plain.plain:
                yield plain
        general = rewrite(context.text, context.analysis, plan)
        yield general
        if not general.every_allocation:
            yield rewrite(context.text, context.analysis, replace(plan, every_allocation=True))


_MOVED = {
    "async": "stream-ordered memory becomes windows: a free waits for its stream on the host, and "
    "memory pools do not count these buffers",
    "managed": "managed memory that the host never touches becomes windows: device memory",
}


def _summary(context: ProposalContext, result: Rewrite) -> str:
    windows = f"{len(result.windows)} allocations become windows"
    if context.stage is Stage.WINDOWS:
        return f"{windows}; the host collectives stay"
    calls = len(context.analysis.collectives)
    return f"{windows}; {calls} calls become kernels that communicate by {context.api.upper()}"


def _notes(result: Rewrite) -> tuple[str, ...]:
    notes: list[str] = []
    if result.plain:
        notes.append("plain form: one communicator, and buffers that are alike on all ranks")
    if result.every_allocation:
        notes.append("all device memory of the program is in windows")
    notes += [text for kind, text in _MOVED.items() if kind in result.moved]
    if not result.opened:
        notes.append("the first communication opens the windows: no statement before it is common")
    return tuple(notes)
