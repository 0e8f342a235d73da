"""A small agent that speaks ACP, for tests: it does what the words of its command line say.

edit       writes the program through the client, after asking for permission, and ends its turn
direct     writes the program itself
escape     asks the client to write outside of its folder, and says what it was told
steps      reports tool calls without end
spend      reports a cost of 5 dollars and goes on
hang       never answers
die        exits in the middle of its turn
login      wants a login first
mute       never answers at all, not even the first request
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, run_agent, text_block
from acp.exceptions import RequestError
from acp.schema import (
    AgentMessageChunk,
    Cost,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)

MODE = sys.argv[1]


class TestAgent:
    """The agent's side of ACP; method names are the protocol's."""

    client: Any
    folder: Path

    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        assert protocol_version == PROTOCOL_VERSION
        if MODE == "mute":
            await asyncio.sleep(600)
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        if MODE == "login":
            raise RequestError.auth_required()
        assert [server.name for server in mcp_servers] == ["warploom"]
        self.folder = Path(cwd)
        return NewSessionResponse(session_id="one")

    async def prompt(self, prompt: Any, session_id: str, **_: Any) -> PromptResponse:
        assert "Make the communication" in prompt[0].text
        await getattr(self, f"_{MODE}")(session_id)
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        del session_id

    async def _tool(self, session: str, number: int, kind: str = "edit") -> None:
        update = ToolCallStart(
            session_update="tool_call", tool_call_id=f"call-{number}", title="work", kind=kind
        )
        await self.client.session_update(session_id=session, update=update)

    async def _edit(self, session: str) -> None:
        program = str(self.folder / "allreduce_dp.cu")
        await self._tool(session, 1)
        answer = await self.client.request_permission(
            session_id=session,
            tool_call=ToolCallUpdate(tool_call_id="call-1", title="write", kind="edit"),
            options=[
                PermissionOption(option_id="no", name="No", kind="reject_once"),
                PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            ],
        )
        assert answer.outcome.option_id == "yes"
        text = (await self.client.read_text_file(session_id=session, path=program)).content
        second = await self.client.read_text_file(session_id=session, path=program, line=2, limit=1)
        assert second.content == text.splitlines(keepends=True)[1]
        await self.client.write_text_file(
            session_id=session, path=program, content=text + "// by acp\n"
        )
        await self._say(session, "I edited the program.")

    async def _say(self, session: str, text: str) -> None:
        update = AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text))
        await self.client.session_update(session_id=session, update=update)

    async def _direct(self, session: str) -> None:
        with (self.folder / "allreduce_dp.cu").open("a") as file:
            file.write("// by hand\n")
        await self._say(session, "Done.")

    async def _escape(self, session: str) -> None:
        outside = self.folder.parent / "outside.txt"
        for path in (str(outside), "../outside.txt"):
            try:
                await self.client.write_text_file(session_id=session, path=path, content="x")
            except RequestError as error:
                await self._say(session, f"refused: {error.data}")
        await self._direct(session)

    async def _steps(self, session: str) -> None:
        for number in range(10_000):
            await self._tool(session, number)
            await asyncio.sleep(0.01)

    async def _spend(self, session: str) -> None:
        await self.client.session_update(
            session_id=session,
            update=UsageUpdate(
                session_update="usage_update", used=1000, size=200_000,
                cost=Cost(amount=5.0, currency="USD"),
            ),
        )  # fmt: skip
        await asyncio.sleep(600)

    async def _hang(self, session: str) -> None:
        await self._direct(session)
        await asyncio.sleep(600)

    async def _die(self, session: str) -> None:
        del session
        sys.stderr.write("I am out of tokens\n")
        sys.stderr.flush()
        os._exit(3)


asyncio.run(run_agent(TestAgent()))
