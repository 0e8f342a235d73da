"""A whole transform against servers that speak the providers' wire formats, and killed runs."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from llm_script import PROGRAM, fenced, replies, right, write_workload

from warploom.core.records import Timing
from warploom.llm import Budget, LLMSettings, Usage
from warploom.llm.errors import LLMBudgetError
from warploom.llm.prices import Prices
from warploom.propose.llm import ModelOptions
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply
from warploom.transform import PipelineResult, PreTransformPipeline, TransformConfig


def steps() -> list[Reply]:
    """The replies of writer and judge in turn, with odd numbers of tokens."""
    written = replies()
    said = [written[0]]
    for reply in written[1:]:
        said += ["This is the reason.", reply]
    return [
        Reply(text, input_tokens=10_007 + 13 * n, output_tokens=1_003 + 7 * n)
        for n, text in enumerate(said)
    ]


def transform(folder: Path, model: str, budget: Budget, *, stream: bool) -> PipelineResult:
    options = ModelOptions((model,), budget=budget, settings=LLMSettings(stream=stream))
    config = TransformConfig(
        api_type="gin", two_stage=False, proposer="llm", model=options, nvcc=False,
        timings=(Timing.EAGER,),
    )  # fmt: skip
    workload = write_workload(folder / "work")
    return PreTransformPipeline(config).run(workload, folder / "out", run_dir=folder / "run")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


# tests/llm reads each provider's replies both ways.
@pytest.mark.parametrize(
    ("prefix", "stream"), [("anthropic", False), ("openai", True), ("openai-chat", False)]
)
def test_a_whole_transform(prefix: str, stream: bool, tmp_path: Path) -> None:
    with LoopbackServer(steps()) as server:
        model = server.model(prefix)
        result = transform(tmp_path, model, Budget(dollars=5.0), stream=stream)
        billed = server.billed()
        asked = list(server.asked)
    assert result.verified, result.steps
    assert result.stages[0].attempts == 4
    kinds = [_errors(tmp_path / "run" / "stage-b" / f"attempt-00{n}") for n in (1, 2, 3, 4)]
    assert kinds[0] == {"build"} and "wrong_result" in kinds[1]
    assert "missing_wait" in kinds[2] and "wrong_result" not in kinds[2] and not kinds[3]
    # Tokens and dollars are those that the server counted and the price list says.
    assert result.spent is not None and result.spent.requests == len(asked) == 7
    usage = Usage(billed.input, billed.output, billed.cached, billed.cache_write)
    assert result.spent.usage == usage
    assert result.spent.dollars == Prices({}).cost(model, usage)
    assert Decimal(str(result.cost)).quantize(Decimal("0.0001")) == result.spent.dollars.quantize(
        Decimal("0.0001")
    )
    # The key went to the server and nowhere else.
    assert KEY not in "".join(p.read_text() for p in tmp_path.rglob("*") if p.is_file())


def _errors(folder: Path) -> set[str]:
    data = json.loads((folder / "evaluation.json").read_text())
    findings = data["evaluation"]["findings"]
    return {item["kind"] for item in findings if item["severity"] == "error"}


def test_a_cap_in_dollars_stops_in_time(tmp_path: Path) -> None:
    prices, model_name = Prices({}), "anthropic:claude-sonnet-5-5"
    long = [replace(s, output_tokens=30_000 if n % 2 == 0 else 300) for n, s in enumerate(steps())]
    one = prices.cost(model_name, Usage(10_000, 30_000))
    assert one is not None
    cap = float(3 * one)  # three replies of the writer; a fourth could cross it
    with LoopbackServer(long) as server:
        model = server.model("anthropic")
        with pytest.raises(LLMBudgetError, match="cap"):
            transform(tmp_path, model, Budget(dollars=cap), stream=False)
        billed = server.billed()
        assert 1 <= len(server.asked) < 7
    cost = prices.cost(model, Usage(billed.input, billed.output))
    assert cost is not None and 0 < cost <= Decimal(str(cap))


KILLS = 20

# --- killed at any moment -----------------------------------------------------------------------


def answer(asked: Asked) -> Reply:
    """Answer by what is asked, as a model would: a resumed run may ask again, or later."""
    if "say why this program fails" in asked.text:
        return Reply("This is the reason.")
    again = "Attempt 1: what came of it" in asked.text
    return Reply(fenced(right()) if again else replies()[0])


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "warploom.cli", "transform", *words]


class Runs:
    """Runs of one transform, each in a folder of its own; processes may be killed."""

    def __init__(self, folder: Path, model: str) -> None:
        self.folder = folder
        self.model = model
        self.number = 0
        self.work = write_workload(folder / "work")
        self.environment = {
            **os.environ, "WARPLOOM_PROGRESS": "json", "ANTHROPIC_API_KEY": KEY,
        }  # fmt: skip

    def start(self) -> subprocess.Popen[str]:
        """Go on with the run, or start it."""
        run = self.folder / f"out{self.number}.run"
        if (run / "run.json").is_file():
            words = ["--resume", str(run), "--json"]
        else:
            words = [
                str(self.work), "--out", str(self.folder / f"out{self.number}"), "--proposer",
                "llm", "--model", self.model, "--max-cost", "20", "--one-stage", "--no-nvcc",
                "--no-markers", "--no-warmup", "--json", "--api", "gin", "--jobs", "1",
            ]  # fmt: skip
        return subprocess.Popen(
            command(*words), cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def whole(self) -> tuple[dict[str, object], int]:
        """Let the run end; returns its report and how many steps of progress it told."""
        process = self.start()
        report, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
        return json.loads(report), told.count('"progress"')

    def killed(self, after: int) -> bool:
        """Kill the run after so many steps of progress; False where it ended before."""
        process = self.start()
        assert process.stderr is not None
        for line in process.stderr:
            after -= '"progress"' in line
            if after <= 0:
                break
        over = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        return not over and process.returncode == -signal.SIGKILL


def same(report: dict[str, object]) -> tuple[object, ...]:
    """What must not depend on interruptions."""
    stages = report["stages"]
    assert isinstance(stages, list)
    program = Path(str(report["program"])).read_text()
    models = report["models"]
    assert isinstance(models, dict)
    return (
        report["verified"], program, report["cost"], models["requests"], models["usage"],
        [(s["attempts"], s["origin"], s["cost"], s["diagnosis"]) for s in stages],
    )  # fmt: skip


@pytest.mark.long
def test_twenty_kills_change_nothing_and_pay_nothing_twice(tmp_path: Path) -> None:
    random_steps = random.Random(7)
    with LoopbackServer(answer) as server:
        runs = Runs(tmp_path, server.model("anthropic"))
        expected, steps_told = runs.whole()
        calls = len(server.asked)
        assert calls == 3 and expected["verified"]
        kills = 0
        while kills < KILLS:
            runs.number += 1
            before = len(server.asked)
            while kills < KILLS and runs.killed(random_steps.randint(1, steps_told)):
                kills += 1
            report, _ = runs.whole()
            assert same(report) == same(expected)
            bodies = Counter(asked.text for asked in server.asked[before:])
            models = report["models"]
            assert isinstance(models, dict)
            # A call on its way when the process died was not delivered: it is told as such.
            lost = models["uncertain_requests"]
            assert len(bodies) == calls
            assert sum(bodies.values()) <= calls + lost


def test_only_caps_may_be_given_with_resume(tmp_path: Path) -> None:
    done = subprocess.run(
        command("--resume", str(tmp_path), "--api", "lsa"), capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--resume takes" in done.stderr and "got: --api" in done.stderr
    done = subprocess.run(command("--resume", str(tmp_path)), capture_output=True, text=True)
    assert done.returncode == 2 and "no run.json" in done.stderr


def test_a_changed_program_is_another_run(tmp_path: Path) -> None:
    with LoopbackServer([Reply("no")]) as server:
        runs = Runs(tmp_path, server.model("anthropic"))
        words = [
            str(runs.work), "--out", "out0", "--proposer", "llm", "--model", runs.model,
            "--one-stage", "--no-nvcc", "--attempts", "1", "--max-cost", "20", "--api", "gin",
        ]  # fmt: skip
        first = subprocess.run(
            command(*words), cwd=tmp_path, env=runs.environment, capture_output=True, text=True
        )
    assert first.returncode == 1, first.stderr
    assert "no program: the reply has no code" in first.stdout
    assert "models: 1 calls" in first.stdout
    (runs.work / "gather.cu").write_text(PROGRAM.replace("% 101", "% 99"))
    again = subprocess.run(
        command("--resume", "out0.run"), cwd=tmp_path, env=runs.environment, capture_output=True,
        text=True,
    )  # fmt: skip
    assert again.returncode == 2 and "was changed since the run began" in again.stderr
