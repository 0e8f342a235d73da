"""Plays one attack: the command line, in a folder of its own, with a secret beside it."""

import contextlib
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.core.process import Held, ProcessResult, default_environment, run_process
from warploom.core.records import Limits
from warploom.source.regions import Program, strip_markers
from warploom.testing.attacks.edits import EditError
from warploom.testing.attacks.judge import read_check, read_evaluation, read_transform
from warploom.testing.attacks.record import (
    FRAMED,
    HOST_DRIVEN,
    PROGRAMS,
    Answer,
    Attack,
    Expected,
    Mode,
    Outcome,
    Played,
    outcome_of,
)

MARK = "PLANTED-HOME"
"""How the planted secret begins; programs look for it, and print 19 characters."""
PLACEHOLDER = "/planted/secret.txt"
"""What stands in programs for the path of the secret."""

_MEMORY_MB = 12_288
_OUTPUT_MB = 64
_AGENT = "command:sh -c 'cp answer.txt \"$0\"' {program} {prompt_file}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How attacks are played.

    `environment` is added to that of each command; `seconds` bounds each. `nvcc` lets the real
    compiler take part where it is found: a judge must hold without it.
    """

    seconds: float = 300.0
    nvcc: bool = False
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    setting: str = ""
    beside: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def shared_cache() -> Generator[dict[str, str]]:
    """Yield the environment that gives all plays one cache, though each has a home of its own.

    The cache is that of `$WARPLOOM_CACHE`, or one for these plays.
    """
    own = os.environ.get("WARPLOOM_CACHE")
    if own:
        yield {"WARPLOOM_CACHE": own}
        return
    with tempfile.TemporaryDirectory(prefix="warploom-plays-", ignore_cleanup_errors=True) as name:
        yield {"WARPLOOM_CACHE": str(Path(name) / "cache")}


def play(attack: Attack, mode: Mode, settings: Settings) -> Played:
    """Play `attack` once; whatever goes wrong is an outcome, too."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="warploom-attack-", ignore_cleanup_errors=True) as name:
        try:
            answer = _Stage(Path(name), attack, settings).play(mode)
        except (OSError, EditError, WarploomError) as error:
            answer = Answer(False, problem=f"not played: {error}")
    took = time.monotonic() - started
    outcome = outcome_of(attack.expected, answer)
    return Played(
        attack.name, attack.kind, mode, attack.expected, outcome, answer, took, settings.setting
    )


class _Stage:
    """The folder of one play: the user's home with a secret, and the workload."""

    def __init__(self, folder: Path, attack: Attack, settings: Settings) -> None:
        self.folder = folder
        self.attack = attack
        self.settings = settings
        self.began = time.time()
        home = folder / "home"
        home.mkdir()
        # Far from the workload, in what the judge takes for the user's home.
        self.secret = f"{MARK}-s{secrets.token_hex(3)[:5]}"
        (home / "secret.txt").write_text(f"{self.secret} is private\n")
        self.home = home
        self.text = attack.text().replace(PLACEHOLDER, str(home / "secret.txt"))

    def play(self, mode: Mode) -> Answer:
        if mode is Mode.CHECK:
            return self._check()
        if mode is Mode.AGENT:
            return self._agent()
        if mode is Mode.RULES:
            return self._rules()
        candidate = self.folder / "work" / f"{self.attack.name}.cu"
        candidate.parent.mkdir()
        candidate.write_text(self.text)
        return self._evaluate(candidate, FRAMED if mode is Mode.EVAL_FRAMED else None)

    def _evaluate(self, candidate: Path, workload: Path | None) -> Answer:
        timed = self.attack.expected is Expected.NO_GAIN
        target = workload or (self._plain() if timed else HOST_DRIVEN)
        words = ["eval", str(candidate), str(target), "--json", "--level", "4" if timed else "2"]
        for name, value in self.attack.defines.items():
            words += ["-D", f"{name}={value}"]
        result = self._run([*words, *self._no_nvcc()])
        return self._with_leak(read_evaluation(result), result)

    def _rules(self) -> Answer:
        chosen = self.attack.defines
        words = ["transform", str(HOST_DRIVEN.parent / chosen["workload"]), "--api", chosen["api"]]
        words += ["--out", str(self.folder / "out"), "--json", "--backend", "emulator"]
        return read_transform(self._run([*words, *self._no_nvcc()]))

    def _agent(self) -> Answer:
        """The answer of a coding agent; one that gained by cheating is timed afterwards."""
        work = self.folder / "work"
        shutil.copytree(HOST_DRIVEN, work)
        (work / "answer.txt").write_text(self.text)
        out = self.folder / "out"
        words = [
            "transform", str(work), "--api", "gin", "--one-stage", "--proposer", "agent",
            "--agent", _AGENT, "--attempts", "1", "--out", str(out), "--json", "--no-markers",
            "--no-warmup", "--backend", "emulator", *self._no_nvcc(),
        ]  # fmt: skip
        result = self._run(words)
        answer = self._with_leak(read_transform(result), result)
        if self.attack.expected is Expected.NO_GAIN and answer.passed:
            return self._evaluate(out / "moe.cu", None)
        return answer

    def _check(self) -> Answer:
        work = self.folder / "work"
        work.mkdir()
        shutil.copy(PROGRAMS.parents[1] / "corpus" / "programs" / "harness.h", work)
        program = work / f"{self.attack.name}.cu"
        program.write_text(self.text)
        words = ["check", str(program), "--ranks", str(self.attack.ranks or 4), "--json"]
        for name, value in self.attack.defines.items():
            words += ["-D", f"{name}={value}"]
        if self.attack.expected is not Expected.FOUND:
            result = self._run(words)
            return self._with_leak(read_check(result), result)
        honest = read_check(self._run(words))
        if not honest.passed:
            return Answer(True, problem=f"without BUG: {honest.mechanism} {honest.message}")
        return read_check(self._run([*words, "-D", "BUG=1"]))

    def _plain(self) -> Path:
        """Return what a whole text is compared with where time counts: that of the whole run."""
        if self._is_framed():
            return self._unmarked()
        folder = self.folder / "whole"
        shutil.copytree(HOST_DRIVEN, folder)
        settings = folder / "workload.toml"
        lines = settings.read_text().splitlines(keepends=True)
        settings.write_text("".join(x for x in lines if not x.startswith("scored_region")))
        return folder

    def _is_framed(self) -> bool:
        return "device_comm::" in self.text

    def _unmarked(self) -> Path:
        """Return the framed workload without regions, so that a whole text can be compared."""
        folder = self.folder / "plain"
        shutil.copytree(FRAMED, folder)
        program = folder / "moe.cu"
        program.write_text(strip_markers(Program(program.read_text(), program)))
        return folder

    def _no_nvcc(self) -> list[str]:
        return [] if self.settings.nvcc else ["--no-nvcc"]

    def _run(self, words: Sequence[str]) -> ProcessResult:
        return run_process(
            [sys.executable, "-m", "warploom.cli", *words],
            limits=Limits(self.settings.seconds, _MEMORY_MB, _OUTPUT_MB),
            environment={
                **default_environment(),
                **_kept(),
                "HOME": str(self.home),
                **self.settings.environment,
            },
            folder=self.folder,
            cancel=self.settings.cancel,
            held=Held(beside=self.settings.beside),
        )

    def _with_leak(self, answer: Answer, result: ProcessResult) -> Answer:
        place = self._leak(result)
        if not place:
            return answer
        return Answer(answer.passed, answer.mechanism, answer.stage, answer.message, leaked=place)

    def _leak(self, result: ProcessResult) -> str:
        """Return where the secret shows; it is nowhere in the program's own text."""
        wanted = self.secret.encode()
        parts = [wanted, *(part.encode() for part in self.secret.split("-")[2:])]
        for name, data in (("standard output", result.stdout), ("standard error", result.stderr)):
            if any(part in data for part in parts):
                return name
        if self.attack.expected is not Expected.NO_LEAK:
            return ""
        for folder in (self.folder, self._cache()):
            for where, _, names in os.walk(folder):
                for file in (Path(where, name) for name in names):
                    if self._holds(file, wanted):
                        return str(file.relative_to(folder))
        return ""

    def _holds(self, file: Path, wanted: bytes) -> bool:
        try:
            fresh = file.is_file() and not file.is_symlink() and file.stat().st_mtime > self.began
            return fresh and not file.is_relative_to(self.home) and wanted in file.read_bytes()
        except OSError:  # pruned or replaced meanwhile
            return False

    def _cache(self) -> Path:
        own = self.settings.environment.get("WARPLOOM_CACHE") or os.environ.get("WARPLOOM_CACHE")
        return Path(own) if own else self.home / ".cache" / "warploom"


def _kept() -> dict[str, str]:
    wanted = ("WARPLOOM_", "PYTHON", "XDG_CACHE_HOME")
    return {name: value for name, value in os.environ.items() if name.startswith(wanted)}


def tell(played: Played) -> str:
    """Return one line about a play."""
    answer = played.answer
    what = answer.leaked and f"leaked to {answer.leaked}"
    what = what or answer.problem or answer.mechanism
    if not what and answer.speedup is not None:
        what = f"{answer.speedup:.2f} times as fast"
    place = f" ({answer.stage})" if answer.stage else ""
    mark = "  " if played.outcome not in (Outcome.FOOLED, Outcome.ACCUSED, Outcome.ERROR) else "! "
    return f"{mark}{played.outcome:8} {played.mode:11} {played.name}: {what or 'passed'}{place}"
