"""The real agents, as npm ships them, with a scripted model: what docs/agents says of them.

`pytest tests/agents` runs all; CI runs one. WARPLOOM_TEST_AGENTS names the folder of packages.
"""

import signal

import pytest
from agent_model import AgentModel, LoopingModel
from installed import agents
from stage import end, finished, serve, staged, wait_for

from warploom.testing.loopback import Every, LoopbackServer

KINDS = ("command", "acp")
CHECK = "warploom check gather.cu --ranks 2 --effort quick"


def worker(check: str) -> AgentModel:
    """Return a model that uses warploom's tools and its command, and writes the right program."""
    shell = (
        f"{check} > checked.txt 2>&1; echo exit code $? >> checked.txt",
        "cp right.txt gather.cu",
    )
    tools = (
        ("analyze", {"program": "gather.cu"}),
        ("check", {"target": "gather.cu", "effort": "quick", "ranks": 2}),
    )
    return AgentModel(shell=shell, tools=tools)


@pytest.mark.parametrize("user", ["root", "nobody"])
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", agents())
def test_it_transforms_a_program_and_checks_its_own_work(
    key: str, kind: str, sandbox: str, user: str
) -> None:
    with staged(key, kind, sandbox, user) as stage:
        model = worker(stage.warploom_check(CHECK))
        with serve(model) as server:
            code, said = finished(stage.start(server, *stage.words()))
        assert code == 0, (said, model.transcript())
        assert "verified: transformed to GIN" in said
        assert "ok (no defect found" in stage.left("checked.txt"), stage.left("checked.txt")
        assert stage.left("checked.txt").endswith("exit code 0\n")
        for tool in ("analyze", "check"):
            assert model.called(tool), (tool, sorted(model.offered))
        assert "ncclAllGather" in model.answer_to("analyze")
        assert "no defect found" in model.answer_to("check")
        assert "models:" in said  # every call went through warploom


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", agents())
def test_a_looping_model_never_crosses_a_cap_of_ten_cents(key: str, kind: str) -> None:
    """What counts is what the model's server has delivered, at the price of the model."""
    model = LoopingModel()
    with (
        staged(key, kind, "bubblewrap", "root") as stage,
        LoopbackServer(model, models=Every(), counter=model.count) as server,
    ):
        code, said = finished(stage.start(server, *stage.words("0.10", "3,15")))
    billed = server.billed()
    assert server.delivered, said
    assert billed.input * 3e-6 + billed.output * 15e-6 <= 0.10
    assert code != 0 and "cap of 0.1 dollars" in said, said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", agents())
def test_it_is_interrupted_and_resumed(key: str, kind: str) -> None:
    with staged(key, kind, "bubblewrap", "root") as stage:
        first = AgentModel(shell=("cp right.txt gather.cu",), hangs=True)
        with serve(first) as server:
            process = stage.start(server, *stage.words())
            try:
                wait_for("the agent never came to its end", lambda: first.ends or process.poll())
                process.send_signal(signal.SIGINT)
                code, said = finished(process)
            finally:
                end(process)
        assert code == 130, said
        assert "--resume out.run" in said
        second = AgentModel(shell=("cp right.txt gather.cu",))
        with serve(second) as server:
            code, said = finished(stage.start(server, "--resume", "out.run", "--agent-steps", "99"))
        assert code == 0, (said, second.transcript())
        assert "verified: transformed to GIN" in said
