"""Which agent proposes, and within which limits."""

import os
import re
from dataclasses import dataclass, field

from warploom.core.errors import BadInputError, MissingToolError
from warploom.llm import Budget, Price
from warploom.propose.agent.command import CommandAgent
from warploom.propose.agent.served import Service
from warploom.propose.agent.session import Agent, AgentLimits, split_command
from warploom.toolchain.known_agents import KNOWN_AGENTS

OWN = "own"
_VARIABLE = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Which agent proposes programs.

    Attributes:
        agent: `own`, the name of an agent that we know (`claude`), `acp:COMMAND` or
            `command:TEMPLATE`.
        limits: of one session; its dollars are those of all sessions together.
        variables: names of our environment variables that an outside agent gets.
        clean: give an outside agent no state or variables that we know it needs (for tests).
        budget: caps over all calls of a model that an outside agent makes in the run.
        price: of every model that an outside agent asks for; None takes the table of prices.
        uncapped: let an outside agent ask its provider itself, with its own login.
    """

    agent: str = OWN
    limits: AgentLimits = field(default_factory=AgentLimits)
    variables: tuple[str, ...] = ()
    clean: bool = False
    budget: Budget = field(default_factory=Budget)
    price: Price | None = None
    uncapped: bool = False

    def __post_init__(self) -> None:
        for name in self.variables:
            if not _VARIABLE.fullmatch(name):
                raise BadInputError(
                    f"--agent-env must name a variable, got {name!r}",
                    hint="its value is taken from warploom's own environment",
                )
            if name not in os.environ:
                raise BadInputError(f"--agent-env names {name}, which is not set here")
        kind, _, command = self.agent.partition(":")
        if self.agent == OWN or self.agent in KNOWN_AGENTS:
            return
        if kind not in ("acp", "command"):
            raise BadInputError(
                f"the agent must be {', '.join((OWN, *KNOWN_AGENTS))}, acp:COMMAND or "
                f"command:TEMPLATE, got {self.agent!r}",
                hint=f"for example: --agent '{KNOWN_AGENTS['gemini'].acp_template}'",
            )
        if kind == "acp":
            split_command(command)
        else:
            CommandAgent.parse(command)


def agent_command(options: AgentOptions) -> tuple[str, tuple[str, ...]]:
    """Return `acp` or `command`, and the words of the outside agent that `options` name."""
    known = KNOWN_AGENTS.get(options.agent)
    kind, _, command = (options.agent if known is None else known.template).partition(":")
    return kind, split_command(command)


def outside_agent(options: AgentOptions, service: Service | None = None) -> Agent:
    """Return the outside agent that `options` name.

    Args:
        options: names it.
        service: who serves its model; None: it asks its provider itself.

    Raises:
        MissingToolError: it speaks ACP, and the ACP package is not installed.
    """
    kind, words = agent_command(options)
    if kind == "command":
        return CommandAgent(words, options.variables, options.clean, service)
    try:
        from warploom.propose.agent.acp import AcpAgent
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        raise MissingToolError(
            "the package agent-client-protocol is needed for agents over ACP, and is not installed",
            hint="pip install 'warploom[agents]'",
        ) from None
    return AcpAgent(words, options.variables, options.clean, service)
