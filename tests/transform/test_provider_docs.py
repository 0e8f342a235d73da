"""Each line of docs/providers that starts something is run, with a model on loopback."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_script import fenced, right, write_workload

from warploom.testing.loopback import KEY, Every, LoopbackServer
from warploom.testing.wire import Asked, Reply, WireCall
from warploom.toolchain.cache import cache_root

DOCS = Path(__file__).parents[2] / "docs" / "providers"
LINE = re.compile(r"^warploom transform .*$", re.MULTILINE)
# The rules would not ask a model about this program.
MORE = (
    "--proposer",
    "llm",
    "--no-nvcc",
    "--one-stage",
    "--no-markers",
    "--no-warmup",
    "--api",
    "gin",
    "--json",
)
DEPLOYMENT = "gpt-4.1-mini"  # what stands for DEPLOYMENT, which has no price
# A program that answers like `claude -p --output-format json`.
CLAUDE = """#!{python}
import json, sys
assert sys.argv[1:] == ["-p", "--output-format", "json", "--tools", ""], sys.argv
assert "ncclAllGather" in sys.stdin.read()
print(json.dumps({{"type": "result", "is_error": False, "result": {reply!r},
    "total_cost_usd": 0.01, "usage": {{"input_tokens": 900, "output_tokens": 90}}}}))
"""


def page(path: Path) -> str:
    """Return a page, its continued lines joined."""
    return path.read_text().replace("\\\n", " ")


def python_block(name: str) -> str:
    """Return the Python of a page."""
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)
    return block


def environment(text: str, server: LoopbackServer) -> dict[str, str]:
    """Return the variables that a page exports, with the key and address of the loopback server."""
    exported = dict(re.findall(r"^(?:# )?export (\w+)=(\S+)", text, re.MULTILINE))
    found = {name: KEY if name.endswith(("_KEY", "_TOKEN")) else v for name, v in exported.items()}
    if "AWS_REGION" in found:  # a bearer wants HTTPS: the other form that the page names
        del found["AWS_BEARER_TOKEN_BEDROCK"]
        found |= {"AWS_ACCESS_KEY_ID": "AKIALOOPBACK00000000", "AWS_SECRET_ACCESS_KEY": KEY}
    if "AZURE_OPENAI_ENDPOINT" in found:
        found["AZURE_OPENAI_ENDPOINT"] = server.address
    return found


def served(words: list[str], server: LoopbackServer) -> list[str]:
    """Return a command whose model is answered by the loopback server."""
    at = words.index("--model") + 1
    prefix, _, model = words[at].partition(":")
    if prefix == "command":
        return words
    root = server.model(prefix).partition("@")[2]
    name = model.partition("@")[0].replace("DEPLOYMENT", DEPLOYMENT)
    return [*words[:at], f"{prefix}:{name}@{root}", *words[at + 1 :]]


def answer(asked: Asked) -> Reply:
    """Answer with the right program, whatever the model."""
    assert "ncclAllGather" in asked.text
    return Reply(fenced(right()), input_tokens=900, output_tokens=90)


LINES = [
    pytest.param(page(path), line, id=f"{path.stem}-{at}")
    for path in sorted(DOCS.glob("*.md"))
    for at, line in enumerate(LINE.findall(page(path)))
]


@pytest.mark.parametrize(("text", "line"), LINES)
def test_a_line_that_starts_a_transform(text: str, line: str, tmp_path: Path) -> None:
    write_workload(tmp_path / "my-workload")
    claude = tmp_path / "bin" / "claude"
    claude.parent.mkdir()
    claude.write_text(CLAUDE.format(python=sys.executable, reply=fenced(right())))
    claude.chmod(0o755)
    keyless = "No key is needed" in text
    with LoopbackServer(answer, models=Every(), keyless=keyless) as server:
        words = served(shlex.split(line), server)
        done = subprocess.run(
            [sys.executable, "-m", "warploom.cli", *words[1:], *MORE],
            cwd=tmp_path, capture_output=True, text=True, timeout=300,
            env={
                "PATH": f"{claude.parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path), "WARPLOOM_CACHE": str(cache_root()),
                **environment(text, server),
            },
        )  # fmt: skip
        asked = len(server.asked)
    assert done.returncode == 0, done.stderr + done.stdout
    assert '"verified": true' in done.stdout
    assert asked == (0 if "command:" in line else 1)


def test_the_python_of_the_first_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer([Reply("Fused.", input_tokens=11, output_tokens=3)]) as server:
        block = python_block("README.md")
        for model in ("anthropic:claude-sonnet-5-5", "openai:gpt-5.5"):
            assert f'"{model}"' in block
            root = server.model(model.partition(":")[0]).partition("@")[2]
            block = block.replace(f'"{model}"', f'"{model}@{root}"')
        exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Fused. Usage(input=11, output=3")


def test_the_python_of_the_page_on_voyage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    names: dict[str, Any] = {"source": "int main() {}"}
    with LoopbackServer([Reply("", input_tokens=5)], models=Every()) as server:
        root = server.embedder("voyage").partition("@")[2]
        model = '"voyage:voyage-code-3"'
        block = python_block("voyage.md")
        assert model in block
        exec(compile(block.replace(model, f'{model[:-1]}@{root}"'), "voyage.md", "exec"), names)
    rows = names["rows"]
    assert rows.shape[0] == 1 and abs(float((rows**2).sum()) - 1) < 1e-3


def test_the_line_of_our_own_agent(tmp_path: Path) -> None:
    """Its model writes the program by a tool of ours, checks it, and says that it is done."""
    text = (DOCS.parent / "agents" / "own.md").read_text()
    (line,) = LINE.findall(text)
    write_workload(tmp_path / "my-workload")
    script = iter(
        (
            Reply(calls=(WireCall("write_program", {"code": right()}),)),
            Reply(calls=(WireCall("check", {"effort": "quick"}),)),
            Reply("It exchanges by GIN now."),
        )
    )
    with LoopbackServer(lambda _: next(script), models=Every()) as server:
        words = served(shlex.split(line), server)
        done = subprocess.run(
            [sys.executable, "-m", "warploom.cli", *words[1:], *MORE[2:]],
            cwd=tmp_path, capture_output=True, text=True, timeout=300,
            env={
                "PATH": os.environ["PATH"], "HOME": str(tmp_path),
                "WARPLOOM_CACHE": str(cache_root()), "ANTHROPIC_API_KEY": KEY,
            },
        )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert '"verified": true' in done.stdout
