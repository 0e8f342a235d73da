"""A whole transform by coding agents: from a build error, over a wrong result and a missing wait
that only the happens-before check sees, to a verified program."""

import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from llm_script import versions, write_workload

from warploom.core.errors import BadInputError
from warploom.core.records import Timing
from warploom.llm import Budget, LLMSettings, Price, Usage
from warploom.llm.transport import Delivery, Results, ToolCall
from warploom.propose.agent import AgentLimits, AgentOptions
from warploom.propose.llm import ModelOptions
from warploom.testing.scripted import ScriptedModel
from warploom.transform import PipelineResult, PreTransformPipeline, TransformConfig

COPY = """
    import pathlib
    here = pathlib.Path.cwd()
    number = here.parent.name.rsplit("-", 1)[1]
    text = pathlib.Path("versions", number + ".txt").read_text()
    pathlib.Path("gather.cu").write_text(text)
    print("version", number)
"""
ACP = """
    import asyncio, pathlib, sys
    from acp import PROTOCOL_VERSION, run_agent
    from acp.schema import InitializeResponse, NewSessionResponse, PromptResponse

    class Agent:
        def on_connect(self, client):
            self.client = client

        async def initialize(self, protocol_version, **_):
            return InitializeResponse(protocol_version=PROTOCOL_VERSION)

        async def new_session(self, cwd, **_):
            self.folder = pathlib.Path(cwd)
            return NewSessionResponse(session_id="one")

        async def prompt(self, prompt, session_id, **_):
            number = self.folder.parent.name.rsplit("-", 1)[1]
            if number != "1":
                assert "The evaluator said of it" in prompt[0].text
            text = (self.folder / "versions" / (number + ".txt")).read_text()
            await self.client.write_text_file(
                session_id=session_id, path=str(self.folder / "gather.cu"), content=text
            )
            return PromptResponse(stop_reason="end_turn")

    asyncio.run(run_agent(Agent()))
"""


def workload(folder: Path) -> Path:
    """Write the workload, with the programs that an agent will come up with beside it."""
    made = write_workload(folder / "work")
    (made / "versions").mkdir(exist_ok=True)
    for number, text in enumerate(versions(), 1):
        (made / "versions" / f"{number}.txt").write_text(text)
    return made


def transform(folder: Path, agent: AgentOptions, model: ModelOptions | None) -> PipelineResult:
    config = TransformConfig(
        api_type="gin", two_stage=False, nvcc=False, timings=(Timing.EAGER,), proposer="agent",
        agent=agent, model=model,
    )  # fmt: skip
    pipeline = PreTransformPipeline(config)
    return pipeline.run(workload(folder), folder / "out", run_dir=folder / "run")


def errors(folder: Path) -> set[str]:
    """Return the kinds of error of one attempt."""
    data = json.loads((folder / "evaluation.json").read_text())["evaluation"]["findings"]
    return {item["kind"] for item in data if item["severity"] == "error"}


def command(body: str) -> str:
    """Return this Python as a command that runs a program; the task comes last."""
    quoted = dedent(body).replace("'", '"')
    return f"{sys.executable} -c '{quoted}'"


@pytest.mark.parametrize("kind", ["command", "acp"])
def test_an_outside_agent_gets_there_in_four_sessions(tmp_path: Path, kind: str) -> None:
    if kind == "acp":
        pytest.importorskip("acp", reason="the extra [agents] is not installed")
    words = (
        f"command:{command(COPY)} {{prompt_file}}" if kind == "command" else f"acp:{command(ACP)}"
    )
    options = AgentOptions(words, AgentLimits(seconds=120.0), clean=True)
    result = transform(tmp_path, options, None)
    assert result.verified, result.steps
    (stage,) = result.stages
    assert stage.attempts == 4
    assert stage.origin.startswith({"command": "agent:", "acp": "acp:"}[kind])
    kinds = [errors(folder) for folder in sorted((tmp_path / "run" / "stage-b").iterdir())]
    assert kinds[0] == {"build"}
    assert "wrong_result" in kinds[1]
    assert "missing_wait" in kinds[2] and "wrong_result" not in kinds[2]
    assert kinds[3] == set()
    told = (tmp_path / "run" / "agents" / "agent-device-4" / "task.md").read_text()
    assert "missing_wait" in told and "is not ordered after" in told
    assert Path(str(result.program)).read_text().count("// Communicates from the device.") == 1


def asks(name: str, **arguments: Any) -> Delivery:
    call = ToolCall(f"id-{name}", name, json.dumps(arguments))
    usage = Usage(input=1000, output=100)
    return Delivery(text="", usage=usage, finish="tool_call", tool_calls=(call,), model="writer")


def test_our_own_agent_gets_there_in_one_session(tmp_path: Path) -> None:
    texts = versions()
    steps = [
        asks("write_program", code=texts[0]), asks("build"),
        asks("write_program", code=texts[1]), asks("evaluate"),
        asks("write_program", code=texts[2]), asks("check", effort="quick"),
        asks("write_program", code=texts[3]), asks("evaluate"),
        "It communicates from the device now.",
    ]  # fmt: skip
    model = ScriptedModel(steps, "writer")
    settings = LLMSettings(prices={"writer": Price(3.0, 15.0)}, attempts=1)
    options = ModelOptions((model,), None, False, Budget(dollars=5.0), settings)
    result = transform(tmp_path, AgentOptions(limits=AgentLimits(steps=20)), options)
    assert result.verified, result.steps
    answers = [
        turn.results[0].text for turn in model.exchanges[-1].turns if isinstance(turn, Results)
    ]
    assert "stram" in answers[1] and answers[1].startswith("failed at level 1")
    assert "wrong_result" in answers[3] or "differs" in answers[3]
    assert "missing_wait" in answers[5]
    assert answers[7] == "passed at level 2"
    assert result.stages[0].attempts == 1
    assert result.spent is not None and result.spent.requests == 9
    assert result.cost == pytest.approx(float(result.spent.dollars), abs=1e-9)


def test_a_wrong_agent_is_refused_before_anything_runs() -> None:
    for words in ("claudia", "command:claude -p", "acp:", "acp:'unbalanced"):
        with pytest.raises(BadInputError):
            AgentOptions(words)
    with pytest.raises(BadInputError, match="needs a model"):
        TransformConfig(proposer="agent")
