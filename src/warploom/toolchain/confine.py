"""Confines a coding agent: it may write to its copy of the work and to its own state, no more.

An agent needs its network and its login, so it gets neither the sandbox of candidates nor its
protection. What it leaves is judged in that sandbox, from a clean copy.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.core.process import ALLOWED_ENVIRONMENT
from warploom.toolchain.cache import cache_root
from warploom.toolchain.sandbox import SandboxKind, find_sandbox
from warploom.toolchain.seal import key_file

_ALWAYS = (*ALLOWED_ENVIRONMENT, "HOME", "USER", "LOGNAME", "SHELL", "TERM", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """What an agent that we know needs: variables by prefix, and where it keeps its state."""

    variables: tuple[str, ...]
    state: tuple[str, ...]


KNOWN_AGENTS: Mapping[str, KnownAgent] = {
    "claude": KnownAgent(("ANTHROPIC_", "CLAUDE_", "AWS_"), (".claude", ".claude.json")),
    "codex": KnownAgent(("OPENAI_", "CODEX_", "AZURE_OPENAI_"), (".codex",)),
    "gemini": KnownAgent(("GEMINI_", "GOOGLE_"), (".gemini",)),
    "opencode": KnownAgent(
        ("ANTHROPIC_", "OPENAI_", "OPENROUTER_"), (".local/share/opencode", ".config/opencode")
    ),
}
"""By the beginning of the name of any word of the command: `claude-code-acp` is a `claude`."""


PROGRAMS = ("claude", "codex", "gemini", "opencode", "claude-agent-acp", "codex-acp", "npx")
"""Programs that are agents, speak ACP for one, or fetch one that does (docs/agents)."""


def find_agents() -> dict[str, str | None]:
    """Return where the programs of known agents are, None for those that are not here."""
    return {name: shutil.which(name) for name in PROGRAMS}


@dataclass(frozen=True, slots=True)
class Confinement:
    """A command line that is confined, its environment, and how strongly it is held."""

    command: tuple[str, ...]
    environment: dict[str, str]
    kind: SandboxKind


def confine(
    command: Sequence[str], folder: Path, *, variables: Sequence[str] = (), clean: bool = False
) -> Confinement:
    """Return `command` confined to `folder`.

    With bubblewrap the whole file system can be read, and only `folder`, a private `/tmp` and the
    state of a known agent can be written. Without it the command only gets its environment cut.

    Args:
        command: program and arguments.
        folder: where the agent works; its working directory.
        variables: names of further variables of ours that it gets.
        clean: give it no state to write and no variables but those named: for agents in tests.

    Raises:
        MissingToolError: the program is not on this machine.
    """
    program = shutil.which(command[0])
    if program is None:
        raise MissingToolError(
            f"the agent's program {command[0]} must be on this machine, but is not found",
            hint="install it, or give its full path",
        )
    known = () if clean else tuple(_known(command))
    prefixes = tuple(prefix for agent in known for prefix in agent.variables)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _ALWAYS or name in variables or name.startswith(prefixes or ("\0",))
    }
    words = [program, *command[1:]]
    sandbox = find_sandbox()
    if sandbox.kind is not SandboxKind.BUBBLEWRAP:
        # Landlock has no private /tmp and no way to keep a file from a folder that may be read.
        return Confinement(tuple(words), environment, SandboxKind.LIMITS)
    state = [Path.home() / name for agent in known for name in agent.state]
    wrapped = [
        sandbox.program, "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
        "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",  # noqa: S108
    ]  # fmt: skip
    key = key_file(cache_root())
    if key.exists():  # or it could seal what it makes up
        wrapped += ["--ro-bind", "/dev/null", str(key)]
    for path in (folder, *(item for item in state if item.exists())):
        wrapped += ["--bind", str(path), str(path)]
    wrapped += ["--chdir", str(folder), "--", *words]
    return Confinement(tuple(wrapped), {**environment, "TMPDIR": "/tmp"}, sandbox.kind)  # noqa: S108


def _known(command: Sequence[str]) -> list[KnownAgent]:
    names = {Path(word).name.removeprefix("@") for word in command}
    return [
        agent for key, agent in KNOWN_AGENTS.items() if any(name.startswith(key) for name in names)
    ]
