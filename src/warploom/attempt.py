"""The step that every way of improving a program shares: propose, judge, record."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from warploom.core.jsontext import write_json
from warploom.core.records import Json
from warploom.evaluate.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class Attempt:
    """One judged proposal.

    `number` counts from 1 within its run; `origin` names the proposer; `candidate` is the text
    that was judged, `folder` where it and `evaluation.json` are kept. `seconds` covers proposing
    and judging.
    """

    number: int
    origin: str
    candidate: str
    evaluation: Evaluation
    folder: Path
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every level that was asked for passed."""
        return self.evaluation.passed


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
    judge: Callable[[Path], Evaluation],
    folder: Path,
    *,
    file_name: str = "candidate.cu",
    files: Mapping[str, str] | None = None,
) -> Attempt:
    """Ask for a candidate, keep its text, judge it and keep the evaluation.

    Args:
        number: of the attempt within its run, from 1.
        origin: who proposes, such as "rules".
        propose: returns the candidate's text.
        judge: evaluates the program at a path.
        folder: the run's folder; the attempt is kept below it, in `attempt-<number>`.
        file_name: what the candidate's file is called.
        files: further texts to keep beside it, by name.

    The candidate's text is on disk before it is judged, so that an attempt which does not end
    can be looked at. Errors of `propose` and `judge` pass through.
    """
    started = time.monotonic()
    text = propose()
    place = attempt_folder(folder, number)
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
    write_json(place / "evaluation.json", content)
    return Attempt(number, origin, text, evaluation, place, seconds)
