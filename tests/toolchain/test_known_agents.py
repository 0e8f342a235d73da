"""The table of known agents, and how a command is recognized."""

import json
import tomllib

import pytest

from warploom.toolchain.known_agents import KNOWN_AGENTS, endpoint_settings, find_known

ADDRESS, KEY = "http://127.0.0.1:9", "wl-key"


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["claude", "-p", "{prompt}"], "claude"),
        (["/opt/bin/codex", "exec", "{prompt}"], "codex"),
        (["npx", "-y", "@zed-industries/codex-acp"], "codex"),
        (["npx", "-y", "@agentclientprotocol/claude-agent-acp"], "claude"),
        (["gemini", "--acp"], "gemini"),
        (["opencode", "acp"], "opencode"),
        (["aider", "--message", "{prompt}"], None),
    ],
)
def test_a_command_is_known_by_its_program(words: list[str], key: str | None) -> None:
    found = find_known(words)
    assert (None if found is None else found.key) == key


@pytest.mark.parametrize("key", KNOWN_AGENTS)
def test_each_agent_is_pointed_at_the_endpoint_and_gets_its_key(key: str) -> None:
    agent = KNOWN_AGENTS[key]
    assert find_known(agent.command) is agent and find_known(agent.acp) is agent
    settings = endpoint_settings(agent, ADDRESS, KEY, agent.routes)
    told = json.dumps([dict(settings.environment), settings.words])
    assert ADDRESS in told and KEY in told
    assert KEY not in "".join(settings.words)  # other users see a command line


def test_codex_takes_its_provider_from_words() -> None:
    words = endpoint_settings(KNOWN_AGENTS["codex"], ADDRESS, KEY, ("openai",)).words
    told = tomllib.loads("\n".join(words[1::2]))
    assert told["model_provider"] == "warploom"
    assert told["model_providers"]["warploom"]["base_url"] == f"{ADDRESS}/v1"


def test_opencode_is_given_no_other_provider() -> None:
    settings = endpoint_settings(KNOWN_AGENTS["opencode"], ADDRESS, KEY, ("gemini",))
    config = json.loads(settings.environment["OPENCODE_CONFIG_CONTENT"])
    assert config["enabled_providers"] == ["google"] == list(config["provider"])
