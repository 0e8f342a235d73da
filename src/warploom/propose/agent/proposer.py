"""Turns a session of an agent into a proposal: copy, instruct, let it work, take the program."""

import json
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import NotRequired, TypedDict, cast

from warploom.core.errors import ToolFailedError
from warploom.core.jsontext import write_json
from warploom.core.records import to_json
from warploom.llm.errors import LLMBudgetError
from warploom.propose.agent.session import Agent, AgentLimits, AgentReport, AgentTask, Ended
from warploom.propose.agent.workspace import AgentLeftNothingError, Workspace, make_workspace
from warploom.propose.protocol import Proposal, ProposalContext, Stage
from warploom.workload.workload import Workload

COSTS = "costs.jsonl"
"""The file among the sessions of a run with a line for each: what it has cost."""

TASK = Path(__file__).with_name("task.md")

_STAGES = {
    Stage.WINDOWS: "This is the first of two steps: allocate the communication buffers with "
    "`ncclMemAlloc`, register them as windows and create the device communicator, and leave the "
    "host collectives in place. The second step will replace them.",
    Stage.DEVICE: "Replace every host collective in the program by kernels that communicate "
    "themselves, with the windows, device communicator and clean-up that they need.",
}


class _Kept(TypedDict):
    """`session.json`: an `AgentReport` as JSON, and which agent it was."""

    origin: NotRequired[str]
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
        limits: of one session; its dollars are those of all sessions together.
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
            LLMBudgetError: the sessions before have used up the dollars, or its calls of a model
                were refused for a cap before it changed anything.
        """
        key = f"{context.stage}-{context.attempt}"
        place = self.folder.resolve() / f"agent-{key}"  # a sandbox knows no current folder
        if not (place / "session.json").is_file():
            self._hold(context, key, place)
        kept = _read(place / "session.json")
        return Proposal(
            text=(place / self.workload.program.name).read_bytes().decode(),
            origin=kept.get("origin", self.name),
            summary=kept["summary"] or "(the agent said nothing)",
            notes=(f"session: {kept['ended']}, {kept['steps']} steps", *kept["notes"]),
            cost=kept["cost"] or 0.0,
            cost_known=kept["cost"] is not None,
        )

    def _hold(self, context: ProposalContext, key: str, place: Path) -> None:
        """Hold a session and keep what came of it; `session.json` is written last."""
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        limits = self._limits()
        space = make_workspace(self.workload, _shown(context), place / "work")
        instruction = self.instruction(context)
        (place / "task.md").write_text(instruction, encoding="utf-8")
        report = self.agent.work(
            AgentTask(key, context.api, context.stage, instruction, space, limits, place)
        )
        self._note_cost(key, report)
        if report.ended is Ended.COST and not report.cost and not space.changed:
            raise LLMBudgetError(
                f"{self.name} was refused its first call of a model: {'; '.join(report.notes)}",
                hint="raise the cap and resume",
            )
        if report.ended is Ended.FAILED and not space.changed:
            raise ToolFailedError(
                f"{self.name} must work on its copy, but failed and changed nothing: "
                f"{'; '.join(report.notes)}",
                hint=f"see {place}",
            )
        text, notes = _taken(space)
        (place / self.workload.program.name).write_bytes(text.encode())
        write_json(place / "session.json", self._kept(report, notes))

    def _note_cost(self, key: str, report: AgentReport) -> None:
        """Keep what a session has cost, whatever became of it."""
        told = {"session": key, "ended": str(report.ended), "cost": report.cost}
        with (self.folder / COSTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")

    def _kept(self, report: AgentReport, notes: tuple[str, ...]) -> object:
        data = to_json(report)
        assert isinstance(data, dict)
        return {**data, "origin": self.name, "notes": [*report.notes, *notes]}

    def _limits(self) -> AgentLimits:
        """Return the session's limits: the dollars that the run has left.

        Raises:
            LLMBudgetError: none are left.
        """
        if self.limits.dollars is None:
            return self.limits
        spent = sum(cost or 0.0 for cost in session_costs(self.folder))
        left = self.limits.dollars - spent
        if left <= 0 < spent:
            raise LLMBudgetError(
                f"agents have cost ${spent:.2f}, and the cap is ${self.limits.dollars:.2f}",
                hint="raise --max-cost",
            )
        return replace(self.limits, dollars=left)

    def instruction(self, context: ProposalContext) -> str:
        """Return the task in words."""
        workload = self.workload
        team = workload.shape.ranks if workload.shape.lsa_size is None else workload.shape.lsa_size
        calls = [f"- line {c.line}: {c.name}" for c in context.analysis.collectives]
        options = f" --lsa-size {team} --nccl {self.nccl}"
        options += "".join(f" -D {name}={value}" for name, value in workload.defines.items())
        return Template(TASK.read_text(encoding="utf-8")).substitute(
            program=workload.program.name,
            ranks=workload.shape.ranks,
            team=team,
            api=context.api.upper(),
            nccl=self.nccl,
            stage=_STAGES[context.stage],
            calls="\n".join(calls),
            feedback=_told(context),
            options=options,
            warploom=_own_program(),
        )


def session_costs(folder: Path) -> tuple[float | None, ...]:
    """Return what each session of a run has cost, in US dollars; None where nobody told it."""
    file = folder / COSTS
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return tuple(cast("float | None", json.loads(line)["cost"]) for line in lines)


def _own_program() -> str:
    """Return how a shell starts us; by its path, for a login shell has a PATH of its own."""
    beside = Path(sys.executable).with_name("warploom")
    return str(beside) if beside.is_file() else "warploom"


def _read(file: Path) -> _Kept:
    return cast("_Kept", json.loads(file.read_text(encoding="utf-8")))


def _shown(context: ProposalContext) -> str:
    """Return the text to go on with: the last attempt's, the last stage's, or the original."""
    last = next((trial.text for trial in reversed(context.trials) if trial.text), "")
    return last or context.base or context.text


def _told(context: ProposalContext) -> str:
    """Return what the evaluator said of the last attempt."""
    if not context.trials:
        return ""
    last = context.trials[-1]
    report = last.report or last.failure
    said = f"\nThe program is as attempt {last.number} left it. The evaluator said of it:\n\n"
    return f"{said}```\n{report.rstrip()}\n```\n" + (
        f"\n{last.diagnosis}\n" if last.diagnosis else ""
    )


def _taken(space: Workspace) -> tuple[str, tuple[str, ...]]:
    """Return the program that the agent left; the original where there is none."""
    try:
        text = space.result()
    except AgentLeftNothingError as error:
        return space.original, (error.message,)
    return text, () if text != space.original else ("the agent changed nothing",)
