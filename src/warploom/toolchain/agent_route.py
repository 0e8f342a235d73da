"""An agent's environment where we serve its model: none of the user's keys, and no way around us.

Its state is a folder of the session's own: what the user has logged in to or configured there could
lead past the endpoint.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from warploom.toolchain.known_agents import KNOWN_AGENTS, EndpointSettings, KnownAgent

_KEPT = {
    "claude": (
        "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_EFFORT_LEVEL",
    ),
    "gemini": ("GEMINI_MODEL", "GEMINI_CLI_TRUST_WORKSPACE"),
}  # fmt: skip
"""Variables that choose among models, and lead nowhere else."""

_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


def served_environment(
    environment: Mapping[str, str],
    known: KnownAgent | None,
    settings: EndpointSettings,
    named: Sequence[str],
    state: Path,
) -> dict[str, str]:
    """Return the environment of an agent whose model we serve.

    Args:
        environment: what it would get if it asked its provider itself.
        known: which agent it is, None for one that we do not know.
        settings: what points it at our endpoint.
        named: variables that the user wants it to have.
        state: a folder of the session's own; made where it is not there.
    """
    prefixes = ("\0",) if known is None else known.variables
    kept = (*named, *(() if known is None else (*_KEPT.get(known.key, ()), *known.environment)))
    made = {
        name: value
        for name, value in environment.items()
        if name in kept or not name.startswith(prefixes)
    }
    state.mkdir(parents=True, exist_ok=True)
    if known is not None:
        made.update(_moved(known, state))
        for name, text in settings.files.items():
            file = state / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return {**made, **settings.environment}


def _moved(known: KnownAgent, state: Path) -> dict[str, str]:
    """Return the variables that move an agent's state to a folder."""
    if known.state_variable:
        return {known.state_variable: str(state)}
    return {name: str(state / name.split("_")[1].lower()) for name in _FOLDERS}


def secret_files(home: Path) -> list[Path]:
    """Return the files that may hold a key or login of the user's, where they are there.

    These are the logins of all agents that we know, and `.env` in the current folder and at home.
    """
    logins = (home / name for agent in KNOWN_AGENTS.values() for name in agent.logins)
    return [path.resolve() for path in (*logins, home / ".env", Path(".env")) if path.is_file()]
