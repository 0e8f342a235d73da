"""An outside agent over ACP, the Agent Client Protocol: Claude Code, Codex, Gemini CLI and others.

We are the client: we start the agent's process, hand it the task and warploom's own tools (as an
MCP server), answer its requests for files, and end it.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, cast

from acp import PROTOCOL_VERSION, connect_to_agent, text_block
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    EnvVariable,
    FileSystemCapabilities,
    McpServerStdio,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    WriteTextFileResponse,
)
from pydantic import BaseModel

from warploom.propose.agent.complaint import NOTHING, first_complaint
from warploom.propose.agent.served import Service, Session, serving
from warploom.propose.agent.session import (
    AgentLimits,
    AgentReport,
    AgentTask,
    Ended,
)
from warploom.toolchain.confine import confined

_LINE_BYTES = 16 << 20  # the longest message that an agent may send
_FILE_BYTES = 4 << 20
_SUMMARY = 600
_GRACE = 5.0  # seconds an agent has to end when its time is up
_LOGIN = RequestError.auth_required().code
_LOOK = 0.5  # seconds between looks at whether the session is over
_START = 180.0  # seconds an agent has to answer its first two requests
_FIRST_START = 600.0  # the same, where a package may have to be downloaded before it runs
# Claude Code asks a model of its own, for money, whether a command may run; we would allow it.
_AUTO, _ASKING = "auto", "default"
_FETCHERS = ("npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "uvx", "pipx")


@dataclass(frozen=True, slots=True)
class AcpAgent:
    """Starts an agent that speaks ACP on standard input and output.

    Attributes:
        command: program and arguments, such as ("gemini", "--acp").
        variables: names of our environment variables that the agent gets.
        clean: no state or variables of known agents (for tests).
        service: who serves its model; None: it asks its provider itself.
    """

    command: tuple[str, ...]
    variables: tuple[str, ...] = ()
    clean: bool = False
    service: Service | None = None

    @property
    def name(self) -> str:
        """What the origin of its proposals is called."""
        return f"acp:{Path(self.command[0]).name}"

    def work(self, task: AgentTask) -> AgentReport:
        """Let the agent work in the workspace, to its end or a limit."""
        return asyncio.run(self._work(task))

    async def _work(self, task: AgentTask) -> AgentReport:
        started = time.monotonic()
        folder = task.workspace.folder
        with (
            serving(self.service, task) as session,
            confined(
                session.pointed(self.command),
                folder,
                variables=self.variables,
                clean=self.clean,
                route=session.settings,
                keys=task.workspace.keys,
            ) as held,
            (task.log / "session.jsonl").open("w", encoding="utf-8") as log,
            (task.log / "stderr.txt").open("wb") as errors,
        ):
            process = await asyncio.create_subprocess_exec(
                *held.command, stdin=PIPE, stdout=PIPE, stderr=errors, limit=_LINE_BYTES,
                cwd=folder, env=held.environment, start_new_session=True,
            )  # fmt: skip
            desk = _Desk(folder, task.limits, log)
            start = _Start(self._patience(), held.environment["WARPLOOM_CACHE"])
            watch = asyncio.create_task(_watch(session, desk))
            try:
                ended, notes = await self._talk(process, desk, task, start)
            finally:
                watch.cancel()
                await _end(process)
        seconds = time.monotonic() - started
        said = desk.said.strip()[-_SUMMARY:]
        return session.reported(AgentReport(ended, said, desk.steps, desk.cost, seconds, notes))

    def _patience(self) -> float:
        """Return the seconds that the agent has to answer its first two requests."""
        return _FIRST_START if Path(self.command[0]).name in _FETCHERS else _START

    async def _talk(
        self, process: Process, desk: "_Desk", task: AgentTask, start: "_Start"
    ) -> tuple[Ended, tuple[str, ...]]:
        """Hold the conversation; return why it ended."""
        assert process.stdin is not None and process.stdout is not None
        connection = connect_to_agent(cast("Client", desk), process.stdin, process.stdout)
        over = asyncio.create_task(desk.over.wait())
        gone = asyncio.create_task(process.wait())
        talk = asyncio.create_task(_session(connection, task, start))
        try:
            await asyncio.wait(
                {talk, over, gone}, timeout=task.limits.seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )  # fmt: skip
            if desk.over.is_set():
                return desk.reason, (f"ended by us: {desk.reason}",)
            if talk.done() and isinstance(talk.exception(), ConnectionError):
                await asyncio.wait({gone}, timeout=_GRACE)
            if gone.done() and not (talk.done() and talk.exception() is None):
                said = _complaint(task.log / "stderr.txt")
                return Ended.FAILED, (f"it ended with exit code {process.returncode}: {said}",)
            if talk.done():
                return _outcome(talk, start, task.log / "stderr.txt")
            return Ended.TIME, (f"ended after {task.limits.seconds:.0f} s, its limit",)
        finally:
            for waiting in (over, gone, talk):
                waiting.cancel()
            await asyncio.gather(over, gone, talk, return_exceptions=True)
            with contextlib.suppress(ConnectionError, RequestError):
                await connection.close()


async def _watch(session: Session, desk: "_Desk") -> None:
    """End the session when its calls of a model have been refused for a while."""
    while not session.over.is_set():
        await asyncio.sleep(_LOOK)
    desk.stop(Ended.COST)


@dataclass(frozen=True, slots=True)
class _Start:
    """How many seconds the agent's start may take, and the cache that our tools there work on."""

    seconds: float
    cache: str


async def _session(connection: Any, task: AgentTask, start: _Start) -> str:
    """Introduce ourselves, open a session with our tools, ask, and return the stop reason."""
    async with asyncio.timeout(start.seconds):
        await connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
            ),
        )
        tools = McpServerStdio(
            name="warploom", command=sys.executable, args=["-m", "warploom.cli", "mcp"],
            env=[EnvVariable(name="WARPLOOM_CACHE", value=start.cache)],
        )  # fmt: skip
        session = await connection.new_session(cwd=str(task.workspace.folder), mcp_servers=[tools])
        modes = session.modes
        ids = [] if modes is None else [mode.id for mode in modes.available_modes]
        if modes is not None and modes.current_mode_id == _AUTO and _ASKING in ids:
            await connection.set_session_mode(session_id=session.session_id, mode_id=_ASKING)
    reply = await connection.prompt(
        session_id=session.session_id, prompt=[text_block(task.instruction)]
    )
    return str(reply.stop_reason)


def _outcome(
    talk: "asyncio.Task[str]", start: _Start, errors: Path
) -> tuple[Ended, tuple[str, ...]]:
    error = talk.exception()
    if isinstance(error, RequestError):
        cure = " (log in to the agent first)" if error.code == _LOGIN else ""
        told = f"{error}{_details(error)}"
        said = _complaint(errors)
        more = f"; it printed: {said}" if said != NOTHING and said not in told else ""
        return Ended.FAILED, (f"the agent answered with an error: {told}{cure}{more}",)
    if isinstance(error, TimeoutError):
        said = _complaint(errors)
        return Ended.FAILED, (
            f"the agent did not answer within {start.seconds:.0f} s: does it speak ACP? "
            f"It printed: {said}",
        )
    if isinstance(error, ConnectionError):
        return Ended.FAILED, (f"the agent closed the connection: {_complaint(errors)}",)
    if error is not None:
        raise error
    reason = talk.result()
    return (Ended.DONE, ()) if reason == "end_turn" else (Ended.FAILED, (f"it stopped: {reason}",))


def _details(error: RequestError) -> str:
    """Return what an error of the protocol carries beside its message, which is often general."""
    data: object = error.data
    if not data:
        return ""
    text = data if isinstance(data, str) else json.dumps(data, default=str)
    return f": {first_complaint(text)}"


def _complaint(file: Path) -> str:
    return first_complaint(file.read_text(encoding="utf-8", errors="replace"))


async def _end(process: Process) -> None:
    """End the agent and all that it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
            break
    with contextlib.suppress(ProcessLookupError):  # what outlived its parent
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(slots=True)
class _Desk:
    """Answers the agent's requests, and notes what it does; the methods' names are ACP's."""

    folder: Path
    limits: AgentLimits
    log: TextIO
    steps: int = 0
    cost: float | None = None
    said: str = ""
    reason: Ended = Ended.DONE
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: BaseModel, **_: object) -> None:
        """Note an update; past a limit, end the session."""
        del session_id
        self._note(update)
        if isinstance(update, ToolCallStart):
            self.steps += 1
            if self.steps > self.limits.steps:
                self.stop(Ended.STEPS)
        elif isinstance(update, UsageUpdate) and update.cost and update.cost.currency == "USD":
            self.cost = update.cost.amount
            if self.limits.dollars is not None and self.cost > self.limits.dollars:
                self.stop(Ended.COST)
        elif isinstance(update, AgentMessageChunk) and isinstance(update.content, TextContentBlock):
            self.said = (self.said + update.content.text)[-1 << 16 :]

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: object,
    ) -> RequestPermissionResponse:
        """Allow once: the agent is confined to its copy, and what it leaves is judged."""
        del session_id
        self._note(tool_call)
        for kind in ("allow_once", "allow_always"):
            for option in options:
                if option.kind == kind:
                    return RequestPermissionResponse(
                        outcome=AllowedOutcome(outcome="selected", option_id=option.option_id)
                    )
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: object,
    ) -> ReadTextFileResponse:
        """Return a file of the workspace, or a range of its lines."""
        del session_id
        file = self._inside(path)
        if not file.is_file():
            raise RequestError.resource_not_found(path)
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        first = max(0, (line or 1) - 1)
        return ReadTextFileResponse(content="".join(lines[first:][: limit or len(lines)]))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: object
    ) -> WriteTextFileResponse:
        """Write a file of the workspace."""
        del session_id
        file = self._inside(path)
        if len(content) > _FILE_BYTES:
            raise RequestError.invalid_params(
                {"reason": f"a file holds at most {_FILE_BYTES} bytes"}
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return WriteTextFileResponse()

    def _inside(self, path: str) -> Path:
        """Return the file, links followed; refuse what lies outside of the workspace."""
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder.resolve()):
            raise RequestError.invalid_params({"reason": f"{path} is outside of {self.folder}"})
        return file

    def stop(self, reason: Ended) -> None:
        """End the session for this reason; the first one counts."""
        self.reason = reason
        self.over.set()

    def _note(self, item: BaseModel) -> None:
        data = item.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.log.write(json.dumps(data) + "\n")
        self.log.flush()
