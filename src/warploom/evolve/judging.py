"""Has candidates judged in a number of slots: what waits for one, what is under way, what broke."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, MissingToolError, ToolFailedError, WarploomError
from warploom.evolve.evaluator import Evaluator, Question, failed
from warploom.evolve.folder import RunFacts, RunFolder
from warploom.evolve.work import Judge
from warploom.jobs import Done, Engine, JobConfig, JobScheduler, Place, Task, open_engine
from warploom.store.records import Outcome
from warploom.toolchain.gpu import find_gpus

_MOST_BREAKS = 3  # judges that break one after the other: then it is not the candidates' fault
_NEEDED = ("warploom.evolve.work", "warploom.evaluation.cascade")  # by workers
_SEEDED_WORKERS = 2  # on any machine: the same seed must give the same run
_CLUSTER_WORKERS = 8
_FOLDER = "jobs"  # of a run's folder: what an engine keeps


def default_workers(given: bool, jobs: JobConfig) -> int:
    """Return how many workers judge where nobody says; `given`: a seed asks for the same run."""
    if given:
        return _SEEDED_WORKERS
    return _CLUSTER_WORKERS if jobs.remote else len(os.sched_getaffinity(0))


def engine_for(jobs: JobConfig, workers: int, folder: RunFolder) -> Engine:
    """Return what judges run in.

    Raises:
        BadInputError: this machine has fewer GPUs than the workers need.
        MissingToolError: a package or program that the engine needs is not there.
    """
    gpus = [str(gpu.index) for gpu in find_gpus()] if jobs.gpus and not jobs.remote else []
    return open_engine(jobs, workers, Place(folder.path / _FOLDER, _NEEDED, tuple(gpus)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of a program; `again`: as a champion's second judgment."""

    number: int
    outcome: Outcome
    again: bool


class Judging:
    """Judges programs in an engine; what finds no free slot waits, and is begun in order.

    `may_blame` says whether bad input is the workload's fault: not once a program has passed. Until
    then lost work ends the run, which can be resumed: nothing is known of what it starts from.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        engine: Engine,
        jobs: JobConfig,
        folder: RunFolder,
        facts: RunFacts,
        file_name: str,
        may_blame: Callable[[], bool],
    ) -> None:
        self._evaluator = evaluator
        self._folder = folder
        self._facts = facts
        self._file_name = file_name
        self._may_blame = may_blame
        self._seconds = jobs.timeout_s
        self._jobs = JobScheduler(engine, jobs.retries)
        self._breaks = 0
        self.judged = 0

    @property
    def slots(self) -> int:
        """How many programs are judged at once."""
        return self._jobs.slots

    @property
    def busy(self) -> int:
        """How many programs are being judged, or wait for that."""
        return self._jobs.busy

    @property
    def waits(self) -> str:
        """Why nothing that was handed out begins; "" where work goes on."""
        return self._jobs.waits

    def submit(self, number: int, origin: str, text: str, api: str) -> None:
        """Have a candidate judged."""
        question = Question(api, self._facts.inputs)
        self._jobs.submit(self._task(number, origin, text, question, again=False))

    def confirm(self, number: int, origin: str, text: str, api: str) -> None:
        """Have a program judged once more, with inputs that no other judgment of the run has."""
        question = Question(api, self._facts.confirm)
        self._jobs.submit(self._task(number, origin, text, question, again=True), first=True)

    def take(self, seconds: float | None = None) -> list[Verdict]:
        """Wait for a judge; returns what those say that have ended, which may be none.

        Raises:
            WarploomError: it is the workload or this machine that is wrong.
        """
        found: list[Verdict] = []
        for done in self._jobs.wait(seconds):
            outcome = self._outcome(done)
            self.judged += 1
            found.append(Verdict(abs(done.key), outcome, done.key < 0))
        return found

    def close(self) -> None:
        """End all work at once."""
        self._jobs.close()

    def _task(
        self, number: int, origin: str, text: str, question: Question, *, again: bool
    ) -> Task:
        place: Path = self._folder.confirmations if again else self._folder.attempts
        work = Judge(self._evaluator, number, origin, text, question, place, self._file_name)
        key = -number if again else number
        return Task(key, work, f"{key}:{work.key}", self._seconds)

    def _outcome(self, done: Done) -> Outcome:
        """Return what a judge said, or that it could not: no engine's loss is a judgment."""
        error = done.error
        if error is None:
            self._breaks = 0
            assert isinstance(done.value, Outcome)
            return done.value
        blamed = isinstance(error, BadInputError) and self._may_blame()
        if isinstance(error, MissingToolError) or blamed:
            raise error
        if isinstance(error, OSError):
            raise WarploomError(
                error.strerror or str(error),
                file=None if error.filename is None else str(error.filename),
            ) from error
        self._breaks += 1
        if self._breaks >= _MOST_BREAKS:
            raise ToolFailedError(
                f"{self._breaks} evaluations broke one after the other: {error or repr(error)}",
                hint="the run can be resumed once that is mended",
            ) from error
        if done.loss and self._may_blame():  # a search that has no program yet ends with this
            raise ToolFailedError(
                f"a program to start from was not judged: {error}",
                hint="mend that (jobs.* may be other ones then), and go on with --resume; "
                "a form that is lost each time can be left out: apis=[...] in a new run",
            ) from error
        kind = f"worker_{done.loss}" if done.loss else "evaluator_error"
        return failed(kind, str(error) or repr(error))
