"""Asks the reference's process; the only way from the rest of warploom to PyTorch."""

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

from warploom.core.errors import MissingToolError, SourceError, ToolFailedError

_MODULE = "warploom.synthesis.reference.worker"


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
    """A process that holds one reference; use it as a context manager."""

    def __init__(self, file: Path, name: str = "") -> None:
        require_torch()
        if not file.is_file():
            raise SourceError("no such file", file=str(file))
        self.file = file.resolve()
        self.name = name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", _MODULE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True,
        )  # fmt: skip

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
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def load(self, seeds: Sequence[int]) -> Mapping[str, Any]:
        """Import the reference and return its inputs and outputs by example."""
        return self._ask({"do": "load", "file": str(self.file), "name": self.name,
                          "seeds": list(seeds)})  # fmt: skip

    def trace(self) -> Mapping[str, Any]:
        """Return the graph of the loaded reference."""
        return self._ask({"do": "trace"})

    def domains(self, indices: Mapping[int, str]) -> Mapping[str, Any]:
        """Say which inputs are indices; returns what values each input has."""
        return self._ask({"do": "domains", "indices": {str(k): v for k, v in indices.items()}})

    def case(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the inputs of one case drawn and judged; their files begin with its `stem`.

        Raises:
            SourceError: the reference fails on these inputs.
        """
        return self._ask({"do": "case", **request})

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
        stdin = cast("TextIO", self._process.stdin)
        stdout = cast("TextIO", self._process.stdout)
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ToolFailedError(
                f"the process of the reference must answer, but ended:\n{self._last_words()}",
                file=str(self.file),
            )
        answer = json.loads(line)
        if "error" in answer:
            raise SourceError(
                answer["error"], file=str(self.file), line=answer["line"], hint=answer["hint"]
            )
        return answer["ok"]

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2000:]
