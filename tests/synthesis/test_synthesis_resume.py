"""A run that was ended goes on where it was: nothing is asked twice, nothing old is believed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.errors import BadInputError
from warploom.core.folder_lock import held_alone
from warploom.llm import Budget
from warploom.synthesis.config import Retries, SynthesisConfig
from warploom.synthesis.orchestrator import synthesize
from warploom.synthesis.resume import BEGUN, begin
from warploom.testing.kernel_attacks import HONEST, REFERENCE
from warploom.testing.scripted import ScriptedModel

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'warploom[torch]'")

_ZEROS = HONEST.replace("x[i] * 2.0f + 1.0f", "0.0f")


def _reply(text: str) -> str:
    return f"```cuda\n{text}```\n"


def test_what_was_asked_and_refused_before_is_read(tmp_path: Path) -> None:
    reference = tmp_path / "twice.py"
    reference.write_text(REFERENCE)
    first = ScriptedModel([_reply(_ZEROS)])
    second = ScriptedModel([_reply(HONEST)])

    def run(model: ScriptedModel, mend: int, *, resume: bool) -> bool:
        config = SynthesisConfig(
            proposer="llm", models=(model,), nvcc=False, budget=Budget(tokens=1_000_000), jobs=2,
            retries=Retries(0, mend, 0), resume=resume,
        )  # fmt: skip
        return synthesize("y = 2 x + 1", reference, config=config, out=tmp_path / "out").verified

    assert not run(first, 0, resume=False)
    before = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run(second, 1, resume=True)
    after = json.loads((tmp_path / "out" / "report.json").read_text())
    assert len(second.exchanges) == 1, "the first reply was recorded"
    assert after["run"] == before["run"]
    assert after["error"] == ""


def test_only_the_same_run_is_resumed(tmp_path: Path) -> None:
    facts = {"run": "a", "seed": 1, "prompt": "p", "reference": "r", "target": "sm_90",
             "proposer": "rules"}  # fmt: skip
    with pytest.raises(BadInputError, match="no run to resume"):
        begin(tmp_path, facts, resume=True)
    begin(tmp_path, facts, resume=False)
    begin(tmp_path, facts, resume=False)  # it came to nothing: its folder may be used again
    assert begin(tmp_path, {**facts, "seed": 2, "run": "b"}, resume=True)["seed"] == 1
    with pytest.raises(BadInputError, match="same prompt"):
        begin(tmp_path, {**facts, "prompt": "q"}, resume=True)


def test_a_run_is_not_overwritten_and_its_folder_not_shared(tmp_path: Path) -> None:
    facts = {"run": "a", "seed": 1, "prompt": "p", "reference": "r", "target": "sm_90",
             "proposer": "rules"}  # fmt: skip
    begin(tmp_path, facts, resume=False)
    (tmp_path / "attempts").mkdir()
    with pytest.raises(BadInputError, match="holds a run already"):
        begin(tmp_path, facts, resume=False)
    reference = tmp_path / "twice.py"
    reference.write_text(REFERENCE)
    with (
        held_alone(tmp_path / "out"),
        pytest.raises(BadInputError, match="another process"),
    ):
        synthesize("y = 2 x + 1", reference, out=tmp_path / "out")


def test_a_killed_run_leaves_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "twice.py", tmp_path / "out"
    file.write_text(REFERENCE)
    ask = ["synthesize", "--prompt", "x", "--reference", str(file), "--no-nvcc", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "warploom.cli", *ask], start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not (out / BEGUN).is_file() or not (out / "report.json").is_file():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    report = json.loads((out / "report.json").read_text())
    assert not report["verified"]
    assert "did not come to its end" in report["error"]
    assert main(["inspect", str(out)]) == 0
    assert "not verified" in capsys.readouterr().out


def test_models_and_retries_of_stages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ask = ["synthesize", "--prompt", "x", "--reference", "no.py", "--out", str(tmp_path)]
    assert main([*ask, "--stage-model", "polish=command:cat"]) == 2
    assert "--stage-model must be STAGE=VALUE" in capsys.readouterr().err
    assert main([*ask, "--retries", "codegen=many"]) == 2
    assert "N a number" in capsys.readouterr().err
    with pytest.raises(BadInputError, match="polish"):
        SynthesisConfig(stage_models={"polish": ("a",)})


def test_a_stage_asks_its_own_models(tmp_path: Path) -> None:
    reference = tmp_path / "twice.py"
    reference.write_text(REFERENCE)
    weak = ScriptedModel([_reply(_ZEROS)], "weak")
    strong = ScriptedModel([_reply(HONEST)], "strong")
    config = SynthesisConfig(
        proposer="llm", models=(weak,), stage_models={"correctness": (strong,)}, nvcc=False,
        budget=Budget(tokens=1_000_000), jobs=2, retries=Retries(0, 1, 0),
    )  # fmt: skip
    assert synthesize("y = 2 x + 1", reference, config=config, out=tmp_path / "out").verified
    assert (len(weak.exchanges), len(strong.exchanges)) == (1, 1)
