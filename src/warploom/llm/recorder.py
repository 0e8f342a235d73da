"""Calls as files: what was sent, what came back, what it cost.

    RECORDS/<call id>/call.json    all of it, for the machine; prompt.md and reply.md for people
    RECORDS/pending/<call id>.<n>  a call that is in flight, or was when its process died

A call's folder appears whole, by one rename, before its reply is used. `call id` is the caller's
key and a digest of the content, so a repeated run finds what it already paid for.
"""

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO, cast

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.jsontext import dumps, write_json
from warploom.core.records import Json, to_json
from warploom.llm.ledger import Estimate, Spent, add_call, add_uncertain
from warploom.llm.records import Usage
from warploom.llm.transport import Delivery, ToolCall, ToolResult

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_PENDING = "pending"
_RESULTS = "results.json"


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that delivered nothing."""

    model: str
    error: str
    latency_s: float


@dataclass(frozen=True, slots=True)
class Call:
    """One delivered call.

    `cost_usd` is None where no price is known; `started` is UTC, ISO 8601; `note` is the name of
    its note in `pending`.
    """

    call_id: str
    key: str
    purpose: str
    model: str
    delivery: Delivery
    cost_usd: Decimal | None
    latency_s: float
    started: str
    run_seconds: float
    note: str = ""
    failures: tuple[Failure, ...] = ()


def call_name(key: str, content: str) -> str:
    """Return the id of a call: the key as a file name, and 16 digits of what it is about."""
    slug = _UNSAFE.sub("-", key.replace("/", "--")).strip("-.")[:80] or "call"
    return f"{slug}-{digest((key, content))[:16]}"


class Recorder:
    """Writes and reads the calls of one run.

    Raises:
        BadInputError: another process is writing to the same folder (from `open`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: TextIO | None = None

    def open(self) -> None:
        """Make the folder and lock it for this process, until `close` or its end."""
        if self._lock is not None:
            return
        (self.folder / _PENDING).mkdir(parents=True, exist_ok=True)
        lock = (self.folder / ".lock").open("a", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BadInputError(
                f"another process is making calls for {self.folder}",
                hint="wait for it, or give this run a folder of its own",
            ) from None
        self._lock = lock
        self._recover()

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def load(self, call_id: str) -> Call | None:
        """Return a recorded call, or None where there is none."""
        path = self.folder / call_id / "call.json"
        if not path.is_file():
            return None
        return _read(path)

    def keep(self, call: Call, sent: Json, prompt: str) -> None:
        """Write a delivered call, whole or not at all, and forced to the disk."""
        fresh = self.folder / f".new-{secrets.token_hex(6)}"
        fresh.mkdir()
        reply = call.delivery.text or call.delivery.output or ""
        (fresh / "prompt.md").write_text(prompt, encoding="utf-8")
        (fresh / "reply.md").write_text(reply, encoding="utf-8")
        cost = None if call.cost_usd is None else str(call.cost_usd)
        data = to_json(replace(call, cost_usd=None))
        assert isinstance(data, dict)
        with (fresh / "call.json").open("w", encoding="utf-8") as file:
            file.write(dumps({**data, "cost_usd": cost, "sent": sent}))
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(self.folder / call.call_id)
        _sync(self.folder)

    def keep_results(self, call_id: str, results: tuple[ToolResult, ...]) -> None:
        """Write what the tools answered to a recorded call."""
        write_json(self.folder / call_id / _RESULTS, results)

    def load_results(self, call_id: str) -> tuple[ToolResult, ...] | None:
        """Return what the tools answered, or None where the process died before."""
        path = self.folder / call_id / _RESULTS
        if not path.is_file():
            return None
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            return tuple(ToolResult(**item) for item in told)
        except (ValueError, TypeError) as error:
            raise _changed(path, "the results of tools", error) from None

    def intend(self, call_id: str, estimate: Estimate) -> Path:
        """Note that a call is about to be sent; returns the note, to be removed when it ended."""
        note = self.folder / _PENDING / f"{call_id}.{secrets.token_hex(4)}"
        dollars = None if estimate.dollars is None else str(estimate.dollars)
        told = json.dumps({"tokens": estimate.tokens, "dollars": dollars})
        note.write_text(told, encoding="utf-8")
        return note

    def spent(self) -> tuple[Spent, float]:
        """Add up all recorded calls and pending notes; also the latest time of the run, in s."""
        spent, seconds, settled = Spent(), 0.0, set[str]()
        for call in self.calls():
            spent = add_call(spent, call.delivery.usage, call.cost_usd)
            seconds = max(seconds, call.run_seconds)
            settled.add(call.note)
        for note in sorted((self.folder / _PENDING).glob("*")):
            if note.name not in settled:  # else the process died between the two writes
                spent = add_uncertain(spent, _read_note(note))
        return spent, seconds

    def calls(self) -> Iterator[Call]:
        """Yield all recorded calls, by name."""
        for path in sorted(self.folder.glob("[!.]*/call.json")):
            yield _read(path)

    def _recover(self) -> None:
        """Finish or drop what a killed process left half-written."""
        for fresh in self.folder.glob(".new-*"):
            try:
                call = _read(fresh / "call.json")
                fresh.rename(self.folder / call.call_id)
            except (BadInputError, OSError):
                shutil.rmtree(fresh, ignore_errors=True)


def _read(path: Path) -> Call:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        told = data["delivery"]
        delivery = Delivery(
            text=told["text"],
            usage=Usage(**told["usage"]),
            finish=told["finish"],
            output=told["output"],
            tool_calls=tuple(ToolCall(**item) for item in told["tool_calls"]),
            model=told["model"],
            raw=told["raw"],
        )
        cost = data["cost_usd"]
        return Call(
            **{name: data[name] for name in ("call_id", "key", "purpose", "model", "latency_s")},
            delivery=delivery,
            cost_usd=None if cost is None else Decimal(cost),
            started=data["started"],
            run_seconds=data["run_seconds"],
            failures=tuple(Failure(**item) for item in data["failures"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise _changed(path, "a recorded call", error) from None


def _changed(path: Path, what: str, error: Exception) -> BadInputError:
    return BadInputError(
        f"not {what}: {error}",
        file=str(path),
        hint="the file was changed; delete its folder to pay for the call again",
    )


def _read_note(note: Path) -> Estimate:
    text = note.read_text(encoding="utf-8")
    try:
        data = cast("dict[str, Any]", json.loads(text))
        dollars = data["dollars"]
        return Estimate(int(data["tokens"]), None if dollars is None else Decimal(dollars))
    except (ValueError, KeyError, TypeError):  # died while writing it: nothing was sent yet
        return Estimate(0, Decimal(0))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
