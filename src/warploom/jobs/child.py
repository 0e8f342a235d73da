"""Work in a child process of a job: a cluster's job, or a worker of another system's.

The job itself only waits. So a crash of the work is seen and told, its time is limited, and it gets
an environment of its own: that of the job without what could be a key.
"""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from warploom.core.errors import ToolFailedError
from warploom.jobs.answers import answer_of, done_of
from warploom.jobs.environment import job_environment
from warploom.jobs.protocol import Done, Loss, Task, lost

_TOLD = 600  # bytes of what a process printed before it died
_LET_GO = 5.0  # seconds for what the work started to end
_LAST = 45.0  # seconds in which a cluster kills what it told to end; Slurm's KillWait is 30

Reply: TypeAlias = tuple[str, bytes]
"""`done` and the answer; or how the work was lost, and why."""


MarkedReply: TypeAlias = tuple[str, Reply]
"""A reply, behind what its asker called it."""


@dataclass(frozen=True, slots=True)
class ChildWork:
    """Does pickled work in a child process, and says what became of it."""

    work: bytes
    path: tuple[str, ...]
    seconds: float | None = None
    environment: tuple[str, ...] = ()

    def __call__(self) -> Reply:
        """Return what the work came to."""
        with tempfile.TemporaryDirectory(prefix="warploom-work-") as name:
            answer = Path(name) / "answer"
            said = Path(name) / "said"
            given = job_environment(further=self.environment)
            if self.path:
                given["PYTHONPATH"] = os.pathsep.join(self.path)
            with said.open("wb") as log:
                child = subprocess.Popen(
                    [sys.executable, "-m", "warploom.jobs.child", str(answer)],
                    stdin=subprocess.PIPE, stdout=log, stderr=log, env=given,
                    start_new_session=True,
                )  # fmt: skip
                try:
                    child.communicate(self.work, timeout=self.seconds)
                except subprocess.TimeoutExpired:
                    return str(Loss.TIMEOUT), b"the work took longer than it may"
                finally:
                    _end(child)
            if answer.is_file():
                return "done", answer.read_bytes()
            if child.returncode == -signal.SIGTERM:
                # The whole job was told to end, and is about to be killed: the cluster says why.
                time.sleep(_LAST)
                return str(Loss.CANCELLED), b"the work was told to end"
            told = said.read_bytes()[-_TOLD:].strip()
            return str(Loss.DIED), _how(child.returncode).encode() + (b": " + told if told else b"")


@dataclass(frozen=True, slots=True)
class MarkedWork:
    """Work whose reply says whose it is: a cluster may give the number of a job once more."""

    work: ChildWork
    mark: str

    def __call__(self) -> MarkedReply:
        """Return the mark, and what the work came to."""
        return self.mark, self.work()


def child_work(task: Task, environment: Sequence[str], *, own: bool = True) -> ChildWork:
    """Return what a job does for a task; `own`: by our Python, which then finds what we find.

    Raises:
        ToolFailedError: the work cannot be sent to another process.
    """
    try:
        pickled = pickle.dumps(task.work)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ToolFailedError(f"work for a cluster must be picklable: {error}") from None
    path = tuple(str(Path(part).resolve()) for part in sys.path) if own else ()
    return ChildWork(pickled, path, task.seconds, tuple(environment))


def reply_of(key: int, reply: Reply) -> Done:
    """Return what a job's reply says of the work of a key."""
    how, content = reply
    if how == "done":
        return done_of(key, content)
    return lost(key, Loss(how), content.decode(errors="replace"))


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End the child and its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            break
        child.send_signal(number)
        try:
            child.wait(_LET_GO)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _how(code: int) -> str:
    if code < 0:
        return f"the work's process died of signal {-code}"
    return f"the work's process ended with exit code {code}"


def main() -> None:
    """Do the work on standard input; write its answer, whole, to the file that is named."""
    work: object = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - of our controller
    assert callable(work)
    place = Path(sys.argv[1])
    fresh = place.with_name("fresh")
    fresh.write_bytes(answer_of(work))
    fresh.replace(place)


if __name__ == "__main__":
    main()
