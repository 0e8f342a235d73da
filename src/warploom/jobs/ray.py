"""Work as tasks of a Ray cluster."""

import time
from dataclasses import dataclass
from typing import Any

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.jobs.child import ChildWork, child_work, reply_of
from warploom.jobs.config import JobConfig
from warploom.jobs.protocol import Done, Loss, Task, lost

_GB = 1 << 30
_STEP = 5.0  # seconds between looks at tasks that are not begun
_GRACE = 60.0  # seconds for a task's answer after its work has had its time
_LOST = frozenset(
    (
        "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "LocalRayletDiedError",
        "ObjectLostError", "OwnerDiedError", "ObjectFetchTimedOutError", "RaySystemError",
    )
)  # fmt: skip


@dataclass(slots=True)
class _Running:
    task: Task
    reference: Any
    submitted: float


class RayEngine:
    """Runs each piece of work as a task; Ray finds the node, and does nothing again by itself.

    Raises:
        MissingToolError: ray is not installed, or no cluster answers.
    """

    isolated = True

    def __init__(self, config: JobConfig, slots: int) -> None:
        self._config = config
        self._slots = slots
        self._ray = _connected(config.ray.address)
        asked: dict[str, Any] = {"num_cpus": config.cpus, "num_gpus": config.gpus, "max_retries": 0}
        if config.memory_gb is not None:
            asked["memory"] = int(config.memory_gb * _GB)
        self._remote: Any = self._ray.remote(**asked)(ChildWork.__call__)
        self._running: dict[int, _Running] = {}
        self._ended: list[Done] = []

    @property
    def slots(self) -> int:
        """How many tasks can be under way."""
        return self._slots

    @property
    def busy(self) -> int:
        """How many are under way."""
        return len(self._running) + len(self._ended)

    def submit(self, task: Task) -> None:
        """Hand a piece of work to the cluster."""
        work = child_work(task, self._config.environment)
        self._running[task.key] = _Running(task, self._remote.remote(work), time.monotonic())

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            found, self._ended = self._ended, []
            if found or not self._running:
                return found
            by_reference = {one.reference: key for key, one in self._running.items()}
            left = _STEP if end is None else max(0.0, min(_STEP, end - time.monotonic()))
            ready, _ = self._ray.wait(list(by_reference), timeout=left)
            found = [self._take(by_reference[one]) for one in ready] + self._overdue()
            if found or (end is not None and time.monotonic() >= end):
                return found

    def cancel(self, key: int) -> None:
        """End the task of a piece of work."""
        if key in self._running:
            self._end(self._running.pop(key))
            self._ended.append(lost(key, Loss.CANCELLED, "the work was cancelled"))

    def close(self) -> None:
        """End all tasks, and leave the cluster."""
        for one in self._running.values():
            self._end(one)
        self._running.clear()
        self._ended.clear()

    def _take(self, key: int) -> Done:
        one = self._running.pop(key)
        try:
            return reply_of(key, self._ray.get(one.reference))
        except self._ray.exceptions.RayError as error:
            kind = type(error).__name__
            if kind == "TaskCancelledError":
                return lost(key, Loss.CANCELLED, "Ray cancelled the task")
            if kind in _LOST:
                return lost(key, Loss.DIED, f"Ray lost the task: {kind}: {_first_line(error)}")
            raise ToolFailedError(f"Ray cannot run tasks: {_first_line(error)}") from error

    def _overdue(self) -> list[Done]:
        """End tasks that are not begun, or do not answer, in time."""
        now = time.monotonic()
        start = self._config.start_timeout_s
        found: list[Done] = []
        for key, one in tuple(self._running.items()):
            if start is None:
                continue
            limit = start + (one.task.seconds or 0.0) + _GRACE
            if one.task.seconds is not None and now > one.submitted + limit:
                self._end(self._running.pop(key))
                found.append(lost(key, Loss.STUCK, f"the task was not done in {limit:.0f} s"))
        return found

    def _end(self, one: _Running) -> None:
        self._ray.cancel(one.reference, force=True)


def _connected(address: str) -> Any:
    """Return the module, connected to a cluster."""
    try:
        import ray  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ModuleNotFoundError:
        raise MissingToolError(
            "jobs.engine=ray needs Ray", hint="install it: pip install 'warploom[ray]'"
        ) from None
    module: Any = ray  # pyright: ignore[reportUnknownVariableType]
    if not module.is_initialized():
        try:
            module.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise MissingToolError(
                f"no Ray cluster answers at {address}: {_first_line(error)}",
                hint="start one: ray start --head; and set jobs.ray.address",
            ) from None
    return module


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
