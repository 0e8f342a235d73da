"""Work in this process, one piece after the other, in the order of its submission."""

from collections import deque

from warploom.jobs.protocol import Done, Loss, Task, lost


class InlineEngine:
    """One slot. Work begins when somebody waits for it; Ctrl-C interrupts it.

    Nothing can be lost, and nothing can be ended: time limits of tasks do not apply.
    """

    slots = 1
    isolated = False

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()
        self._cancelled: list[Done] = []

    @property
    def busy(self) -> int:
        """How many pieces of work wait."""
        return len(self._waiting) + len(self._cancelled)

    @property
    def waits(self) -> str:
        """Nothing: no queue of another system is asked."""
        return ""

    def submit(self, task: Task) -> None:
        """Put a piece of work into the queue."""
        self._waiting.append(task)

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Do the next piece of work, however long it takes."""
        del seconds
        if self._cancelled:
            return [self._cancelled.pop()]
        if not self._waiting:
            return []
        task = self._waiting.popleft()
        try:
            return [Done(task.key, task.work())]
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            return [Done(task.key, error=error)]

    def cancel(self, key: int) -> None:
        """Take a piece of work that was not begun out of the queue."""
        task = next((one for one in self._waiting if one.key == key), None)
        if task is not None:
            self._waiting.remove(task)
            self._cancelled.append(lost(key, Loss.CANCELLED, "the work was cancelled"))

    def close(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        self._cancelled.clear()
