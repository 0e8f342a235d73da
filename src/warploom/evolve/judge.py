"""Workloads that bring a judge of their own: a command, run in the sandbox on each candidate.

It is called as `COMMAND --program_path P --results_dir R` and writes `metrics.json`
(`combined_score`, higher is better; `public`, `private`, `text_feedback`) and `correct.json`
(`correct`, `error`) into R. Its verdict counts only where both files are whole. It should run the
program by the words of $WARPLOOM_APART, so that this cannot write a verdict of its own.
"""

import json
import math
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.evolve.evaluator import Question, failed
from warploom.evolve.space import Step
from warploom.store.records import Outcome
from warploom.toolchain import apart
from warploom.toolchain.sandbox import run_sandboxed
from warploom.workload.workload import Workload

JUDGE = "judge"
"""The `time_source` of what a workload's own judge ranks: a score, and no time."""

APART = "WARPLOOM_APART"
"""What a judge finds in its environment: the words before a command that runs the program apart."""

_APART = Path(apart.__file__)
_DEPTH = 3  # folders below the workload's, at most, in which a run's folder may lie
_MOST_BYTES = 4 << 20  # of each file of a verdict
_LOG_BYTES = 2000  # of what a judge printed, where it failed
_PYTHONS = ("python", "python3")
_LANGUAGES = {
    ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cu": "cuda", ".go": "go", ".java": "java",
    ".jl": "julia", ".js": "javascript", ".py": "python", ".rs": "rust", ".ts": "typescript",
}  # fmt: skip


class _WrongVerdictError(Exception):
    """A file of a verdict is not what it must be; the message says how."""


def language_of(program: Path) -> str:
    """Return the language of a program by the ending of its name."""
    suffix = program.suffix.lower()
    return _LANGUAGES.get(suffix, suffix.removeprefix(".")[:16])


class NoSteps:
    """The space of programs that no rule changes."""

    def directives(self, source: str) -> Mapping[str, str]:
        """Return nothing: such programs have no levers."""
        del source
        return {}

    def steps(self, source: str) -> Sequence[Step]:
        """Return nothing."""
        del source
        return ()

    def take(self, source: str, step: Step) -> str | None:
        """Return None: there is no step."""
        del source, step
        return None


@dataclass(frozen=True, slots=True)
class OwnJudge:
    """Asks the workload's judge; what it reads is the workload's folder and the candidate's."""

    workload: Workload

    @property
    def key(self) -> str:
        """A digest of the command and the files that it names."""
        files = [self.workload.root / word for word in self.workload.judge]
        texts = [path.read_bytes() for path in files if path.is_file()]
        return digest((repr(self.workload.judge), repr(self.workload.limits), *texts))

    @property
    def time_source(self) -> str:
        """What it ranks by is a score."""
        return JUDGE

    def __call__(self, candidate: Path, question: Question) -> Outcome:
        """Judge the program at a path."""
        del question
        task = self.workload
        program, folders = _program(task)
        with tempfile.TemporaryDirectory(prefix="warploom-judge-") as name:
            results = Path(name) / "results"
            results.mkdir()
            done = run_sandboxed(
                [
                    program, *task.judge[1:], "--program_path", candidate.resolve(),
                    "--results_dir", results,
                ],
                limits=task.limits,
                readable=(*without_runs(task.root), candidate.resolve().parent, _APART, *folders),
                writable=(results,),
                cwd=task.root,
                environment={**task.env, APART: _apart(candidate, folders)},
            ).process  # fmt: skip
            if done.stopped is not None:
                return failed(
                    str(done.stopped), f"the judge was ended: {done.stopped}", done.seconds
                )
            try:
                correct = _correct(results)
                if correct:  # it says what was wrong, whatever its exit code
                    return failed("incorrect", correct, done.seconds)
                if not done.ok:
                    raise _WrongVerdictError(f"the judge ended with exit code {done.exit_code}")
                return _outcome(_read(results / "metrics.json"), done.seconds)
            except _WrongVerdictError as error:
                log = done.log[-_LOG_BYTES:].strip()
                told = f"{error}{f'; it printed: {log}' if log else ''}"
                return failed("no_verdict", told, done.seconds)


def without_runs(root: Path) -> list[Path]:
    """Return what a judge may read below a workload's folder: all but the runs that it holds.

    A run's folder has what other candidates are and what of them nobody shall see.
    """
    return list(_around(root, set(_runs_below(root, _DEPTH))))


def _runs_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the runs' folders, without a look into them: they grow while they run."""
    try:
        entries = [Path(entry) for entry in os.scandir(folder) if entry.is_dir()]
    except OSError:  # not there, or not to be read: nobody else reads there either
        return
    for path in entries:
        if (path / "run.json").is_file() and (path / "config.yaml").is_file():
            yield path
        elif depth > 1:
            yield from _runs_below(path, depth - 1)


def _around(folder: Path, left_out: Set[Path]) -> Iterator[Path]:
    """Yield what covers `folder` but for some folders below it."""
    if not any(path.is_relative_to(folder) for path in left_out):
        yield folder
        return
    for path in sorted(folder.iterdir()):
        if path not in left_out:
            yield from _around(path, left_out)


def _apart(candidate: Path, folders: Sequence[Path]) -> str:
    """Return the words before which a command runs apart from the judge, as a shell writes them."""
    words = [sys.executable, "-I", _APART, candidate.resolve().parent, *folders]
    read = [Path(sys.prefix), Path(sys.base_prefix)]
    return shlex.join([*map(str, (*words, *read)), "--"])


def require_judge(task: Workload) -> None:
    """Raise BadInputError where the judge's program is not there."""
    _program(task)


def _program(task: Workload) -> tuple[str, tuple[Path, ...]]:
    """Return the program of the command, and the folders that it needs besides the system's."""
    word = task.judge[0]
    if word in _PYTHONS:  # this one: what is installed beside us is there
        folders = {sys.prefix, sys.base_prefix, str(Path(os.path.realpath(sys.executable)).parent)}
        return sys.executable, tuple(map(Path, sorted(folders)))
    found = shutil.which(str(task.root / word)) or shutil.which(word)
    if found is None:
        raise BadInputError(
            f"judge.command must begin with a program, but {word!r} is not found",
            file=str(task.root),
            hint='such as command = ["python3", "evaluate.py"]',
        )
    return found, (Path(os.path.realpath(found)).parent,)


def _read(path: Path) -> dict[str, Any]:
    """Return the object in a file of a verdict."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise _WrongVerdictError(f"{path.name} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise _WrongVerdictError(f"{path.name} has more than {_MOST_BYTES} bytes")
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _WrongVerdictError(f"{path.name} is no whole JSON: {error}") from None
    if not isinstance(found, dict):
        raise _WrongVerdictError(f"{path.name} must hold an object")
    return cast("dict[str, Any]", found)


def _correct(results: Path) -> str:
    """Return why a program is not correct; "" where it is."""
    said = _read(results / "correct.json")
    if not isinstance(said.get("correct"), bool):
        raise _WrongVerdictError("correct.json: correct must be true or false")
    if said["correct"]:
        return ""
    error = said.get("error")
    return str(error) if error else "the judge says that it is not correct, and not why"


def _outcome(said: Mapping[str, Any], seconds: float) -> Outcome:
    score = said.get("combined_score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise _WrongVerdictError(f"metrics.json: combined_score must be a number, got {score!r}")
    public, words = _numbers(said, "public")
    private, _ = _numbers(said, "private")
    feedback = said.get("text_feedback") or ""
    return Outcome(
        correct=True,
        score=float(score),
        time_source=JUDGE,
        public=public,
        private=private,
        feedback="\n".join([*([str(feedback)] if feedback else []), *words]),
        seconds=seconds,
    )


def _numbers(said: Mapping[str, Any], name: str) -> tuple[dict[str, float], list[str]]:
    """Return the numbers of a group of metrics, and what else is there as lines of text."""
    group: object = said.get(name) or {}
    if not isinstance(group, dict):
        raise _WrongVerdictError(f"metrics.json: {name} must be an object")
    numbers: dict[str, float] = {}
    words: list[str] = []
    for key, value in cast("dict[str, Any]", group).items():
        if isinstance(value, int | float) and math.isfinite(value):
            numbers[key] = float(value)
        else:
            words.append(f"{key}: {value}")
    return numbers, words
