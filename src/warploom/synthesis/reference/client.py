"""Asks the reference's process; the only way from the rest of warploom to PyTorch."""

import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, cast

from warploom.core.errors import (
    MissingToolError,
    SourceError,
    ToolFailedError,
    UnsupportedError,
    WarploomError,
)

_MODULE = "warploom.synthesis.reference.worker"
_PATIENCE = 10.0  # seconds for a process to end that has closed its pipe
_MOST_SAID = 2000  # characters of what a process that ended said last


def require_torch() -> None:
    """Raise MissingToolError where PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise MissingToolError(
            "PyTorch is needed to read a reference, but is not installed",
            hint="pip install 'warploom[torch]'",
        )


COPY = "copy"
"""Of a `Baseline` that is no mode of the reference: a copy that moves as many bytes."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Times of the reference's calls in one mode, in milliseconds."""

    mode: str
    milliseconds: tuple[float, ...]


class ReferenceProcess:
    """A process that holds one reference, or one for each rank; use it as a context manager.

    The ranks do everything in step, and reach each other over the loopback device.
    """

    def __init__(self, file: Path, name: str = "", ranks: int = 1) -> None:
        require_torch()
        if not file.is_file():
            raise SourceError("no such file", file=str(file))
        self.file = file.resolve()
        self.name = name
        self.ranks = ranks
        self._folder = tempfile.TemporaryDirectory(prefix="warploom-ranks-")
        store = str(Path(self._folder.name) / "store")
        self._workers = [
            _Worker([] if ranks == 1 else [str(rank), str(ranks), store]) for rank in range(ranks)
        ]

    def __enter__(self) -> "ReferenceProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        for worker in self._workers:
            worker.close()
        self._folder.cleanup()

    def load(self, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Import the reference and return its inputs and outputs by example.

        Raises:
            SourceError: it fails, or has other shapes on another rank.
        """
        answers = self._ask_all({"do": "load", "file": str(self.file), "name": self.name,
                                 "seeds": list(seeds)})  # fmt: skip
        self._require_alike("have inputs and outputs of the same shapes and types", answers)
        return answers[0]

    def trace(self) -> Mapping[str, Any]:
        """Return the graph of the loaded reference.

        Raises:
            SourceError: it cannot be traced, or does something else on another rank.
        """
        answers = self._ask_all({"do": "trace"})
        self._require_alike("do the same", answers)
        return answers[0]

    def _require_alike(self, what: str, answers: Sequence[Mapping[str, Any]]) -> None:
        for rank, answer in enumerate(answers):
            if answer != answers[0]:
                raise SourceError(
                    f"all ranks must {what}, but rank {rank} does not as rank 0",
                    file=str(self.file), hint="what differs from rank to rank must be a tensor",
                )  # fmt: skip

    def domains(
        self, indices: Mapping[int, str], compared: Mapping[int, Sequence[int]]
    ) -> Mapping[str, Any]:
        """Say which inputs are indices, and what they are compared with; returns their values."""
        asked = {"do": "domains", "indices": {str(k): v for k, v in indices.items()},
                 "compared": {str(k): list(v) for k, v in compared.items()}}  # fmt: skip
        return self._ask_all(asked)[0]

    def case(self, request: Mapping[str, Any], stems: Sequence[str]) -> Sequence[Mapping[str, Any]]:
        """Have the inputs of one case drawn and judged: those of each rank, in files of its stem.

        Raises:
            SourceError: the reference fails on these inputs.
        """
        return self._ask_all({"do": "case", **request}, stems)

    def agreement(self, request: Mapping[str, Any], stems: Sequence[str]) -> str:
        """Say whether trace and reference do the same at the sizes of a case's request.

        Returns "agrees", "differs", or "fails" where the reference does; the worst of all ranks.
        """
        answers = self._ask_all({"do": "agreement", **request}, stems)
        found = {str(answer["is"]) for answer in answers}
        return next(word for word in ("differs", "fails", "agrees") if word in found)

    def gpu(self) -> str:
        """Return the name of the GPU that PyTorch sees.

        Raises:
            MissingToolError: PyTorch sees none.
        """
        answer = self._ask({"do": "gpu"})
        if not answer["name"]:
            raise MissingToolError(
                "the cuda backend needs a PyTorch that sees the GPU, but this one does not",
                hint="install PyTorch for CUDA: https://pytorch.org/get-started",
            )
        return answer["name"]

    def times(self, request: Mapping[str, Any]) -> tuple[Baseline, ...]:
        """Take the reference's times on the GPU: in eager mode, and each of torch.compile's.

        The last ones, of mode "copy", are of copies of as many bytes as are to be moved.

        Raises:
            SourceError: the reference fails there.
        """
        answer: Any = self._ask({"do": "time", **request})
        return tuple(Baseline(one["mode"], tuple(one["milliseconds"])) for one in answer)

    def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._ask_all(request)[0]

    def _ask_all(
        self, request: Mapping[str, Any], stems: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Any]]:
        """Ask all ranks at once; returns what each says."""
        for rank, worker in enumerate(self._workers):
            worker.send({**request, "stem": stems[rank]} if stems else request)
        lines = [worker.receive() for worker in self._workers]
        answers: list[Mapping[str, Any]] = [json.loads(line) for line in lines if line]
        failed = [answer for answer in answers if "error" in answer]
        if failed:
            answer = min(failed, key=lambda one: (bool(one["echo"]), one["line"] is None))
            kind = UnsupportedError if answer["beyond"] else SourceError
            raise kind(
                answer["error"], file=str(self.file), line=answer["line"], hint=answer["hint"]
            )
        for worker, line in zip(self._workers, lines, strict=True):
            if not line:
                raise worker.ended(self.file)
        return [answer["ok"] for answer in answers]


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", _MODULE, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True,
        )  # fmt: skip

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; that the process has ended shows where its answer is awaited."""
        stdin = cast("TextIO", self._process.stdin)
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()

    def receive(self) -> str:
        """Return the line that answers, or nothing where the process has ended."""
        return cast("TextIO", self._process.stdout).readline()

    def ended(self, file: Path) -> WarploomError:
        """Return what to say of a process that ended without an answer."""
        try:
            code = self._process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().strip()
        if len(said) > _MOST_SAID:
            said = said[-_MOST_SAID:].partition("\n")[2]
        words = f"its process ended with exit code {code}" if code >= 0 else (
            f"its process was ended by signal {-code}"
        )  # fmt: skip
        told = f":\n{said}" if said else ""
        if code >= 0:
            return SourceError(f"the reference must return, but {words}{told}", file=str(file))
        return ToolFailedError(f"the reference must return, but {words}{told}", file=str(file))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
