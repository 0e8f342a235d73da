"""`warploom mcp`."""

from importlib.util import find_spec
from pathlib import Path

from warploom.cli.output import out
from warploom.core.errors import MissingToolError
from warploom.toolchain.sandbox import require_sandbox

_SKILL = Path(__file__).parents[1] / "mcp" / "SKILL.md"


def run_mcp(*, skill: bool, unsafe: bool) -> int:
    """Serve the commands to an agent until it goes away, or print the skill.

    Raises:
        MissingToolError: the MCP package is not installed, or no sandbox holds what the agent
            writes and the user has not said `--unsafe`.
    """
    if skill:
        out(_SKILL.read_text(encoding="utf-8").rstrip())
        return 0
    if find_spec("mcp") is None:
        raise MissingToolError(
            "the package mcp is needed to serve coding agents, and is not installed",
            hint="pip install 'warploom[mcp]'",
        )
    from warploom.mcp.server import serve

    require_sandbox("a coding agent", unsafe=unsafe)
    serve()
    return 0
