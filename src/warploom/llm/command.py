"""A model behind a command: one call, one reply, by a program that has its own login.

The prompt goes to the command's standard input, or into the file that `{prompt_file}` names. What
it prints is the reply; where that is the JSON of `claude -p --output-format json`, the reply, its
tokens and its cost are read from it.
"""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from decimal import Decimal
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.llm.errors import LLMError, LLMRequestError, LLMServerError
from warploom.llm.names import parse_model
from warploom.llm.records import Usage
from warploom.llm.told import read_told
from warploom.llm.transport import AttemptError, Delivery, Exchange, Repair, Results, Said, Turn

PREFIX = "command"
"""The prefix of its model strings."""

_PROMPT_FILE = "{prompt_file}"
_OUTPUT_BYTES = 32 << 20
_TOLD = 400  # characters of the command's own words to show


class CommandModel:
    """Runs a command for each exchange, in an empty folder, with the user's environment."""

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        self._name = name
        self._words = words

    @property
    def name(self) -> str:
        """The model string."""
        return self._name

    async def send(self, exchange: Exchange) -> Delivery:
        """Run the command once; see `Transport.send`.

        Raises:
            MissingToolError: the program is not on this machine.
        """
        if exchange.tools:
            raise AttemptError(
                LLMRequestError(
                    f"{self._name} cannot call tools: it gives one reply to one prompt",
                    hint="let it propose with --proposer llm, or name a provider's model",
                ),
                again=False,
            )
        with tempfile.TemporaryDirectory(prefix="warploom-model-") as place:
            file = Path(place, "prompt.md")
            file.write_text(prompt_of(exchange), encoding="utf-8")
            (Path(place) / "work").mkdir()
            code, printed, errors = await self._run(file, Path(place) / "work")
        return self._delivery(code, printed, errors)

    async def close(self) -> None:
        """Nothing is open."""

    async def _run(self, file: Path, folder: Path) -> tuple[int, str, str]:
        words = [word.replace(_PROMPT_FILE, str(file)) for word in self._words]
        by_file = any(_PROMPT_FILE in word for word in self._words)
        prompt = None if by_file else file.read_bytes()
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=DEVNULL if by_file else PIPE, stdout=PIPE, stderr=PIPE, cwd=folder,
                start_new_session=True,
            )  # fmt: skip
        except (FileNotFoundError, PermissionError) as error:
            raise MissingToolError(
                f"the program {words[0]} must be on this machine, but cannot be started: "
                f"{error.strerror}",
                hint="install it, or give its full path",
            ) from None
        try:
            printed, errors = await _talk(process, prompt)
        finally:
            _end(process)
            await process.wait()
        return process.returncode or 0, printed, errors

    def _delivery(self, code: int, printed: str, errors: str) -> Delivery:
        told = read_told(printed)
        if code != 0 or (told is not None and told.failed):
            said = told.text if told is not None and told.text else (errors or printed).strip()
            how = f"exit code {code}" if code >= 0 else f"signal {-code}"
            error = self._failed(f"{how}: {said[:_TOLD]}")
            raise AttemptError(error, again=False, maybe_billed=True)
        if told is None:
            return Delivery(printed.strip(), Usage(), model=self._name)
        cost = None if told.dollars is None else Decimal(str(told.dollars))
        return Delivery(told.text, told.usage or Usage(), model=self._name, cost=cost)

    def _failed(self, how: str) -> LLMError:
        return LLMServerError(
            f"{self._name} ended with {how}",
            hint="run the command yourself, and log in where it asks for that",
        )


def open_command(name: str) -> CommandModel:
    """Return the model of a model string with the prefix `command`.

    Raises:
        LLMModelError: it holds no command.
    """
    return CommandModel(name, tuple(shlex.split(parse_model(name).model)))


def prompt_of(exchange: Exchange) -> str:
    """Return all that an exchange says, as one text."""
    parts = [exchange.system, *(_said(turn) for turn in exchange.turns)]
    if exchange.output is not None:
        schema = json.dumps(exchange.output.model_json_schema())
        parts.append(f"Reply with one JSON object of this schema, and nothing else:\n{schema}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _said(turn: Turn) -> str:
    match turn:
        case Said(text) | Repair(text):
            return text
        case Results(results):
            return "\n".join(item.text for item in results)
        case Delivery():
            return f"You replied before:\n{turn.text}"


async def _talk(process: Process, prompt: bytes | None) -> tuple[str, str]:
    """Hand over the prompt, and return what the command prints on its two channels."""
    assert process.stdout is not None and process.stderr is not None
    asked = asyncio.create_task(_hand_over(process, prompt))
    try:
        printed, errors = await asyncio.gather(_read(process.stdout), _read(process.stderr))
    finally:
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    await process.wait()
    return printed, errors


async def _hand_over(process: Process, prompt: bytes | None) -> None:
    if process.stdin is None or prompt is None:
        return
    with contextlib.suppress(ConnectionError):  # it does not read all of it
        process.stdin.write(prompt)
        await process.stdin.drain()
        process.stdin.close()


async def _read(stream: asyncio.StreamReader) -> str:
    """Read to the end; what is beyond the limit is dropped."""
    data = bytearray()
    while chunk := await stream.read(1 << 16):
        data += chunk[: max(0, _OUTPUT_BYTES - len(data))]
    return data.decode(errors="replace")


def _end(process: Process) -> None:
    """End what the command has started and left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
