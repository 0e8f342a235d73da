"""Runs one warploom command in a process of its own: it can be watched, and it can be ended."""

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from warploom.core.records import Json

ProgressSink = Callable[[int, int, str], Awaitable[None]]
"""Told of steps done, steps in all, and the stage's name."""

_GRACE = 5.0  # seconds a command has to end its own processes after an interrupt
_LONGEST_LINE = 1 << 16
_TAIL = 2000  # characters of plain stderr kept for an error


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended: its exit code, what it printed, and its last words.

    `data` is what it printed as JSON, empty where it was to print text.
    """

    exit_code: int
    data: dict[str, Json]
    said: str
    text: str = ""


async def run_command(
    arguments: Sequence[str], on_progress: ProgressSink, *, as_json: bool = True
) -> CommandResult:
    """Run `warploom ARGUMENTS`, with `--json` or without, and relay its progress.

    If the caller is cancelled, the command is interrupted as by Ctrl-C, and killed with all of its
    processes if it has not ended after five seconds.
    """
    words = _with_json(arguments) if as_json else list(arguments)
    command = [sys.executable, "-m", "warploom.cli", *words]
    environment = {**os.environ, "WARPLOOM_PROGRESS": "json", "NO_COLOR": "1"}
    process = await anyio.open_process(command, env=environment, start_new_session=True)
    assert process.stdout is not None and process.stderr is not None
    printed: list[bytes] = []
    said: list[str] = []
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process.stdout, printed)
            tasks.start_soon(_relay, process.stderr, on_progress, said)
        code = await process.wait()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _end(process)
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()
    content, last = b"".join(printed), "".join(said)[-_TAIL:]
    if as_json:
        return CommandResult(code, _parse(content), last)
    return CommandResult(code, {}, last, content.decode(errors="replace").strip())


def _with_json(arguments: Sequence[str]) -> list[str]:
    """Put `--json` before the program's own arguments."""
    words = list(arguments)
    place = words.index("--") if "--" in words else len(words)
    return [*words[:place], "--json", *words[place:]]


async def _collect(stream: anyio.abc.ByteReceiveStream, into: list[bytes]) -> None:
    into.extend([chunk async for chunk in stream])


async def _relay(
    stream: anyio.abc.ByteReceiveStream, on_progress: ProgressSink, said: list[str]
) -> None:
    lines = BufferedByteReceiveStream(stream)
    while True:
        try:
            line = (await lines.receive_until(b"\n", _LONGEST_LINE)).decode(errors="replace")
        except (anyio.EndOfStream, anyio.IncompleteRead):
            break
        except anyio.DelimiterNotFound:
            said.append((await lines.receive(_LONGEST_LINE)).decode(errors="replace"))
            continue
        step = _step(line)
        if step is None:
            said.append(line + "\n")
        else:
            await on_progress(*step)
    if lines.buffer:
        said.append(lines.buffer.decode(errors="replace"))


def _step(line: str) -> tuple[int, int, str] | None:
    """Return what a progress line of the command line says; None for any other line."""
    if not line.startswith('{"progress"'):
        return None
    content = cast("dict[str, dict[str, object]]", json.loads(line))["progress"]
    return int(str(content["done"])), int(str(content["total"])), str(content["stage"])


def _parse(text: bytes) -> dict[str, Json]:
    try:
        data: object = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Json]", data) if isinstance(data, dict) else {}


async def _end(process: anyio.abc.Process) -> None:
    """Interrupt the command and wait; kill its whole process group if it does not end."""
    for sign, patience in ((signal.SIGINT, _GRACE), (signal.SIGKILL, _GRACE)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with anyio.move_on_after(patience):
            await process.wait()
            return
