"""An MCP client talks to `warploom mcp` over stdio, as a coding agent does."""

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "tests" / "corpus" / "programs" / "gin_alltoall.cu")
EXAMPLE = str(ROOT / "examples" / "moe")
SMALL = {"TOKENS": "16", "DIM": "8"}

SPINS = """
#include <cuda_runtime.h>
__global__ void spin(int* flag) {
  while (*(volatile int*)flag == 0) {
  }
}
int main() {
  int* flag;
  cudaMalloc(&flag, 4);
  cudaMemset(flag, 0, 4);
  spin<<<1, 1>>>(flag);
  cudaDeviceSynchronize();
}
"""

T = TypeVar("T")


def talk(session: Callable[[Client], Awaitable[T]]) -> T:
    """Start the server, run one session against it, and end it."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "warploom.cli", "mcp"], env=dict(os.environ)
    )

    async def main() -> T:
        async with Client(parameters) as client:
            return await session(client)

    return anyio.run(main)


def call(name: str, **arguments: Any) -> CallToolResult:
    """Call one tool in a session of its own."""
    arguments = {"form": "json", **arguments}
    return talk(lambda client: client.call_tool(name, arguments))


def data(result: CallToolResult) -> dict[str, Any]:
    """Return what a tool answered; fails where it answered with an error."""
    assert not result.is_error, result.content
    content = result.structured_content
    assert json.loads(result.content[0].text) == content  # what a host without schemas shows
    return content


def error_text(result: CallToolResult) -> str:
    """Return the error of a tool; fails where it answered."""
    assert result.is_error
    return result.content[0].text


def test_every_tool_says_what_it_is_for() -> None:
    async def session(client: Client) -> tuple[list[Any], str]:
        return (await client.list_tools()).tools, client.instructions or ""

    tools, instructions = talk(session)
    assert {tool.name for tool in tools} == {
        "analyze", "design_space", "check", "evaluate", "transform", "doctor",
    }  # fmt: skip
    for tool in tools:
        assert tool.description
        for name, field in tool.input_schema["properties"].items():
            assert field.get("description"), f"{tool.name}.{name}"
        assert f"`{tool.name}`" in instructions
    assert [tool.name for tool in tools if not tool.annotations.read_only_hint] == ["transform"]


def test_analyze_and_design_space() -> None:
    async def session(client: Client) -> tuple[CallToolResult, CallToolResult]:
        return (
            await client.call_tool("analyze", {"program": EXAMPLE, "form": "json"}),
            await client.call_tool(
                "design_space",
                {"target": EXAMPLE, "ranks": 8, "lsa_size": 4, "form": "json"},
            ),
        )

    analysis, space = (data(item) for item in talk(session))
    assert [c["name"] for c in analysis["collectives"]] == ["ncclAlltoAll"] * 3
    backends = space["collectives"][0]["choices"]["backend"]
    assert [(b["value"], b["allowed"]) for b in backends] == [("gin", True), ("lsa", False)]
    assert "4 of 8 ranks" in backends[1]["reason"]


def test_check_reports_progress_and_the_defect() -> None:
    steps: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        steps.append((done, total, message))

    async def session(client: Client) -> CallToolResult:
        arguments = {
            "target": PROGRAM, "defines": {"DEFECT_FLUSH_ONLY": ""}, "effort": "quick",
            "form": "json",
        }  # fmt: skip
        return await client.call_tool("check", arguments, progress_callback=note)

    report = data(talk(session))
    assert report["verdict"] == "defect"
    assert report["findings"][0]["kind"] == "missing_wait"
    assert report["findings"][0]["line"] == 119
    assert {message for *_, message in steps} == {"build", "run"}
    assert steps[-1][:2] == (1, 1)


def test_a_finding_is_replayed_with_its_trace() -> None:
    report = data(call("check", target=PROGRAM, defines={"DEFECT_FLUSH_ONLY": ""}, replay="0:lazy"))
    assert report["effort"] is None
    assert report["findings"][0]["trace"]


def test_transform_writes_and_evaluate_confirms(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    target = str(ROOT / "examples" / "allreduce_dp")

    async def session(client: Client) -> tuple[CallToolResult, CallToolResult]:
        made = await client.call_tool(
            "transform",
            {
                "target": target, "output_dir": str(folder), "api": "lsa", "ranks": 2,
                "form": "json",
            },
        )  # fmt: skip
        program = data(made)["program"]
        judged = await client.call_tool(
            "evaluate",
            {"candidate": program, "target": program, "ranks": 2, "level": 1, "form": "json"},
        )
        return made, judged

    made, judged = (data(item) for item in talk(session))
    assert made["verified"] is True
    assert Path(made["program"]).parent == folder
    assert judged["passed"] is True
    assert judged["level_reached"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("check", {"target": "/nowhere.cu"}, "/nowhere.cu"),
        ("check", {"target": PROGRAM, "ranks": 3, "lsa_size": 2}, "lsa_size"),
        ("check", {"target": PROGRAM, "ranks": 1000}, "256"),
        ("check", {"target": PROGRAM, "replay": "lazy"}, "SEED:TIMING"),
        ("analyze", {"program": "/nowhere.cu"}, "/nowhere.cu"),
        ("transform", {"target": PROGRAM, "output_dir": "/proc/nowhere"}, "can be written"),
        ("analyze", {"program": "a\0b.cu"}, "NUL"),
        ("check", {"target": PROGRAM, "arguments": ["a\0"]}, "NUL"),
        ("analyze", {"program": ""}, "must not be empty"),
        ("check", {"target": "--help"}, "./--help"),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_do(
    tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def session(client: Client) -> list[CallToolResult]:
        return [
            await client.call_tool(tool, {**arguments, "form": form}) for form in ("json", "text")
        ]

    for answer in talk(session):
        text = error_text(answer)
        assert (
            words in text.replace(" --help", "./--help") if words == "./--help" else words in text
        )
        assert "Traceback" not in text and "--help [OPTIONS]" not in text


def test_answers_are_short_texts_unless_json_is_asked_for(tmp_path: Path) -> None:
    odd = tmp_path / "-x.cu"
    odd.write_text(SPINS)

    async def session(client: Client) -> list[CallToolResult]:
        return [
            await client.call_tool("analyze", {"program": EXAMPLE}),
            await client.call_tool("design_space", {"target": EXAMPLE}),
            await client.call_tool("doctor", {}),
            await client.call_tool(
                "check",
                {"target": PROGRAM, "defines": {"DEFECT_FLUSH_ONLY": ""}, "effort": "quick"},
            ),
        ]

    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        begins = call("analyze", program="-x.cu", form="text")
    finally:
        os.chdir(here)
    assert not begins.is_error and "spin" in begins.content[0].text
    answers = talk(session)
    for answer in answers:
        assert not answer.is_error, answer.content
        assert answer.structured_content is None
        assert len(answer.content[0].text) < 6000
    analysis, space, machine, report = (answer.content[0].text for answer in answers)
    assert "L161 ncclAlltoAll" in analysis and "backend" in space and "C++20" in machine
    assert "missing_wait" in report and "119" in report and "verdict" not in report


def test_long_answers_keep_their_beginning_and_end() -> None:
    from warploom.mcp.server import _short

    text = _short("first\n" + "x" * 100_000 + "\nlast")
    assert text.startswith("first") and text.endswith("last") and "left out" in text
    assert len(text) < 17_000


def test_a_cancelled_check_ends_its_processes(tmp_path: Path) -> None:
    program = tmp_path / "spins_here.cu"
    program.write_text(SPINS)

    async def session(client: Client) -> bool:
        with anyio.move_on_after(60) as scope:
            async with anyio.create_task_group() as tasks:

                async def started(_done: float, _total: float | None, stage: str | None) -> None:
                    if stage == "run":
                        tasks.cancel_scope.cancel()

                await client.call_tool("check", {"target": str(program)}, progress_callback=started)
        assert not scope.cancelled_caught, "the check never said that it runs"
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            if not running("spins_here"):
                return True
            await anyio.sleep(0.2)
        return False

    assert talk(session), f"still running: {running('spins_here')}"


def running(word: str) -> list[str]:
    """Return the command lines of living processes that hold `word`, pytest's own apart."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it has ended
                continue
            if word in line:
                found.append(line)
    return found


def test_the_skill_can_be_printed_without_a_server(capfd: pytest.CaptureFixture[str]) -> None:
    from warploom.cli import main

    assert main(["mcp", "--skill"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("---\nname: warploom\n")
