"""`warploom doctor` says which coding agents are here."""

import json
from pathlib import Path

import pytest

from warploom.cli import main


def test_agents_on_the_path_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    main(["doctor", "--json"])
    agents = json.loads(capsys.readouterr().out)["agents"]
    assert agents["claude"] == str(program)
    assert agents["opencode"] is None
    main(["doctor"])
    assert f"claude ({program})" in capsys.readouterr().out
