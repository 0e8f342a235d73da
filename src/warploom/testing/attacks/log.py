"""The log of plays: a line of JSON for each, so that a replay goes on where it was interrupted.

A play counts as done for the text that was played, the setting, and the state of the judge: after
a change of either it is played again. So is one that ended in an error.
"""

import hashlib
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warploom
from warploom.testing.attacks.record import (
    FRAMED,
    HOST_DRIVEN,
    Answer,
    Attack,
    Mode,
    Outcome,
    Played,
    outcome_of,
)

_TEXTS_ONLY = (
    "testing/attacks/variants",
    "testing/attacks/honest.py",
    "testing/attacks/log.py",
    "testing/attacks/page.py",
    "testing/attacks/table.py",
)
"""Parts of the package that say nothing of the judge: the text of a play has its own digest."""


def judge_digest() -> str:
    """Return a digest of this package and of the workloads that plays are judged by."""
    package = Path(warploom.__file__).parent
    found = hashlib.sha256()
    for root in (package, FRAMED, HOST_DRIVEN):
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            name = str(path.relative_to(root))
            if "__pycache__" in name or name.startswith(_TEXTS_ONLY):
                continue
            found.update(f"{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def play_digest(attack: Attack, mode: Mode, setting: str) -> str:
    """Return a digest of what is played: the text, and how."""
    parts = (attack.name, mode, setting, attack.text(), str(dict(attack.defines)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def prepare(path: Path, owner: int | None) -> None:
    """Make the log, for a player of another identity if need be; end a line that was cut off."""
    with path.open("ab") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write(b"\n")
    if owner is not None:
        os.chown(path, owner, owner)


@dataclass(slots=True)
class Log:
    """The plays of one file, or of none where `path` is None."""

    path: Path | None
    setting: str
    judge: str = field(default_factory=judge_digest)
    _done: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Read what was played before."""
        if self.path is None:
            return
        prepare(self.path, None)
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                item: dict[str, Any] = json.loads(line)
            except ValueError:  # cut off when the player was killed
                continue
            self._done[str(item["key"])] = item

    def earlier(self, attack: Attack, mode: Mode) -> Played | None:
        """Return an earlier play of the same text by the same judge, unless it was an error."""
        item = self._done.get(self._key(attack, mode))
        if item is None:
            return None
        answer = Answer(**item["play"]["answer"])
        outcome = outcome_of(attack.expected, answer)
        if outcome is Outcome.ERROR or answer.problem:
            return None
        return Played(
            attack.name, attack.kind, mode, attack.expected, outcome, answer,
            float(item["play"]["seconds"]), self.setting,
        )  # fmt: skip

    def add(self, attack: Attack, played: Played) -> None:
        """Write one play down."""
        if self.path is None:
            return
        line = json.dumps({"key": self._key(attack, played.mode), "play": played.to_json()})
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _key(self, attack: Attack, mode: Mode) -> str:
        return f"{self.judge}/{play_digest(attack, mode, self.setting)}"
