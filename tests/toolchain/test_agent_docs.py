"""docs/agents and the table of known agents say the same, and lines that start something can."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from warploom.cli.transform_ask import config_of
from warploom.cli.transform_options import TransformChoices
from warploom.propose.agent import AgentOptions, outside_agent
from warploom.toolchain.known_agents import KNOWN_AGENTS, KnownAgent

DOCS = Path(__file__).parents[2] / "docs" / "agents"
PAGES = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}
OURS = ["warploom", "mcp"]


def page(key: str) -> str:
    """Return an agent's page, its continued lines joined."""
    return (DOCS / f"{PAGES[key]}.md").read_text().replace("\\\n", " ")


def blocks(text: str, kind: str) -> list[str]:
    """Return the blocks of code of one kind."""
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def starts(text: str) -> list[list[str]]:
    """Return the words of each line that starts a transform."""
    lines = [line for block in blocks(text, "console") for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("warploom transform")]


@pytest.mark.parametrize("agent", KNOWN_AGENTS.values(), ids=KNOWN_AGENTS)
def test_a_page_names_what_the_table_has(agent: KnownAgent) -> None:
    text = page(agent.key)
    assert {agent.package.pinned, agent.acp_package.pinned} <= set(re.findall(r"`([^`\n]+)`", text))
    asked = [words[words.index("--agent") + 1] for words in starts(text)]
    expected = [agent.key, agent.acp_template]
    if agent.acp_package != agent.package:
        expected.append(agent.npx_template)
    assert asked == expected
    assert agent.template in text.splitlines()
    for prefix in agent.variables:
        assert f"`{prefix}`" in text


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_every_line_that_starts_a_transform_is_one(path: Path) -> None:
    for words in starts(path.read_text().replace("\\\n", " ")):
        given = dict(zip(words[3::2], words[4::2], strict=True))
        models = [given["--model"]] if "--model" in given else None
        choices = TransformChoices(
            target=Path(words[2]), proposer=given["--proposer"], agent=given["--agent"],
            models=models,
        )  # fmt: skip
        config = config_of(choices)
        if config.agent.agent != "own":
            assert outside_agent(config.agent).name.startswith(("agent:", "acp:"))


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_every_setting_that_names_our_server_is_right(path: Path) -> None:
    text = path.read_text()
    for block in blocks(text, "json"):
        (servers,) = json.loads(block).values()
        server = servers["warploom"]
        command = server["command"]
        words = command if isinstance(command, list) else [command, *server["args"]]
        assert words == OURS
    for block in blocks(text, "toml"):
        server = tomllib.loads(block)["mcp_servers"]["warploom"]
        assert [server["command"], *server["args"]] == OURS
    for line in text.splitlines():
        if re.match(r"\w+ mcp add ", line):
            assert line.endswith("warploom mcp")


SKILL = re.compile(r"^.*\bwarploom mcp --skill .*$", re.MULTILINE)
WRITERS = [
    pytest.param(line, id=f"{path.stem}-{at}")
    for path in sorted(DOCS.glob("*.md"))
    for at, line in enumerate(SKILL.findall("".join(blocks(path.read_text(), "console"))))
]


@pytest.mark.parametrize("line", WRITERS)
def test_a_line_that_writes_the_skill_does(line: str, tmp_path: Path) -> None:
    place = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (written,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written.relative_to(tmp_path).as_posix() == line.rpartition("> ")[2].strip()
    assert written.read_text().startswith("---\nname: warploom")


def test_the_settings_that_we_bring_name_our_server() -> None:
    for agent in KNOWN_AGENTS.values():
        for value in agent.environment.values():
            settings = json.loads(Path(value).read_text())
            server = (settings.get("mcpServers") or settings["mcp"])["warploom"]
            command = server["command"]
            words = command if isinstance(command, list) else [command, *server["args"]]
            assert words == OURS


def test_the_name_of_an_agent_stands_for_its_command() -> None:
    for key, agent in KNOWN_AGENTS.items():
        assert outside_agent(AgentOptions(key)) == outside_agent(AgentOptions(agent.template))
