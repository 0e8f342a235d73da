"""Outside agents whose model warploom serves: caps hold, costs are known, keys stay with us."""

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.llm import Budget, Price
from warploom.llm.keys import Keys
from warploom.propose import Stage
from warploom.propose.agent import AgentLimits, AgentReport, AgentTask, Ended
from warploom.propose.agent.command import CommandAgent
from warploom.propose.agent.served import Wanted, open_service
from warploom.propose.agent.workspace import Workspace
from warploom.testing.loopback import KEY, MODELS, LoopbackServer
from warploom.testing.wire import Asked, Reply
from warploom.toolchain.sandbox import SandboxKind, find_sandbox

PRICE = Price(3, 15)
PROMPT = ("-p", "{prompt_file}")


def keys_for(server: LoopbackServer) -> Keys:
    """Return the user's keys: Anthropic's alone."""
    return Keys({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.address})


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Yield a program called `claude` in PATH, to be written; the user's key is in our own
    environment, as it is in a user's."""
    place = tmp_path / "bin" / "claude"
    place.parent.mkdir()
    monkeypatch.setenv("PATH", f"{place.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/not-here")
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret-value")
    yield place


ASK = (
    f"""
    MODEL = {MODELS["anthropic"]!r}
"""
    + """
    import json, os, sys, urllib.error, urllib.request
    def ask(text="hello", most=1200):
        body = {"model": MODEL, "max_tokens": most, "messages": [{"role": "user", "content": text}]}
        request = urllib.request.Request(
            os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
            {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"})
        try:
            return 200, json.load(urllib.request.urlopen(request))
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
"""
)


def write(program: Path, body: str) -> None:
    """Write a Python program that can `ask` its model."""
    text = f"#!{sys.executable}\n{dedent(ASK)}\n{dedent(body)}"
    program.write_text(text)
    program.chmod(0o755)


@contextmanager
def working(
    tmp_path: Path, server: LoopbackServer, budget: Budget, command: tuple[str, ...], **task: float
) -> Generator[AgentReport]:
    """Yield the report of one session of a command."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.cu").write_text("int main() {}\n")
    limits = AgentLimits(seconds=task.get("seconds", 60.0), steps=int(task.get("steps", 60)))
    (tmp_path / "log").mkdir()
    told = AgentTask(
        "device-1", Api.LSA, Stage.DEVICE, "Do it.",
        Workspace(folder, folder / "a.cu", "int main() {}\n"), limits, tmp_path / "log",
    )  # fmt: skip
    wanted = Wanted(budget, PRICE)
    with open_service(wanted, command, tmp_path / "calls", keys_for(server)) as service:
        yield CommandAgent(command, service=service).work(told)


def test_an_agent_works_and_its_cost_is_known(tmp_path: Path, claude: Path) -> None:
    write(claude, """
        code, said = ask()
        open("a.cu", "w").write("// " + said["content"][0]["text"])
    """)  # fmt: skip
    reply = Reply("changed", input_tokens=1000, output_tokens=100)
    with (
        LoopbackServer([reply]) as server,
        working(tmp_path, server, Budget(dollars=1), ("claude", *PROMPT)) as report,
    ):
        assert report.ended is Ended.DONE, report.notes
    assert report.cost == pytest.approx(1000 * 3e-6 + 100 * 15e-6)
    assert (tmp_path / "work" / "a.cu").read_text() == "// changed"
    (call,) = (tmp_path / "calls").glob("*/call.json")
    assert json.loads(call.read_text())["key"] == "agent-device-1"


def test_the_users_keys_and_settings_never_reach_the_agent(tmp_path: Path, claude: Path) -> None:
    write(claude, """
        import glob
        told = [str(dict(os.environ))]
        for file in (*glob.glob("/proc/*/environ"), *glob.glob("/proc/*/cmdline")):
            try:
                told.append(open(file, "rb").read().decode(errors="replace"))
            except OSError:
                pass
        open("told.txt", "w").write("\\n".join(told))
    """)  # fmt: skip
    with (
        LoopbackServer([]) as server,
        working(tmp_path, server, Budget(), ("claude", *PROMPT)) as report,
    ):
        assert report.ended is Ended.DONE, report.notes
    told = (tmp_path / "work" / "told.txt").read_text()
    assert "warploom-" in told  # the session's own key is there
    assert "CLAUDE_CODE_USE_BEDROCK" not in told.split("\n")[0]
    seen = told if find_sandbox().kind is SandboxKind.BUBBLEWRAP else told.split("\n")[0]
    assert KEY not in seen and "aws-secret-value" not in seen and "not-here" not in seen


def test_a_login_file_cannot_be_read(
    tmp_path: Path, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_sandbox().kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(f"bubblewrap is needed: {find_sandbox().reason}")
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / ".credentials.json").write_text('{"token": "the-login"}')
    monkeypatch.setenv("HOME", str(home))
    write(claude, """
        said = open(os.path.expanduser("~/.claude/.credentials.json")).read()
        moved = os.environ["CLAUDE_CONFIG_DIR"] != os.path.expanduser("~/.claude")
        print("read", repr(said), moved)
    """)  # fmt: skip
    with (
        LoopbackServer([]) as server,
        working(tmp_path, server, Budget(), ("claude", *PROMPT)) as report,
    ):
        assert report.summary == "read '' True", report


def test_a_looping_agent_ends_at_the_cap(tmp_path: Path, claude: Path) -> None:
    """It ignores every refusal; what it wrote is taken, and its cost stays below the cap."""
    write(claude, """
        open("a.cu", "w").write("// half")
        while True:
            ask("again " * 50)
    """)  # fmt: skip

    def answer(asked: Asked) -> Reply:
        most = asked.body["max_tokens"]
        return Reply("x", input_tokens=len(asked.text.encode()), output_tokens=most)

    with (
        LoopbackServer(answer) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("warploom.propose.agent.served._PATIENCE", 1.0)
        with working(tmp_path, server, Budget(dollars=0.10), ("claude", *PROMPT)) as report:
            billed = server.billed()
    cost = billed.input * 3e-6 + billed.output * 15e-6
    assert 0.05 < cost <= 0.10 and report.cost == pytest.approx(cost)
    assert report.ended is Ended.COST and "cap of 0.1 dollars" in report.notes[0]
    assert report.seconds < 30


def test_a_command_is_held_to_its_steps(tmp_path: Path, claude: Path) -> None:
    write(claude, """
        codes = [ask()[0] for _ in range(5)]
        print(codes)
    """)  # fmt: skip
    with (
        LoopbackServer(lambda _: Reply("x")) as server,
        working(tmp_path, server, Budget(), ("claude", *PROMPT), steps=2) as report,
    ):
        assert report.summary == "[200, 200, 400, 400, 400]"
    assert report.ended is Ended.STEPS and report.steps == 2


def test_an_agent_that_we_do_not_know_can_ask_for_the_endpoint(tmp_path: Path) -> None:
    body = """
        import os
        print(os.environ["WARPLOOM_ENDPOINT"][:17], os.environ["WARPLOOM_ENDPOINT_KEY"][:9])
    """
    command = (sys.executable, "-c", dedent(body), "{prompt_file}")
    with (
        LoopbackServer([]) as server,
        working(tmp_path, server, Budget(dollars=1), command) as report,
    ):
        assert report.summary == "http://127.0.0.1: warploom-"


@pytest.mark.parametrize(
    ("command", "keys", "word"),
    [
        (("claude", "-p", "{prompt}"), {}, "ANTHROPIC_API_KEY"),
        (("codex", "exec", "{prompt}"), {"ANTHROPIC_API_KEY": KEY}, "OPENAI_API_KEY"),
        (("aider", "{prompt}"), {"ANTHROPIC_API_KEY": KEY}, "WARPLOOM_ENDPOINT"),
    ],
)
def test_a_cap_that_nothing_holds_is_refused(
    command: tuple[str, ...], keys: dict[str, str], word: str, tmp_path: Path
) -> None:
    budget = Budget(dollars=1)
    with (
        pytest.raises(BadInputError, match="--max-cost cannot be held") as caught,
        open_service(Wanted(budget), command, tmp_path, Keys(keys)),
    ):
        pass
    assert word in caught.value.hint and "--uncapped-agent" in caught.value.hint
    with open_service(Wanted(budget, uncapped=True), command, tmp_path, Keys(keys)) as service:
        assert service is None


def test_a_key_cannot_be_passed_by_name(tmp_path: Path) -> None:
    wanted = Wanted(Budget(), variables=("ANTHROPIC_API_KEY",))
    with (
        pytest.raises(BadInputError, match="must not get ANTHROPIC_API_KEY"),
        open_service(wanted, ("claude", "{prompt}"), tmp_path, Keys({"ANTHROPIC_API_KEY": KEY})),
    ):
        pass


def test_an_uncapped_agent_gets_its_own_limit_and_tells_its_cost(
    tmp_path: Path, claude: Path
) -> None:
    write(claude, """
        print(json.dumps({"type": "result", "result": " ".join(sys.argv[1:3]),
                          "total_cost_usd": 0.25, "is_error": False}))
    """)  # fmt: skip
    folder = tmp_path / "work"
    (tmp_path / "log").mkdir()
    folder.mkdir()
    (folder / "a.cu").write_text("x")
    task = AgentTask(
        "device-1", Api.LSA, Stage.DEVICE, "Do it.", Workspace(folder, folder / "a.cu", "x"),
        AgentLimits(seconds=60, dollars=0.5), tmp_path / "log",
    )  # fmt: skip
    report = CommandAgent(("claude", *PROMPT)).work(task)
    assert report.cost == 0.25 and "--max-budget-usd 0.5" in report.summary
