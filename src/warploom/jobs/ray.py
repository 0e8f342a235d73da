"""Work as tasks of a Ray cluster."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.jobs.child import ChildWork, Reply, child_work, reply_of
from warploom.jobs.config import JobConfig
from warploom.jobs.protocol import Done, Loss, Task, lost

_GB = 1 << 30
_STEP = 1.0  # seconds between looks at tasks that are not begun
_NOTED = "ray/ray_current_cluster"  # where `ray start` notes its head; it may be gone since
_HEAD = "gcs_server"  # the process of a head
_CONNECT = 10.0  # seconds for a cluster's head to answer
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
    said: Any  # what the task yields: that it has begun, then the reply
    submitted: float
    begun: float | None = None


def _serve(work: ChildWork) -> Iterator[Reply | None]:
    """Say that the work has begun, then what became of it."""
    yield None
    yield work()


class RayEngine:
    """Runs each piece of work as a task; Ray finds the node, and does nothing again by itself.

    Raises:
        MissingToolError: ray is not installed, or no cluster answers.
    """

    isolated = True

    def __init__(self, config: JobConfig, slots: int) -> None:
        self._config = config
        self._slots = slots
        self._ray, self._ours = _connected(config.ray.address)
        asked: dict[str, Any] = {"num_cpus": config.cpus, "num_gpus": config.gpus, "max_retries": 0}
        if config.memory_gb is not None:
            asked["memory"] = int(config.memory_gb * _GB)
        self._remote: Any = self._ray.remote(**asked)(_serve)
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

    @property
    def waits(self) -> str:
        """Nothing: no queue of another system is asked."""
        return ""

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
            keys = {one.said: key for key, one in self._running.items()}
            left = _STEP if end is None else max(0.0, min(_STEP, end - time.monotonic()))
            ready, _ = self._ray.wait(list(keys), timeout=left)
            taken = [self._take(keys[one]) for one in ready]
            found = [one for one in taken if one is not None] + self._overdue()
            if found or (end is not None and time.monotonic() >= end):
                return found

    def cancel(self, key: int) -> None:
        """End the task of a piece of work."""
        if key in self._running:
            self._end(self._running.pop(key))
            self._ended.append(lost(key, Loss.CANCELLED, "the work was cancelled"))

    def close(self) -> None:
        """End all tasks, and leave the cluster, if it was this engine that came to it."""
        for one in self._running.values():
            self._end(one)
        self._running.clear()
        self._ended.clear()
        if self._ours:
            self._ours = False
            self._ray.shutdown()

    def _take(self, key: int) -> Done | None:
        """Take what a task says; None where it has only begun."""
        one = self._running[key]
        try:
            reply = self._ray.get(next(one.said))
            if reply is None:
                one.begun = time.monotonic()
                return None
            del self._running[key]
            return reply_of(key, reply)
        except self._ray.exceptions.RayError as error:
            del self._running[key]
            kind = type(error).__name__
            if kind == "TaskCancelledError":
                return lost(key, Loss.CANCELLED, "Ray cancelled the task")
            if kind in _LOST:
                return lost(key, Loss.DIED, f"Ray lost the task: {kind}: {_first_line(error)}")
            raise ToolFailedError(f"Ray cannot run tasks: {_first_line(error)}") from error

    def _overdue(self) -> list[Done]:
        """End tasks that are not begun, or do not answer, in time."""
        now, start = time.monotonic(), self._config.start_timeout_s
        found: list[Done] = []
        for key, one in tuple(self._running.items()):
            seconds = one.task.seconds
            if one.begun is None:
                if start is None or now < one.submitted + start:
                    continue
                found.append(lost(key, Loss.STUCK, f"the task was not begun for {start} s"))
            elif seconds is not None and now > one.begun + seconds + _GRACE:
                found.append(lost(key, Loss.TIMEOUT, "the task took longer than it may"))
            else:
                continue
            self._end(self._running.pop(key))
        return found

    def _end(self, one: _Running) -> None:
        self._ray.cancel(one.said, force=True)


def _connected(address: str) -> tuple[Any, bool]:
    """Return the module, connected to a cluster, and whether it was not before."""
    try:
        import ray  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ModuleNotFoundError:
        raise MissingToolError(
            "jobs.engine=ray needs Ray", hint="install it: pip install 'warploom[ray]'"
        ) from None
    module: Any = ray  # pyright: ignore[reportUnknownVariableType]
    fresh = not module.is_initialized()
    if fresh:
        _require_listener(_head(address))
        try:
            module.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _no_cluster(address, error) from None
    return module, fresh


def _head(address: str) -> str:
    """Return what Ray takes `auto` for: its variable, a head that is here, the last one's note."""
    if address != "auto":
        return address
    named = os.environ.get("RAY_ADDRESS")
    if named or _head_is_here():
        return named or address
    with suppress(OSError):
        folder = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
        return (Path(folder) / _NOTED).read_text().strip() or address
    return address


def _head_is_here() -> bool:
    for place in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if place.read_text().strip() == _HEAD:
                return True
    return False


def _require_listener(address: str) -> None:
    """Raise MissingToolError where nobody listens: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in address or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _CONNECT).close()
    except OSError as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: BaseException) -> MissingToolError:
    return MissingToolError(
        f"no Ray cluster answers at {address}: {_first_line(error)}",
        hint="start one: ray start --head; and set jobs.ray.address",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
