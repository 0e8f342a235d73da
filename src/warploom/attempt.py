"""The step that every way of improving a program shares: propose, judge, record."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from warploom.core.jsontext import write_json
from warploom.core.records import Json

_FILE = "evaluation.json"


class Judged(Protocol):
    """What a judge says: `Evaluation` is one form, and a search keeps a shorter one."""

    @property
    def passed(self) -> bool:
        """Whether the candidate is good."""
        ...

    def to_json(self) -> dict[str, Json]:
        """Return it as plain JSON values."""
        ...


V = TypeVar("V", bound=Judged)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[V]):
    """One judged proposal.

    `number` counts from 1 within its run; `origin` names the proposer; `candidate` is the text
    that was judged, `folder` where it and `evaluation.json` are kept. `seconds` covers proposing
    and judging.
    """

    number: int
    origin: str
    candidate: str
    evaluation: V
    folder: Path
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every level that was asked for passed."""
        return self.evaluation.passed


@dataclass(frozen=True, slots=True)
class Recall(Generic[V]):
    """How a judgment that was kept is found again.

    `key` names the candidate and all that its judgment depends on; `read` makes the judgment of
    what its `to_json` gave.
    """

    key: str
    read: Callable[[Mapping[str, Any]], V]


def attempt_folder(folder: Path, number: int) -> Path:
    """Return where the attempt of this number is kept in a run's folder."""
    return folder / f"attempt-{number:03d}"


def keep_texts(folder: Path, files: Mapping[str, str]) -> None:
    """Write each text of `files` into `folder`, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def attempt(
    number: int,
    origin: str,
    propose: Callable[[], str],
    judge: Callable[[Path], V],
    folder: Path,
    *,
    file_name: str = "candidate.cu",
    files: Mapping[str, str] | None = None,
    recall: Recall[V] | None = None,
) -> Attempt[V]:
    """Ask for a candidate, keep its text, judge it and keep the evaluation.

    Args:
        number: of the attempt within its run, from 1.
        origin: who proposes, such as "rules".
        propose: returns the candidate's text.
        judge: evaluates the program at a path.
        folder: the run's folder; the attempt is kept below it, in `attempt-<number>`.
        file_name: what the candidate's file is called.
        files: further texts to keep beside it, by name.
        recall: where the folder holds a judgment with this key (an earlier process made it and
            went no further), it is taken, and `judge` is not asked.

    The candidate's text is on disk before it is judged, so that an attempt which does not end
    can be looked at. Errors of `propose` and `judge` pass through.
    """
    started = time.monotonic()
    text = propose()
    place = attempt_folder(folder, number)
    kept = None if recall is None else _kept(place, recall)
    if kept is not None:
        return Attempt(number, origin, text, kept, place, time.monotonic() - started)
    keep_texts(place, {file_name: text, **(files or {})})
    path = place / file_name
    evaluation = judge(path)
    seconds = time.monotonic() - started
    content: dict[str, Json] = {
        "number": number,
        "origin": origin,
        "seconds": seconds,
        "evaluation": evaluation.to_json(),
    }
    if recall is not None:
        content["key"] = recall.key
    write_json(place / _FILE, content)
    return Attempt(number, origin, text, evaluation, place, seconds)


def _kept(place: Path, recall: Recall[V]) -> V | None:
    """Return the judgment that a folder holds; None without one, or for another candidate."""
    try:
        content: Any = json.loads((place / _FILE).read_bytes())
    except (FileNotFoundError, ValueError):  # files are written whole: another one is none of ours
        return None
    if not isinstance(content, dict):
        return None
    data = cast("dict[str, Any]", content)
    return recall.read(data["evaluation"]) if data.get("key") == recall.key else None
