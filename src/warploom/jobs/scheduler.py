"""`JobScheduler`: what waits for a slot, and what is done again because an engine lost it."""

from collections import Counter, deque

from warploom.jobs.protocol import Done, Engine, Loss, Task


class JobScheduler:
    """Gives tasks to an engine as slots become free, in order.

    A task that the engine lost is done again, up to `retries` times, before all others. What comes
    back is therefore an answer, an error that the work raised, or a loss that no further try is
    left for.
    """

    def __init__(self, engine: Engine, retries: int = 1) -> None:
        self._engine = engine
        self._retries = retries
        self._waiting: deque[Task] = deque()
        self._under_way: dict[int, Task] = {}
        self._tries: Counter[int] = Counter()
        self.losses: Counter[Loss] = Counter()

    @property
    def slots(self) -> int:
        """How many pieces of work can be under way at once."""
        return self._engine.slots

    @property
    def busy(self) -> int:
        """How many tasks wait or are under way."""
        return len(self._waiting) + len(self._under_way)

    @property
    def waits(self) -> str:
        """Why nothing of what the engine has begins; "" where work goes on."""
        return self._engine.waits

    def submit(self, task: Task, *, first: bool = False) -> None:
        """Take a task; `first`: before all that wait."""
        assert task.key not in self._under_way, "a key names one piece of work"
        if first:
            self._waiting.appendleft(task)
        else:
            self._waiting.append(task)
        self._start()

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended for good: it may be nothing, where work is done again."""
        found: list[Done] = []
        for done in self._engine.wait(seconds):
            task = self._under_way.pop(done.key)
            if done.loss is not None:
                self.losses[done.loss] += 1
                self._tries[done.key] += 1
                if self._tries[done.key] <= self._retries:
                    self._waiting.appendleft(task)
                    continue
            self._tries.pop(done.key, None)
            found.append(done)
        self._start()
        return found

    def close(self) -> None:
        """End all work at once."""
        self._waiting.clear()
        self._engine.close()

    def _start(self) -> None:
        while self._waiting and self._engine.busy < self._engine.slots:
            task = self._waiting.popleft()
            self._under_way[task.key] = task
            self._engine.submit(task)
