"""A coding agent that works through MCP: it is told what is wrong until its program is right."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from llm_script import versions, write_workload

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


def test_from_a_build_error_to_a_verified_program_over_mcp(tmp_path: Path) -> None:
    workload = write_workload(tmp_path / "work")
    mine = tmp_path / "mine.cu"

    async def work() -> list[dict[str, Any]]:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "warploom.cli", "mcp"], env=dict(os.environ)
        )
        said: list[dict[str, Any]] = []
        async with Client(parameters) as client:
            for text in versions():
                mine.write_text(text)
                result = await client.call_tool(
                    "evaluate",
                    {"candidate": str(mine), "target": str(workload), "form": "json"},
                )
                assert not result.is_error, result.content
                said.append(result.structured_content)
        return said

    broken, wrong, unordered, right = anyio.run(work)
    assert broken["level_reached"] == 1 and not broken["passed"]
    assert "stram" in str(broken["findings"])
    kinds = [
        {item["kind"] for item in report["findings"] if item["severity"] == "error"}
        for report in (wrong, unordered, right)
    ]
    assert "wrong_result" in kinds[0]
    # The seeds are secret: the put arrives after the read, or before it and unordered.
    assert kinds[1] & {"missing_wait", "destination_overwrite"}
    assert kinds[2] == set()
    assert right["passed"] and right["level_reached"] == 2
