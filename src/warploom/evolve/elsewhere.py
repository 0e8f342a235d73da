"""Takes times where the GPUs are: a command, srun for instance, starts the measuring there.

So machines without GPUs verify the candidates of a search, and a GPU is held for the time of its
runs only.
"""

import base64
import os
import pickle
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import MissingToolError
from warploom.evaluation.observed.measured import Measured, measure
from warploom.jobs.answers import answer_of, done_of
from warploom.jobs.environment import job_environment
from warploom.jobs.protocol import Loss, WorkLostError
from warploom.workload.workload import Workload

_ANSWER = "warploom answers "
_MAIN = "from warploom.evolve.elsewhere import main; main()"


@dataclass(frozen=True, slots=True)
class Measuring:
    """One measurement. The candidate travels as text: the other machine may not see its file."""

    name: str
    text: str
    workload: Workload
    inputs: tuple[int, ...]
    repeats: int

    def __call__(self) -> Measured:
        """Measure on this machine."""
        with tempfile.TemporaryDirectory(prefix="warploom-measure-") as folder:
            candidate = Path(folder) / self.name
            candidate.write_text(self.text)
            return measure(candidate, self.workload, inputs=self.inputs, repeats=self.repeats)


def measure_elsewhere(
    command: str, candidate: Path, workload: Workload, *, inputs: Sequence[int], repeats: int
) -> Measured:
    """Measure as `measure` does, in a process that a command starts.

    Raises:
        MissingToolError: the command is not there; or as `measure` does.
        WorkLostError: nothing is answered.
        BadInputError, UnsupportedError: as `measure` does.
    """
    words = shlex.split(command)
    asked = Measuring(candidate.name, candidate.read_text(), workload, tuple(inputs), repeats)
    try:
        done = subprocess.run(
            [*words, sys.executable, "-c", _MAIN], input=pickle.dumps(asked), capture_output=True,
            check=False, env=_environment(),
        )  # fmt: skip
    except OSError as error:
        raise MissingToolError(
            f"evaluation.gpu_command cannot be run: {words[0]}: {error.strerror}",
            hint="name a command that starts another one where GPUs are, such as srun",
        ) from None
    answer = _answer_in(done.stdout)
    if answer is None:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        raise WorkLostError(
            Loss.DIED, f"evaluation.gpu_command ended with exit code {done.returncode}: {said[-1]}"
        )
    found = done_of(0, answer)
    if found.error is not None:
        raise found.error
    assert isinstance(found.value, Measured)
    return found.value


def _environment() -> dict[str, str]:
    """Return ours, without what would make srun begin a step of the job that we are in."""
    ours = job_environment()
    return {k: v for k, v in ours.items() if not k.startswith("SLURM") or k == "SLURM_CONF"}


def _answer_in(said: bytes) -> bytes | None:
    for line in said.decode(errors="replace").splitlines():
        if line.startswith(_ANSWER):
            return base64.b64decode(line.removeprefix(_ANSWER))
    return None


def main() -> None:
    """Do the measuring on standard input; print its answer."""
    asked: object = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - of our controller
    assert callable(asked)
    answer = base64.b64encode(answer_of(asked)).decode()
    os.write(sys.stdout.fileno(), f"{_ANSWER}{answer}\n".encode())


if __name__ == "__main__":
    main()
