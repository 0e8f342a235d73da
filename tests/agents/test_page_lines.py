"""Each line of docs/agents that starts a transform, run as it stands with the real program.

Only the workload's name is another one, and what keeps the run short and its model cheap is added.
"""

import re
import shlex
from pathlib import Path

import pytest
from agent_model import AgentModel
from installed import agents
from stage import finished, serve, staged

DOCS = Path(__file__).parents[2] / "docs" / "agents"
PAGES = {"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode"}
# Its default model takes tools in a form that the scripted one does not speak: it only starts.
STARTS_ONLY = ("codex",)


def lines(key: str) -> list[str]:
    text = (DOCS / f"{PAGES[key]}.md").read_text().replace("\\\n", " ")
    return re.findall(r"^warploom transform .*--agent .*$", text, re.MULTILINE)


CASES = [
    pytest.param(key, line, id=f"{key}-{at}")
    for key in agents()
    for at, line in enumerate(lines(key))
]


@pytest.mark.parametrize(("key", "line"), CASES)
def test_a_line_starts_what_it_says(key: str, line: str) -> None:
    kind = "acp" if "acp:" in line else "command"
    with staged(key, kind, "bubblewrap", "root") as stage:
        given = shlex.split(line)
        assert given[2] == "my-workload" and given[3:5] == ["--proposer", "agent"]
        added = stage.words()
        more = added[added.index("--out") :]
        model = AgentModel(shell=("cp right.txt gather.cu",))
        with serve(model) as server:
            code, said = finished(stage.start(server, "work", *given[3:], *more))
            asked = len(server.asked)
    assert asked and "models:" in said, (said, model.transcript())
    if key not in STARTS_ONLY:
        assert code == 0 and "verified: transformed to GIN" in said, (said, model.transcript())
