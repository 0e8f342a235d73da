"""Turns a session of an agent into a proposal: copy, instruct, let it work, take the program."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import TypedDict, cast

from warploom.core.errors import ToolFailedError
from warploom.core.jsontext import write_json
from warploom.core.records import to_json
from warploom.evaluate.workload import Workload
from warploom.propose.agent.session import Agent, AgentLimits, AgentReport, AgentTask, Ended
from warploom.propose.agent.workspace import AgentLeftNothingError, Workspace, make_workspace
from warploom.propose.protocol import Proposal, ProposalContext, Stage

TASK = Path(__file__).with_name("task.md")

_STAGES = {
    Stage.WINDOWS: "This is the first of two steps: allocate the communication buffers with "
    "`ncclMemAlloc`, register them as windows and create the device communicator, and leave the "
    "host collectives in place. The second step will replace them.",
    Stage.DEVICE: "Replace every host collective in the program by kernels that communicate "
    "themselves, with the windows, device communicator and clean-up that they need.",
}


class _Kept(TypedDict):
    """`session.json`: an `AgentReport` as JSON."""

    ended: str
    summary: str
    steps: int
    cost: float | None
    seconds: float
    notes: list[str]


@dataclass(frozen=True, slots=True)
class AgentProposer:
    """Proposes what an agent leaves in its copy of the workload.

    Attributes:
        agent: who works.
        workload: what is copied; its program is replaced by the context's text.
        nccl: NCCL version whose rules hold.
        folder: of the run; each session has its own below it.
        limits: of one session.
    """

    agent: Agent
    workload: Workload
    nccl: str
    folder: Path
    limits: AgentLimits = field(default_factory=AgentLimits)

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return self.agent.name

    def propose(self, context: ProposalContext) -> Proposal | None:
        """Let the agent work once; a session that ended before is not held again.

        Raises:
            MissingToolError: the agent is not on this machine.
            ToolFailedError: it failed, and changed nothing.
        """
        key = f"{context.stage}-{context.attempt}"
        place = self.folder / f"agent-{key}"
        if not (place / "session.json").is_file():
            self._hold(context, key, place)
        kept = cast("_Kept", json.loads((place / "session.json").read_text(encoding="utf-8")))
        return Proposal(
            text=(place / self.workload.program.name).read_bytes().decode(),
            origin=self.name,
            summary=kept["summary"] or "(the agent said nothing)",
            notes=(f"session: {kept['ended']}, {kept['steps']} steps", *kept["notes"]),
            cost=kept["cost"] or 0.0,
        )

    def _hold(self, context: ProposalContext, key: str, place: Path) -> None:
        """Hold a session and keep what came of it; `session.json` is written last."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        space = make_workspace(self.workload, context.text, place / "work")
        instruction = self.instruction(context)
        (place / "task.md").write_text(instruction, encoding="utf-8")
        report = self.agent.work(AgentTask(key, instruction, space, self.limits, place))
        if report.ended is Ended.FAILED and not space.changed:
            raise ToolFailedError(
                f"{self.name} must work on its copy, but failed and changed nothing: "
                f"{'; '.join(report.notes)}",
                hint=f"see {place}",
            )
        text, notes = _taken(space)
        (place / self.workload.program.name).write_bytes(text.encode())
        write_json(place / "session.json", _with_notes(report, notes))

    def instruction(self, context: ProposalContext) -> str:
        """Return the task in words."""
        workload = self.workload
        team = workload.ranks if workload.lsa_size is None else workload.lsa_size
        calls = [f"- line {c.line}: {c.name}" for c in context.analysis.collectives]
        feedback = "".join(f"\n{item}\n" for item in context.feedback)
        options = f" --lsa-size {team} --nccl {self.nccl}"
        options += "".join(f" -D {name}={value}" for name, value in workload.defines.items())
        return Template(TASK.read_text(encoding="utf-8")).substitute(
            program=workload.program.name,
            ranks=workload.ranks,
            team=team,
            api=context.api.upper(),
            nccl=self.nccl,
            stage=_STAGES[context.stage],
            calls="\n".join(calls),
            feedback=f"\nEarlier versions failed:\n{feedback}" if feedback else "",
            options=options,
        )


def _taken(space: Workspace) -> tuple[str, tuple[str, ...]]:
    """Return the program that the agent left; the original where there is none."""
    try:
        text = space.result()
    except AgentLeftNothingError as error:
        return space.original, (error.message,)
    return text, () if text != space.original else ("the agent changed nothing",)


def _with_notes(report: AgentReport, notes: tuple[str, ...]) -> object:
    data = to_json(report)
    assert isinstance(data, dict)
    return {**data, "notes": [*report.notes, *notes]}
