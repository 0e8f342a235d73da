"""The lines of docs/agents that hand warploom's tools to an agent, run with the real programs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from installed import bin_folders

from warploom.toolchain.known_agents import KNOWN_AGENTS

DOCS = Path(__file__).parents[2] / "docs" / "agents"
ADDS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli"}


def run(words: list[str], key: str, folder: Path) -> str:
    """Run a command as a user whose home is new; returns what it printed."""
    (folder / "home").mkdir(exist_ok=True)
    programs = [*bin_folders(KNOWN_AGENTS[key]), str(Path(sys.executable).parent)]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("key", ADDS)
def test_the_line_that_adds_our_server(key: str, tmp_path: Path) -> None:
    text = (DOCS / f"{ADDS[key]}.md").read_text()
    (line,) = re.findall(rf"^{key} mcp add .*$", text, re.MULTILINE)
    run(shlex.split(line), key, tmp_path)
    listed = run([key, "mcp", "list"], key, tmp_path)
    (ours,) = [line for line in listed.splitlines() if line.strip(" ✓✗○").startswith("warploom")]
    assert "Disabled" not in ours and "disabled" not in ours
    if key == "claude":  # it alone starts the server to list it, whatever time that takes
        assert "Connected" in ours


def test_the_settings_of_opencode(tmp_path: Path) -> None:
    text = (DOCS / "opencode.md").read_text()
    (settings,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    (tmp_path / "opencode.json").write_text(settings)
    assert re.search(r"warploom.*connected", run(["opencode", "mcp", "list"], "opencode", tmp_path))
