"""Outside agents, as real processes: a command, and an agent that speaks ACP."""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from warploom.core.errors import BadInputError, MissingToolError, ToolFailedError
from warploom.core.records import Api
from warploom.propose import ProposalContext, Stage, Trial
from warploom.propose.agent import AgentLimits, AgentOptions, AgentProposer
from warploom.propose.agent.command import CommandAgent
from warploom.propose.agent.session import Agent
from warploom.source import CUDAAnalyzer
from warploom.toolchain.sandbox import SandboxKind, find_sandbox
from warploom.workload.workload import Workload

ROOT = Path(__file__).parents[2]
ALLREDUCE = ROOT / "examples" / "allreduce_dp"


def context(workload: Workload, *feedback: str) -> ProposalContext:
    """Return what a proposer gets to know of a workload's program."""
    return ProposalContext(
        workload.program.read_text(),
        CUDAAnalyzer(workload.program).analyze(),
        Api.LSA,
        Stage.DEVICE,
        trials=tuple(Trial(n, "", text, text) for n, text in enumerate(feedback, 1)),
    )


def command_agent(body: str) -> CommandAgent:
    """Return an agent that is a Python program; the file with its task is `sys.argv[1]`."""
    return CommandAgent((sys.executable, "-c", dedent(body), "{prompt_file}"), clean=True)


def proposer(agent: Agent, folder: Path, **limits: float) -> AgentProposer:
    """Return a proposer for the all-reduce example."""
    workload = Workload.from_file(ALLREDUCE)
    bounds = AgentLimits(seconds=limits.get("seconds", 60.0), steps=int(limits.get("steps", 60)))
    return AgentProposer(agent, workload, "2.30.7", folder, bounds)


EDITS = """
    import pathlib, sys
    task = pathlib.Path(sys.argv[1]).read_text()
    assert "Make the communication" in task and "LSA" in task, task
    program = pathlib.Path("allreduce_dp.cu")
    program.write_text(program.read_text() + "// touched\\n")
    pathlib.Path("workload.toml").write_text("ranks = 1")
    print("done: I touched it")
"""


def test_a_command_proposes_what_it_leaves_and_only_the_program(tmp_path: Path) -> None:
    made = proposer(command_agent(EDITS), tmp_path / "run")
    proposal = made.propose(context(made.workload))
    assert proposal is not None
    assert proposal.text == made.workload.program.read_text() + "// touched\n"
    assert proposal.summary == "done: I touched it"
    assert "ranks = 1" not in (ALLREDUCE / "workload.toml").read_text()


def test_a_session_that_ended_is_not_held_again(tmp_path: Path) -> None:
    counter = tmp_path / "run" / "agent-device-1" / "task.md"
    made = proposer(command_agent(EDITS), tmp_path / "run")
    first = made.propose(context(made.workload))
    before = counter.stat().st_mtime_ns
    again = replace(made, agent=command_agent("raise SystemExit('must not run again')"))
    assert again.propose(context(made.workload)) == first
    assert counter.stat().st_mtime_ns == before


def test_a_session_that_was_cut_off_is_held_anew(tmp_path: Path) -> None:
    half = tmp_path / "run" / "agent-device-1"
    (half / "work").mkdir(parents=True)
    (half / "work" / "allreduce_dp.cu").write_text("half an edit")
    made = proposer(command_agent(EDITS), tmp_path / "run")
    proposal = made.propose(context(made.workload))
    assert proposal is not None
    assert proposal.text.endswith("// touched\n")
    assert "half an edit" not in proposal.text


def test_the_task_carries_calls_stage_and_feedback(tmp_path: Path) -> None:
    made = proposer(command_agent(""), tmp_path)
    text = made.instruction(context(made.workload, "race at line 7: nobody waits"))
    analysis = CUDAAnalyzer(made.workload.program).analyze()
    for call in analysis.collectives:
        assert f"line {call.line}: {call.name}" in text
    assert "race at line 7: nobody waits" in text
    assert "Replace every host collective" in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("import os; os.unlink('allreduce_dp.cu')", "removed"),
        ("import os; os.unlink('allreduce_dp.cu'); os.symlink('/etc/passwd', 'allreduce_dp.cu')",
         "plain file"),
        ("open('allreduce_dp.cu', 'wb').write(b'\\xff\\xfe')", "no text"),
        ("open('allreduce_dp.cu', 'w').write('x' * (5 << 20))", "at most 4 MiB"),
        ("pass", "changed nothing"),
    ],
)  # fmt: skip
def test_what_is_no_program_is_not_taken(tmp_path: Path, body: str, word: str) -> None:
    made = proposer(command_agent(body), tmp_path / "run")
    proposal = made.propose(context(made.workload))
    assert proposal is not None
    assert proposal.text == made.workload.program.read_text()
    assert any(word in note for note in proposal.notes), proposal.notes


def test_an_agent_that_fails_and_changes_nothing_is_an_error(tmp_path: Path) -> None:
    made = proposer(command_agent("raise SystemExit('please log in')"), tmp_path / "run")
    with pytest.raises(ToolFailedError, match="please log in"):
        made.propose(context(made.workload))


def test_an_agent_that_never_ends_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = f"agent-child-{os.getpid()}"
    body = f"""
        import subprocess, sys, time
        open("allreduce_dp.cu", "a").write("// before the limit\\n")
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # {mark}"],
                         start_new_session=True)
        time.sleep(600)
    """
    agent = command_agent(body)
    made = proposer(agent, tmp_path / "run", seconds=3.0)
    started = time.monotonic()
    proposal = made.propose(context(made.workload))
    assert time.monotonic() - started < 30
    assert proposal is not None
    assert proposal.text.endswith("// before the limit\n")
    assert any("time_limit" in note for note in proposal.notes)
    assert not processes_with(mark)


def processes_with(word: str) -> list[str]:
    """Return the command lines of living processes that hold `word`."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:  # it has ended
                continue
            if word in line:
                found.append(line)
    return found


def test_an_agent_writes_nowhere_else_and_gets_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"bubblewrap is needed: {find_sandbox().reason}")
    monkeypatch.setenv("SOME_SECRET", "hunter2")
    victim = ROOT / "examples" / "victim.txt"
    body = f"""
        import os, pathlib
        said = []
        for place in ({str(victim)!r}, str(pathlib.Path.home() / "victim.txt")):
            try:
                open(place, "w").write("gotcha")
                said.append("wrote " + place)
            except OSError as error:
                said.append(error.strerror)
        said.append("secret " + os.environ.get("SOME_SECRET", "unseen"))
        open("allreduce_dp.cu", "a").write("// changed\\n")
        print("; ".join(said))
    """
    made = proposer(command_agent(body), tmp_path / "run")
    proposal = made.propose(context(made.workload))
    assert proposal is not None
    assert not victim.exists()
    *places, secret = proposal.summary.split("; ")
    # A clone below /tmp is not there at all: an agent has a /tmp of its own.
    assert places[0] in ("Read-only file system", "No such file or directory")
    assert places[1:] == ["Read-only file system"] and secret == "secret unseen"


@pytest.mark.parametrize("text", ["", "claude -p", "claude 'unbalanced {prompt}"])
def test_a_wrong_template_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        CommandAgent.parse(text)


def test_placeholders_are_filled_once(tmp_path: Path) -> None:
    agent = CommandAgent.parse(
        f"{sys.executable} -c 'import sys; print(sys.argv[1:])' a{{folder}}b {{prompt}}"
    )
    made = proposer(agent, tmp_path / "run")
    proposal = made.propose(context(made.workload, "literal {folder} stays"))
    assert proposal is not None
    assert "literal {folder} stays" in (tmp_path / "run/agent-device-1/output.txt").read_text()


def test_a_missing_program_says_so(tmp_path: Path) -> None:
    made = proposer(CommandAgent.parse("no-such-agent {prompt}"), tmp_path)
    with pytest.raises(MissingToolError, match="no-such-agent"):
        made.propose(context(made.workload))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"variables": ("A=B",)}, "must name a variable"),
        ({"variables": ("SURELY_NOT_SET",)}, "which is not set here"),
        ({"agent": "nobody"}, "must be own, claude, codex, gemini, opencode"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        AgentOptions(**options)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_session_has_an_end(seconds: float) -> None:
    with pytest.raises(BadInputError, match="seconds"):
        AgentLimits(seconds=seconds)
