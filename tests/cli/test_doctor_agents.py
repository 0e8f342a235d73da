"""`warploom doctor` says which coding agents are here."""

import json
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.toolchain.known_agents import KNOWN_AGENTS


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
    told = capsys.readouterr().out
    assert f"Claude Code ({program}): claude" in told
    agent = KNOWN_AGENTS["opencode"]
    assert f"OpenCode; npm install -g {agent.package.pinned}" in told


def test_what_it_would_run_and_what_is_missing_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("gemini", "codex-acp"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    main(["doctor", "--json"])
    states = {item["key"]: item for item in json.loads(capsys.readouterr().out)["coding_agents"]}
    assert states["gemini"]["runs"] == ["gemini", KNOWN_AGENTS["gemini"].acp_template]
    assert states["gemini"]["missing"] == []
    assert states["codex"]["runs"] == [KNOWN_AGENTS["codex"].acp_template]
    assert states["codex"]["missing"] == [f"npm install -g {KNOWN_AGENTS['codex'].package.pinned}"]
    assert states["claude"]["runs"] == [] and len(states["claude"]["missing"]) == 2
