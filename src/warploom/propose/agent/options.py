"""Which agent proposes, and within which limits."""

from dataclasses import dataclass, field

from warploom.core.errors import BadInputError, MissingToolError
from warploom.propose.agent.command import CommandAgent
from warploom.propose.agent.session import Agent, AgentLimits, split_command

OWN = "own"


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Which agent proposes programs.

    Attributes:
        agent: `own`, `acp:COMMAND` or `command:TEMPLATE`.
        limits: of one session; its dollars are those of all sessions together.
        variables: names of our environment variables that an outside agent gets.
        clean: give an outside agent no state or variables that we know it needs (for tests).
    """

    agent: str = OWN
    limits: AgentLimits = field(default_factory=AgentLimits)
    variables: tuple[str, ...] = ()
    clean: bool = False

    def __post_init__(self) -> None:
        kind, _, command = self.agent.partition(":")
        if self.agent == OWN:
            return
        if kind not in ("acp", "command"):
            raise BadInputError(
                f"the agent must be {OWN}, acp:COMMAND or command:TEMPLATE, got {self.agent!r}",
                hint="for example: --agent 'acp:gemini --acp'",
            )
        if kind == "acp":
            split_command(command)
        else:
            CommandAgent.parse(command)


def outside_agent(options: AgentOptions) -> Agent:
    """Return the outside agent that `options` name.

    Raises:
        MissingToolError: it speaks ACP, and the ACP package is not installed.
    """
    kind, _, command = options.agent.partition(":")
    if kind == "command":
        parsed = CommandAgent.parse(command)
        return CommandAgent(parsed.template, options.variables, options.clean)
    try:
        from warploom.propose.agent.acp import AcpAgent
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        raise MissingToolError(
            "the package agent-client-protocol is needed for agents over ACP, and is not installed",
            hint="pip install 'warploom[agents]'",
        ) from None
    return AcpAgent(split_command(command), options.variables, options.clean)
