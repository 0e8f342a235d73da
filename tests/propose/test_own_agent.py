"""warploom's own agent, on a model that answers from a script; its tools are the real ones."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from warploom.core.records import Api
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.llm import Budget, LLMClient, Usage
from warploom.llm.errors import LLMBudgetError
from warploom.llm.transport import Delivery, Exchange, Results, ToolCall
from warploom.propose import Proposal, ProposalContext, Stage
from warploom.propose.agent import AgentLimits, AgentProposer, AgentTask
from warploom.propose.agent.own import OwnAgent
from warploom.propose.agent.tools import Bench
from warploom.source import CUDAAnalyzer
from warploom.testing.scripted import ScriptedModel
from warploom.workload.workload import Workload

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "src" / "warploom" / "emulator" / "include"
WORKLOAD = Workload.from_file(ROOT / "examples" / "allreduce_dp").with_overrides(ranks=2)
TEXT = WORKLOAD.program.read_text()


def asks(name: str, **arguments: object) -> Delivery:
    """Return a reply that calls one tool."""
    call = ToolCall(f"id-{name}", name, json.dumps(arguments))
    return Delivery(
        text="", usage=Usage(input=100, output=10), finish="tool_call", tool_calls=(call,)
    )


def propose(
    script: Sequence[str | Delivery], folder: Path, limits: AgentLimits | None = None
) -> tuple[Proposal, ScriptedModel]:
    """Let the agent work by a script; return what it proposes, and the model."""
    model = ScriptedModel(script)

    def judge(path: Path, level: int) -> Evaluation:
        return evaluate(path, WORKLOAD, level=level)

    def bench(task: AgentTask) -> Bench:
        return Bench(
            task.workspace,
            WORKLOAD,
            lambda path, level: evaluate(path, WORKLOAD, level=level),
            INCLUDE,
        )

    with LLMClient([model], Budget(tokens=1_000_000), folder / "llm") as client:
        proposer = AgentProposer(
            OwnAgent(client, bench), WORKLOAD, "2.32.3", folder, limits or AgentLimits(steps=20)
        )
        proposal = proposer.propose(
            ProposalContext(TEXT, CUDAAnalyzer(WORKLOAD.program).analyze(), Api.LSA, Stage.DEVICE)
        )
    assert proposal is not None
    return proposal, model


def answers(exchange: Exchange) -> str:
    """Return what the tools of the last turn answered."""
    last = exchange.turns[-1]
    assert isinstance(last, Results)
    return last.results[0].text


EDIT = """<<<<<<< SEARCH
int main(int argc, char** argv) {
=======
// changed by the agent
int main(int argc, char** argv) {
>>>>>>> REPLACE"""


def test_it_reads_searches_edits_and_checks(tmp_path: Path) -> None:
    proposal, model = propose(
        [
            asks("list_files"),
            asks("read_file", path="allreduce_dp.cu", first_line=1, last_line=3),
            asks("read_file", path="../../../etc/passwd"),
            asks("search_headers", pattern="ncclGetLsaPointer"),
            asks("search_headers", pattern="("),
            asks("edit_program", patch=EDIT.replace("int main", "int nothing")),
            asks("edit_program", patch=EDIT),
            asks("check", effort="quick"),
            "I changed a comment.",
        ],
        tmp_path,
    )
    said = [answers(exchange) for exchange in model.exchanges[1:]]
    assert "allreduce_dp.cu  (the program)" in said[0]
    assert said[1].startswith(f"    1  {TEXT.splitlines()[0]}")
    assert said[2].startswith("error: there is no file")
    assert "nccl_device/ptr.h" in said[3] or "nccl_device/core.h" in said[3]
    assert said[4].startswith("error: not a regular expression")
    assert said[5].startswith("error: nothing was changed.")
    assert said[6].startswith("changed at line")
    assert said[7].startswith("verdict: ok, 0 errors")
    assert proposal.text == TEXT.replace(
        "int main(int argc", "// changed by the agent\nint main(int argc", 1
    )
    assert proposal.summary == "I changed a comment."


def test_it_is_told_what_does_not_build_and_what_is_wrong(tmp_path: Path) -> None:
    broken = TEXT.replace("int main(", "int no_type(nowhere x);\nint main(", 1)
    proposal, model = propose(
        [
            asks("write_program", code=broken),
            asks("build"),
            asks("write_program", code=""),
            asks("no_such_tool"),
            "I give up.",
        ],
        tmp_path,
    )
    said = [answers(exchange) for exchange in model.exchanges[1:]]
    assert said[1].startswith("failed at level 1")
    assert "nowhere" in said[1]
    assert said[2].startswith("error: the program must not be empty")
    assert "no_such_tool" in said[3]
    assert proposal.text == broken


def test_a_session_cut_off_pays_for_nothing_twice(tmp_path: Path) -> None:
    class CutOffError(Exception):
        """Stands for a process that dies."""

    def dies(_: Exchange) -> Delivery:
        raise CutOffError

    first = [asks("edit_program", patch=EDIT), asks("list_files")]
    steps = iter(first)
    model = ScriptedModel(lambda exchange: next(steps, None) or dies(exchange))
    with (
        pytest.raises(CutOffError),
        LLMClient([model], Budget(tokens=1_000_000), tmp_path / "llm") as client,
    ):
        agent = OwnAgent(client, unjudged)
        AgentProposer(agent, WORKLOAD, "2.32.3", tmp_path, AgentLimits(steps=20)).propose(
            ProposalContext(TEXT, CUDAAnalyzer(WORKLOAD.program).analyze(), Api.LSA, Stage.DEVICE)
        )
    proposal, again = propose(["Done."], tmp_path)
    assert len(again.exchanges) == 1, "the two recorded calls are not sent again"
    assert "// changed by the agent" in proposal.text
    assert proposal.summary == "Done."


def unjudged(task: AgentTask) -> Bench:
    """Return tools of which none may evaluate."""

    def judge(path: Path, level: int) -> Evaluation:
        raise AssertionError(f"{path} was to be evaluated at level {level}")

    return Bench(task.workspace, WORKLOAD, judge, INCLUDE)


def test_steps_are_limited_and_the_work_so_far_is_kept(tmp_path: Path) -> None:
    script = [asks("edit_program", patch=EDIT), *[asks("list_files") for _ in range(40)]]
    proposal, _ = propose(script, tmp_path, AgentLimits(steps=4))
    assert "// changed by the agent" in proposal.text
    assert any("step_limit" in note for note in proposal.notes), proposal.notes


def test_time_is_limited(tmp_path: Path) -> None:
    proposal, _ = propose([asks("list_files")], tmp_path, AgentLimits(seconds=1e-9))
    assert any("time_limit" in note for note in proposal.notes)
    assert proposal.text == TEXT


def test_the_runs_budget_ends_the_run(tmp_path: Path) -> None:
    model = ScriptedModel(["never sent"])
    with (
        LLMClient([model], Budget(tokens=10), tmp_path / "llm") as client,
        pytest.raises(LLMBudgetError),
    ):
        agent = OwnAgent(client, unjudged)
        AgentProposer(agent, WORKLOAD, "2.32.3", tmp_path).propose(
            ProposalContext(TEXT, CUDAAnalyzer(WORKLOAD.program).analyze(), Api.LSA, Stage.DEVICE)
        )
    assert not model.exchanges
