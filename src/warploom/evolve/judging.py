"""Has candidates judged in a number of slots: what waits for one, what is under way, what broke."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, MissingToolError, ToolFailedError, WarploomError
from warploom.evolve.evaluator import Evaluator, Question, failed
from warploom.evolve.folder import RunFacts, RunFolder
from warploom.evolve.work import Judge
from warploom.jobs import Done, InlineJobs, Jobs, LocalJobs, WorkerDiedError
from warploom.store.records import Outcome

_MOST_BREAKS = 3  # judges that break one after the other: then it is not the candidates' fault
_NEEDED = ("warploom.evolve.work", "warploom.evaluate.cascade")  # by workers
_SEEDED_WORKERS = 2  # on any machine: the same seed must give the same run


def default_workers(given: bool) -> int:
    """Return how many workers judge where nobody says; `given`: a seed asks for the same run."""
    return _SEEDED_WORKERS if given else len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of a program; `again`: as a champion's second judgement."""

    number: int
    outcome: Outcome
    again: bool


class Judging:
    """Judges programs; a piece of work that finds no free slot waits, and is begun in order.

    `may_blame` says whether bad input is the workload's fault: not once a program has passed.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        workers: int,
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
        self._jobs: Jobs = InlineJobs() if workers == 1 else LocalJobs(workers, _NEEDED)
        self._waiting: deque[tuple[int, Judge]] = deque()
        self._under_way: dict[int, Judge] = {}
        self._retried: set[int] = set()
        self._breaks = 0
        self.judged = 0

    @property
    def slots(self) -> int:
        """How many programs are judged at once."""
        return self._jobs.slots

    @property
    def busy(self) -> int:
        """How many programs are being judged, or wait for that."""
        return len(self._waiting) + len(self._under_way)

    def submit(self, number: int, origin: str, text: str, api: str) -> None:
        """Have a candidate judged."""
        question = Question(api, self._facts.inputs)
        self._waiting.append((number, self._work(number, origin, text, question, again=False)))
        self._start()

    def confirm(self, number: int, origin: str, text: str, api: str) -> None:
        """Have a program judged once more, with inputs that no other judgement of the run has."""
        question = Question(api, self._facts.confirm)
        self._waiting.appendleft((-number, self._work(number, origin, text, question, again=True)))
        self._start()

    def take(self, seconds: float | None = None) -> list[Verdict]:
        """Wait for a judge; returns what those say that have ended, which may be none.

        Raises:
            WarploomError: it is the workload or this machine that is wrong.
        """
        found: list[Verdict] = []
        for done in self._jobs.wait(seconds):
            outcome = self._outcome(done)
            if outcome is None:
                continue
            del self._under_way[done.key]
            self.judged += 1
            found.append(Verdict(abs(done.key), outcome, done.key < 0))
        self._start()
        return found

    def close(self) -> None:
        """End all work at once."""
        self._jobs.close()

    def _start(self) -> None:
        while self._waiting and self._jobs.busy < self._jobs.slots:
            key, work = self._waiting.popleft()
            self._under_way[key] = work
            self._jobs.submit(key, work)

    def _work(
        self, number: int, origin: str, text: str, question: Question, *, again: bool
    ) -> Judge:
        place: Path = self._folder.confirmations if again else self._folder.attempts
        return Judge(self._evaluator, number, origin, text, question, place, self._file_name)

    def _outcome(self, done: Done) -> Outcome | None:
        """Return what a judge said; None where it is asked again."""
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
        if isinstance(error, WorkerDiedError) and done.key not in self._retried:
            self._retried.add(done.key)
            self._jobs.submit(done.key, self._under_way[done.key])
            return None
        self._breaks += 1
        if self._breaks >= _MOST_BREAKS:
            raise ToolFailedError(
                f"{self._breaks} evaluations broke one after the other: {error!r}",
                hint="the run can be resumed once that is mended",
            ) from error
        kind = "worker_died" if isinstance(error, WorkerDiedError) else "evaluator_error"
        return failed(kind, str(error) or repr(error))
