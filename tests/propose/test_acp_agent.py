"""An agent that speaks ACP, as a real process beside us."""

import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("acp", reason="the extra [agents] is not installed")

from warploom.core.errors import ToolFailedError
from warploom.core.records import Api
from warploom.propose import Proposal, ProposalContext, Stage
from warploom.propose.agent import AgentLimits, AgentProposer
from warploom.propose.agent import acp as acp_module
from warploom.propose.agent.acp import AcpAgent
from warploom.source import CUDAAnalyzer
from warploom.workload.workload import Workload

ROOT = Path(__file__).parents[2]
WORKLOAD = Workload.from_file(ROOT / "examples" / "allreduce_dp")
TEXT = WORKLOAD.program.read_text()


def propose(mode: str, folder: Path, limits: AgentLimits | None = None) -> Proposal:
    """Let the test agent work in one of its modes."""
    agent = AcpAgent(
        (sys.executable, str(Path(__file__).with_name("acp_agent.py")), mode), clean=True
    )
    proposer = AgentProposer(
        agent, WORKLOAD, "2.30.7", folder, limits or AgentLimits(seconds=60.0, steps=20)
    )
    proposal = proposer.propose(
        ProposalContext(TEXT, CUDAAnalyzer(WORKLOAD.program).analyze(), Api.LSA, Stage.DEVICE)
    )
    assert proposal is not None
    return proposal


def test_it_edits_through_us_after_asking(tmp_path: Path) -> None:
    proposal = propose("edit", tmp_path)
    assert proposal.text == TEXT + "// by acp\n"
    assert proposal.summary == "I edited the program."
    assert "session: done, 1 steps" in proposal.notes
    log = (tmp_path / "agent-device-1" / "session.jsonl").read_text()
    assert '"sessionUpdate": "tool_call"' in log


def test_it_may_write_its_copy_itself(tmp_path: Path) -> None:
    assert propose("direct", tmp_path).text == TEXT + "// by hand\n"


def test_we_write_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    proposal = propose("escape", tmp_path)
    assert proposal.summary.count("refused") == 2
    assert not list(tmp_path.rglob("outside.txt"))


def test_steps_are_limited(tmp_path: Path) -> None:
    proposal = propose("steps", tmp_path, AgentLimits(seconds=60.0, steps=5))
    assert "session: step_limit, 6 steps" in proposal.notes


def test_reported_cost_is_limited_and_kept(tmp_path: Path) -> None:
    proposal = propose("spend", tmp_path, AgentLimits(seconds=60.0, dollars=1.0))
    assert proposal.cost == 5.0
    assert any(note.startswith("session: cost_limit") for note in proposal.notes)


def test_time_is_limited_and_the_work_so_far_is_judged(tmp_path: Path) -> None:
    started = time.monotonic()
    proposal = propose("hang", tmp_path, AgentLimits(seconds=8.0))
    assert time.monotonic() - started < 40
    assert proposal.text == TEXT + "// by hand\n"
    assert any("time_limit" in note for note in proposal.notes)


@pytest.mark.parametrize(
    ("mode", "words"), [("die", "exit code 3: I am out of tokens"), ("login", "log in")]
)
def test_an_agent_that_breaks_off_says_why(tmp_path: Path, mode: str, words: str) -> None:
    with pytest.raises(ToolFailedError, match=words):
        propose(mode, tmp_path)


def test_what_does_not_speak_acp_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_module, "_START", 2.0)
    with pytest.raises(ToolFailedError, match="speak ACP"):
        propose("mute", tmp_path)
