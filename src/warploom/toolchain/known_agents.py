"""The one table of coding agents that we know: packages, programs, endpoints, state, commands.

Docs, `warploom doctor`, the sandbox and the tests read it. Versions are those that the tests of
this repository drive; the facts come from each maker's documentation and `--help` of that version.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Package:
    """A package of npm: its name, the version that we tested, and the program that it brings."""

    name: str
    version: str
    program: str

    @property
    def pinned(self) -> str:
        """What `npm install` takes."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """One coding agent.

    Attributes:
        key: its name in our options and files: the beginning of its programs' names.
        title: its name for people.
        package: brings the agent's program.
        acp_package: brings the program that speaks ACP for it; the agent's own where it does.
        node: the least major version of Node.js that the packages name; 0 is none.
        command: words of the command that works on one task, `{prompt}` the task.
        acp: words of the command that speaks ACP.
        routes: prefixes of model strings whose endpoint it lets us set: `anthropic` is the
            Messages API, `openai` Responses, `gemini` generateContent.
        variables: beginnings of the names of the variables that its maker documents.
        state: files and folders below HOME that it writes.
        state_variable: the variable that moves its state to another folder, or empty.
        logins: files below HOME that hold a login or a key.
        budget: an option that takes dollars, or empty where it has none.
        environment: variables that hand it warploom's tools, where its command cannot.
    """

    key: str
    title: str
    package: Package
    acp_package: Package
    node: int
    command: tuple[str, ...]
    acp: tuple[str, ...]
    routes: tuple[str, ...]
    variables: tuple[str, ...]
    state: tuple[str, ...]
    state_variable: str
    logins: tuple[str, ...]
    budget: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def template(self) -> str:
        """The command, as `--agent` takes it."""
        return "command:" + _spelled(self.command)

    @property
    def acp_template(self) -> str:
        """The command that speaks ACP, as `--agent` takes it."""
        return "acp:" + _spelled(self.acp)

    @property
    def npx_template(self) -> str:
        """The same for a package that is not installed: `npx` downloads it."""
        words = self.acp[1:]
        return "acp:" + _spelled(("npx", "-y", self.acp_package.pinned, *words))


_CLAUDE = Package("@anthropic-ai/claude-code", "2.1.332", "claude")
_CLAUDE_ACP = Package("@agentclientprotocol/claude-agent-acp", "0.101.0", "claude-agent-acp")
_CODEX = Package("@openai/codex", "0.169.0", "codex")
_CODEX_ACP = Package("@zed-industries/codex-acp", "0.16.0", "codex-acp")
_GEMINI = Package("@google/gemini-cli", "0.61.0", "gemini")
_OPENCODE = Package("opencode-ai", "1.18.33", "opencode")

KNOWN_AGENTS: Mapping[str, KnownAgent] = {
    agent.key: agent
    for agent in (
        KnownAgent(
            "claude", "Claude Code", _CLAUDE, _CLAUDE_ACP, 22,
            ("claude", "-p", "{prompt}", "--permission-mode", "acceptEdits",
             "--allowedTools", "Read,Edit,Write,Bash,mcp__warploom",
             "--mcp-config", '{"mcpServers":{"warploom":{"command":"warploom","args":["mcp"]}}}'),
            ("claude-agent-acp",),
            ("anthropic",),
            ("ANTHROPIC_", "CLAUDE_", "AWS_"),
            (".claude", ".claude.json"), "CLAUDE_CONFIG_DIR",
            (".claude/.credentials.json",),
            "--max-budget-usd",
        ),
        KnownAgent(
            "codex", "Codex", _CODEX, _CODEX_ACP, 16,
            ("codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access",
             "-c", 'mcp_servers.warploom={command="warploom", args=["mcp"], required=true, '
             "startup_timeout_sec=120, tool_timeout_sec=900}",
             "{prompt}"),
            ("codex-acp", "-c", 'sandbox_mode="danger-full-access"'),
            ("openai",),
            ("OPENAI_", "CODEX_", "AZURE_OPENAI_"),
            (".codex",), "CODEX_HOME",
            (".codex/auth.json",),
        ),
        KnownAgent(
            "gemini", "Gemini CLI", _GEMINI, _GEMINI, 20,
            ("gemini", "--skip-trust", "--approval-mode", "yolo", "-p", "{prompt}"),
            ("gemini", "--skip-trust", "--acp"),
            ("gemini",),
            ("GEMINI_", "GOOGLE_"),
            (".gemini",), "GEMINI_CLI_HOME",
            (".gemini/oauth_creds.json", ".gemini/.env"),
            environment={"GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(_HERE / "gemini_settings.json")},
        ),
        KnownAgent(
            "opencode", "OpenCode", _OPENCODE, _OPENCODE, 0,
            ("opencode", "run", "{prompt}"),
            ("opencode", "acp"),
            ("anthropic", "openai", "gemini"),
            ("ANTHROPIC_", "OPENAI_", "OPENROUTER_", "OPENCODE_"),
            (".local/share/opencode", ".local/state/opencode", ".cache/opencode",
             ".config/opencode"), "",
            (".local/share/opencode/auth.json",),
            environment={"OPENCODE_CONFIG": str(_HERE / "opencode_settings.json")},
        ),
    )
}  # fmt: skip
"""By key. `find_known` says which one a command is."""


def find_known(command: Sequence[str]) -> KnownAgent | None:
    """Return the agent that a command starts, or None for one that we do not know.

    It is known by the beginning of the name of a word: `npx -y @zed-industries/codex-acp` is Codex.
    """
    for word in command[:4]:  # the words after these are the agent's own options
        name = PurePosixPath(word).name.removeprefix("@")
        for key, agent in KNOWN_AGENTS.items():
            if name.startswith(key):
                return agent
    return None


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """What makes an agent ask us for its model.

    Attributes:
        environment: variables.
        words: words after its program's name.
        files: texts by their paths in a fresh folder for its state.
    """

    environment: Mapping[str, str]
    words: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])


def endpoint_settings(
    agent: KnownAgent, address: str, key: str, routes: Sequence[str]
) -> EndpointSettings:
    """Return what points `agent` at an endpoint of ours.

    Args:
        agent: of the table.
        address: `http://127.0.0.1:PORT`, without a path.
        key: what the agent is to show there; no provider knows it.
        routes: those of the agent's routes that the endpoint serves.
    """
    match agent.key:
        case "claude":
            return EndpointSettings({
                "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": key,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            })  # fmt: skip
        case "codex":
            return EndpointSettings({"WARPLOOM_ENDPOINT_KEY": key}, _codex_words(address))
        case "gemini":
            return EndpointSettings({
                "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": key,
                # A base address alone means a gateway to it, for which it knows no key.
                "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(_HERE / "gemini_endpoint_settings.json"),
            }, files={  # it ignores system settings in a folder that others can write to
                ".gemini/settings.json": (_HERE / "gemini_endpoint_settings.json").read_text(),
            })  # fmt: skip
        case _:
            return EndpointSettings({
                "OPENCODE_CONFIG_CONTENT": json.dumps(_opencode_config(address, key, routes))
            })  # fmt: skip


def _codex_words(address: str) -> tuple[str, ...]:
    """Return `-c` options: a provider of ours over the Responses API, and no other one."""
    provider = (
        f'{{name="warploom", base_url="{address}/v1", env_key="WARPLOOM_ENDPOINT_KEY", '
        'wire_api="responses", supports_websockets=false}'
    )
    return ("-c", 'model_provider="warploom"', "-c", f"model_providers.warploom={provider}")


_OPENCODE_NAMES = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}
_OPENCODE_PATHS = {"anthropic": "/v1", "openai": "/v1", "gemini": "/v1beta"}


def _opencode_config(address: str, key: str, routes: Sequence[str]) -> dict[str, object]:
    providers = {
        _OPENCODE_NAMES[route]: {
            "options": {"baseURL": address + _OPENCODE_PATHS[route], "apiKey": key}
        }
        for route in routes
    }
    return {
        "provider": providers, "enabled_providers": list(providers),
        "autoupdate": False, "share": "disabled",
    }  # fmt: skip


def _spelled(words: Sequence[str]) -> str:
    """Return words as a shell takes them; placeholders stay bare."""
    return " ".join(word if word == "{prompt}" else shlex.quote(word) for word in words)
