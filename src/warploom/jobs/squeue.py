"""What Slurm's queue says of jobs: by `squeue` alone, which needs no accounting."""

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from warploom.core.process import default_environment
from warploom.jobs.protocol import Loss

_SECONDS = 30.0  # for an answer
_LOSSES = {
    "BOOT_FAIL": Loss.DIED,
    "CANCELLED": Loss.CANCELLED,
    "DEADLINE": Loss.TIMEOUT,
    "FAILED": Loss.DIED,
    "NODE_FAIL": Loss.DIED,
    "OUT_OF_MEMORY": Loss.DIED,
    "PREEMPTED": Loss.CANCELLED,
    "REVOKED": Loss.CANCELLED,
    "SPECIAL_EXIT": Loss.DIED,
    "TIMEOUT": Loss.TIMEOUT,
}
_WAITING = frozenset(("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CONFIGURING"))
_HELD = frozenset(("SUSPENDED", "STOPPED"))


@dataclass(frozen=True, slots=True)
class JobState:
    """What Slurm says of a job: its state, on which node, and why it waits."""

    state: str
    node: str = ""
    reason: str = ""

    @property
    def loss(self) -> Loss | None:
        """How the job was lost; None where it waits, runs, or came to its end."""
        return _LOSSES.get(self.state)

    @property
    def waits(self) -> bool:
        """Whether it was not begun yet."""
        return self.state in _WAITING

    @property
    def held(self) -> bool:
        """Whether it was begun, and does not go on."""
        return self.state in _HELD

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.loss is not None or self.state == "COMPLETED"

    def __str__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        why = f" ({self.reason})" if self.reason not in ("", "None") else ""
        return f"{self.state}{where}{why}"


class SilentError(Exception):
    """Slurm's controller does not answer; the message is what a command of Slurm's says."""


def queue_of(name: str) -> dict[str, JobState]:
    """Return the jobs of a name by id, those that ended lately too.

    Raises:
        SilentError: nobody answers.
    """
    said = slurm(["squeue", "--noheader", "--array", "--states=all", f"--name={name}",
                  "--format=%i|%T|%N|%r"])  # fmt: skip
    found: dict[str, JobState] = {}
    for line in said.splitlines():
        job, _, rest = line.partition("|")
        state, _, more = rest.partition("|")
        node, _, reason = more.partition("|")
        if job and state:
            found[job.strip()] = JobState(state.strip(), node.strip(), reason.strip())
    return found


def waiting_for(states: Iterable[JobState | None]) -> str:
    """Return what jobs wait for, in Slurm's words; "" where one of them does not wait."""
    known = [state for state in states if state is not None]
    if not known or not all(state.waits for state in known):
        return ""
    why = sorted({state.reason for state in known} - {"", "None"})
    jobs = "1 job waits" if len(known) == 1 else f"all {len(known)} jobs wait"
    return f"{jobs} in Slurm's queue" + (f": {', '.join(why)}" if why else "")


def cancel(*words: str) -> None:
    """Cancel jobs: ids, or an option that chooses them. Those that have ended are no error."""
    with suppress(SilentError):
        slurm(["scancel", "--quiet", *words])


def slurm(command: list[str]) -> str:
    """Return what a command of Slurm says.

    Raises:
        SilentError: it fails: Slurm's controller may be away.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS,
            env=_environment(), stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SilentError(f"{command[0]} says nothing for {_SECONDS:.0f} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise SilentError(said[-1] if said else f"{command[0]} fails, and says nothing")
    return done.stdout


def _environment() -> dict[str, str]:
    """Return what Slurm's commands need, its own settings among it."""
    from warploom.jobs.environment import job_environment

    return {**job_environment(), **default_environment()}
