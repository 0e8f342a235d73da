"""Work as jobs of Slurm, submitted by submitit.

submitit writes the batch scripts and carries work and answers in files of a folder that all nodes
see. What became of a job is read from those files and from `squeue`: submitit's own waiting asks
`sacct`, and hangs for good where accounting is off. Jobs outlive their controller: one that is
started anew takes up those that it finds for the same work.
"""

import json
import pickle
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from warploom.core.errors import BadInputError, MissingToolError
from warploom.core.ids import digest
from warploom.core.jsontext import write_json
from warploom.jobs.batch import executor_for, kept_from_sbatch, parameters, require_known
from warploom.jobs.child import MarkedReply, MarkedWork, child_work, reply_of
from warploom.jobs.config import JobConfig
from warploom.jobs.protocol import Done, Loss, Task, lost
from warploom.jobs.squeue import JobState, SilentError, cancel, queue_of, waiting_for

if TYPE_CHECKING:
    from submitit import Job

_LOOK = 0.1  # seconds between looks at the folder
_SETTLE = 10.0  # seconds that an answer may need to be seen on a shared file system
_MARGIN = 60.0  # seconds that a job may need beside its work
_SHOWN = 500  # characters of what a job printed
# What sbatch says where the same job may be taken a while later.
_AWAY = re.compile(
    r"contact slurm controller|timed out|Zero Bytes|Connection refused|temporar|MaxSubmit"
    r"|job limit|Unable to allocate|Communication", re.IGNORECASE
)  # fmt: skip


class _AwayError(Exception):
    """Slurm takes no jobs for now."""


@dataclass(slots=True)
class _Running:
    """A job that is under way; moments are those at which we saw something, or None.

    Its answer has the mark, or is that of another job: when Slurm's controller crashes it may
    forget a job, and give its number to the next one.
    """

    task: Task
    job: "Job[MarkedReply]"
    mark: str
    submitted: float
    begun: float | None = None
    held: float | None = None
    ended: float | None = None


class SlurmEngine:
    """Runs each piece of work in a job.

    `folder` is on a file system that all nodes see under the same name. Tasks that are submitted
    together become one array of jobs.

    Raises:
        MissingToolError: submitit or Slurm's commands are not there, or its controller is away.
        BadInputError: sbatch would not take the parameters.
    """

    isolated = True

    def __init__(self, config: JobConfig, slots: int, folder: Path) -> None:
        self._config = config
        self._slots = slots
        self._folder = folder.resolve()
        self._name = f"warploom-{digest((str(self._folder),))[:12]}"
        self._named = self._folder / "named"
        self._named.mkdir(parents=True, exist_ok=True)
        self._executor = executor_for(config, self._folder, self._name)
        self._running: dict[int, _Running] = {}
        self._fresh: list[Task] = []
        self._ended: list[Done] = []
        self._past: dict[str, float] = {}  # jobs that have answered, and when; Slurm may not know
        self._waits = ""
        self._asked = 0.0
        self._again = 0.0  # when jobs that were not taken are tried again
        self._refused: float | None = None  # since when none is taken
        self._found = _jobs_at_first(self._name)
        require_known(parameters(config, self._folder, self._name))

    @property
    def slots(self) -> int:
        """How many jobs can be under way."""
        return self._slots

    @property
    def busy(self) -> int:
        """How many are under way."""
        return len(self._running) + len(self._fresh) + len(self._ended)

    @property
    def waits(self) -> str:
        """Why no job goes on: what the queue says of those that wait, or that it says nothing."""
        return self._waits if self._running or self._fresh else ""

    def submit(self, task: Task) -> None:
        """Take a piece of work, or take up the job that an earlier controller began for it."""
        one = self._begun_before(task)
        if one is None:
            self._fresh.append(task)
        else:
            self._running[task.key] = one

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            self._begin()
            found, self._ended = self._ended, []
            found += self._answers()
            if not found:
                found = self._looked_after()
            if (
                found
                or not (self._running or self._fresh)
                or (end is not None and time.monotonic() >= end)
            ):
                return found
            time.sleep(_LOOK if end is None else min(_LOOK, max(0.0, end - time.monotonic())))

    def cancel(self, key: int) -> None:
        """Cancel the job of a piece of work."""
        if key in self._running:
            self._ended.append(self._lose(key, Loss.CANCELLED, "the work was cancelled"))
            return
        task = next((one for one in self._fresh if one.key == key), None)
        if task is not None:
            self._fresh.remove(task)
            self._ended.append(lost(key, Loss.CANCELLED, "the work was cancelled"))

    def close(self) -> None:
        """Cancel all jobs of this folder, those of an earlier controller too."""
        if self._running or self._found or self._past:
            cancel(f"--name={self._name}")
        for one in self._running.values():
            self._forget(one.task, one.job)
        self._running.clear()
        self._fresh.clear()
        self._ended.clear()
        self._past.clear()

    # --- jobs ---

    def _begin(self) -> None:
        """Submit what was taken since: one job, or an array of them."""
        now = time.monotonic()
        if not self._fresh or now < self._again:
            return
        many = len(self._fresh) > 1 and not self._config.slurm.foreign
        while self._fresh:  # submitit's arrays have our Python, whatever it was told
            group = self._fresh if many else self._fresh[:1]
            marks = [uuid4().hex for _ in group]
            try:
                jobs = self._submitted(group, marks)
            except _AwayError as error:
                self._again = now + self._config.slurm.poll_s
                self._waits = f"Slurm takes no jobs: {error}"
                self._give_up(now, str(error))
                return
            self._refused = None
            self._fresh = self._fresh[len(group) :]
            self._forgotten({str(job.job_id) for job in jobs})
            for task, job, mark in zip(group, jobs, marks, strict=True):
                self._running[task.key] = _Running(task, job, mark, now)
                if task.name:
                    write_json(self._note(task.name), {"job": job.job_id, "mark": mark})

    def _give_up(self, now: float, said: str) -> None:
        """Drop work that Slurm has not taken for too long."""
        if self._refused is None:
            self._refused = now
        limit = self._config.start_timeout_s
        if limit is not None and now > self._refused + limit:
            why = f"Slurm took no job for {limit} s: {said}"
            self._ended += [lost(task.key, Loss.STUCK, why) for task in self._fresh]
            self._fresh.clear()

    def _forgotten(self, fresh: set[str]) -> None:
        """Drop the jobs whose numbers Slurm has just given to others."""
        for number in fresh:
            self._past.pop(number, None)
        for key, one in tuple(self._running.items()):
            if str(one.job.job_id) in fresh:
                del self._running[key]
                said = f"Slurm has forgotten job {one.job.job_id}, and begun another one"
                self._ended.append(lost(key, Loss.DIED, said))

    def _submitted(self, tasks: list[Task], marks: list[str]) -> "list[Job[MarkedReply]]":
        config = self._config
        own = not config.slurm.foreign
        works = [
            MarkedWork(child_work(task, config.environment, own=own), mark)
            for task, mark in zip(tasks, marks, strict=True)
        ]
        try:
            with kept_from_sbatch():
                if len(works) == 1:
                    return [self._executor.submit(works[0])]
                with self._executor.batch():
                    return [self._executor.submit(work) for work in works]
        except Exception as error:
            if type(error).__name__ not in ("FailedJobError", "FailedSubmissionError"):
                raise
            raise _refused(error) from None

    def _begun_before(self, task: Task) -> _Running | None:
        """Return the job that was begun for the work of a name, if it can still be answered."""
        note = self._note(task.name)
        if not task.name or not note.is_file():
            return None
        from submitit import SlurmJob

        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(note.read_bytes())
            number, mark = str(said["job"]), str(said["mark"])
            job = cast("Job[MarkedReply]", SlurmJob(folder=self._folder, job_id=number, tasks=[0]))
            state = self._found.get(number)
            if job.paths.result_pickle.is_file() or (state is not None and not state.ended):
                return _Running(task, job, mark, time.monotonic())
        return None

    def _note(self, name: str) -> Path:
        return self._named / f"{digest((name,))}.json"

    def _answers(self) -> list[Done]:
        """Return what jobs have answered."""
        found: list[Done] = []
        for key, one in tuple(self._running.items()):
            if not one.job.paths.result_pickle.is_file():
                continue
            done = self._answer(key, one)
            if done is None:
                one.job.paths.result_pickle.unlink()
                continue
            del self._running[key]
            self._past[str(one.job.job_id)] = time.monotonic()
            found.append(done)
            self._forget(one.task, one.job)
        return found

    def _answer(self, key: int, one: _Running) -> Done | None:
        """Return what a job answered; None where the answer is that of another one."""
        how, said = _loaded(one.job.paths.result_pickle)
        if how == "success":
            mark, reply = cast("MarkedReply", said)
            return reply_of(key, reply) if mark == one.mark else None
        return lost(key, Loss.DIED, f"job {one.job.job_id} broke: {str(said).strip()[-_SHOWN:]}")

    # --- what becomes of jobs that do not answer ---

    def _looked_after(self) -> list[Done]:
        """Return the jobs that are lost: by what the queue says, and by our own deadlines."""
        now = time.monotonic()
        if now < self._asked + self._config.slurm.poll_s:
            return []
        self._asked = now
        try:
            states = queue_of(self._name)
        except SilentError as error:  # answers come all the same
            self._waits = f"Slurm's controller does not answer: {error}"
            return []
        ours = [states.get(str(one.job.job_id)) for one in self._running.values()]
        self._waits = waiting_for(ours)
        self._end_the_past(states, now)
        found: list[Done] = []
        for key, one in tuple(self._running.items()):
            said = self._verdict(one, states.get(str(one.job.job_id)), now)
            if said is not None:
                found.append(self._lose(key, *said))
        return found

    def _end_the_past(self, states: dict[str, JobState], now: float) -> None:
        """Cancel jobs that have answered, but that Slurm would do, or does, once more.

        Its controller forgets the last seconds when it crashes: a job that had begun waits again.
        """
        again: list[str] = []
        for number, answered in tuple(self._past.items()):
            state = states.get(number)
            if state is None or state.ended:
                del self._past[number]
            elif state.waits or (state.state == "RUNNING" and now > answered + _SETTLE):
                again.append(number)
        if again:
            cancel(*again)

    def _verdict(
        self, one: _Running, state: JobState | None, now: float
    ) -> tuple[Loss, str] | None:
        """Return how a job was lost, and why; None while there is hope."""
        number = one.job.job_id
        if state is None or state.ended:
            one.ended = one.ended or now
            if now < one.ended + (0 if state and state.loss else _SETTLE):
                return None
            loss = state.loss if state else None
            told = str(state) if state else "no longer known to Slurm"
            return loss or Loss.DIED, f"job {number} is {told}, with no answer{self._said(one)}"
        one.ended = None
        if state.waits:
            one.begun = None
            limit, since = self._config.start_timeout_s, one.submitted
            why = f"job {number} was not begun for {limit} s: {state}"
        elif state.held:
            one.held = one.held or now
            limit, since = self._config.start_timeout_s, one.held
            why = f"job {number} was held up for {limit} s: {state}"
        else:
            one.held = None
            one.begun = one.begun or now
            if one.task.seconds is not None and now > one.begun + one.task.seconds + _MARGIN:
                return Loss.TIMEOUT, f"job {number} took longer than it may: {state}"
            return None
        return (Loss.STUCK, why) if limit is not None and now > since + limit else None

    def _lose(self, key: int, loss: Loss, message: str) -> Done:
        one = self._running.pop(key)
        cancel(str(one.job.job_id))
        self._forget(one.task, one.job)
        return lost(key, loss, message)

    def _said(self, one: _Running) -> str:
        try:
            text = one.job.paths.stderr.read_text(errors="replace").strip()
        except OSError:
            return ""
        return f"; it printed: {text[-_SHOWN:]}" if text else ""

    def _forget(self, task: Task, job: "Job[MarkedReply]") -> None:
        """Remove what a job left: a long search would fill the folder."""
        paths = job.paths
        left: Iterable[Path] = (
            self._note(task.name), paths.result_pickle, paths.submitted_pickle, paths.stdout,
            paths.stderr, paths.submission_file,
        )  # fmt: skip
        for path in left:
            path.unlink(missing_ok=True)


def _jobs_at_first(name: str) -> dict[str, JobState]:
    """Return the jobs of a name; who does not know them would begin them once more."""
    with suppress(SilentError):  # it may be busy: it is asked twice
        return queue_of(name)
    try:
        return queue_of(name)
    except SilentError as error:
        raise MissingToolError(
            f"Slurm's controller does not answer: {error}",
            hint="ask it yourself: squeue; then begin anew, or go on with --resume",
        ) from None


def _loaded(path: Path) -> tuple[str, Any]:
    return cast("tuple[str, Any]", pickle.loads(path.read_bytes()))  # noqa: S301 - of our job


def _refused(error: Exception) -> Exception:
    said = str(error).strip().splitlines()
    errors = [line.strip() for line in said if "error:" in line] or said[:1] or [repr(error)]
    told = "; ".join(errors)
    if _AWAY.search(told):
        return _AwayError(told)
    return BadInputError(
        f"sbatch did not take a job: {told[:_SHOWN]}",
        hint="look at jobs.slurm.* (docs/clusters.md); what was judged is kept",
    )
