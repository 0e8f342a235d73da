"""Work in this process, one piece after the other, in the order of its submission."""

from collections import deque

from warploom.jobs.protocol import Done, Work


class InlineJobs:
    """One slot. Work begins when somebody waits for it; Ctrl-C interrupts it."""

    slots = 1

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Work]] = deque()

    @property
    def busy(self) -> int:
        """How many pieces of work wait."""
        return len(self._waiting)

    def submit(self, key: int, work: Work) -> None:
        """Put a piece of work into the queue."""
        self._waiting.append((key, work))

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Do the next piece of work, however long it takes."""
        del seconds
        if not self._waiting:
            return []
        key, work = self._waiting.popleft()
        try:
            return [Done(key, work())]
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            return [Done(key, error=error)]

    def close(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
