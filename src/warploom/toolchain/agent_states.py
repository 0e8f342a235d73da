"""Which of the coding agents that we know could be run here, how, and what each lacks."""

import importlib.util
import shutil
from dataclasses import dataclass

from warploom.toolchain.known_agents import KNOWN_AGENTS, KnownAgent, Package


@dataclass(frozen=True, slots=True)
class AgentState:
    """One agent on this machine.

    `program` and `acp_program` are paths, None where they are not here. `runs` are the values of
    `--agent` that work as they stand; `missing` says what the others lack, each with its cure.
    """

    key: str
    title: str
    program: str | None
    acp_program: str | None
    runs: tuple[str, ...]
    missing: tuple[str, ...]


def examine_agents() -> tuple[AgentState, ...]:
    """Look for every agent of the table; starts none of them."""
    speaks = importlib.util.find_spec("acp") is not None
    return tuple(_state(agent, speaks) for agent in KNOWN_AGENTS.values())


def _state(agent: KnownAgent, speaks: bool) -> AgentState:
    program = shutil.which(agent.package.program)
    adapter = shutil.which(agent.acp_package.program)
    runs = (agent.key,) if program else ()
    runs += (agent.acp_template,) if adapter and speaks else ()
    missing = [] if program else [_install(agent.package)]
    if adapter is None and agent.acp_package != agent.package:
        missing.append(f"over ACP: {_install(agent.acp_package)}")
    if not speaks:
        missing.append("over ACP: pip install 'warploom[agents]'")
    if (program or adapter) and importlib.util.find_spec("mcp") is None:
        missing.append("for warploom's tools: pip install 'warploom[mcp]'")
    return AgentState(agent.key, agent.title, program, adapter, runs, tuple(missing))


def _install(package: Package) -> str:
    return f"npm install -g {package.pinned}"
