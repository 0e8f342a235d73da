"""Work in processes of this machine, which live as long as the engine.

A worker that dies takes its own piece of work with it, and another one takes its place. Workers
leave Ctrl-C to the process that started them, and end when that is gone. They never see our
environment's keys: the server that they are forked from is started without them.
"""

import os
import signal
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from warploom.jobs.answers import answer_of, done_of
from warploom.jobs.environment import job_environment
from warploom.jobs.protocol import Done, Loss, Task, lost

_CONTEXT = get_context("forkserver")
_GRACE = 5.0  # seconds in which a worker must end its work when it is told to
_LOOK = 1.0  # seconds between looks at whether the parent is still there
_BEGUN = b"begun"  # no answer is that: answers are pickles
_SWAP = threading.Lock()


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: "Connection[object, object]"
    slot: int
    key: int | None = None
    seconds: float | None = None  # that the work may take, from when it has begun
    until: float | None = None


class LocalEngine:
    """Runs picklable work in `slots` processes.

    Args:
        slots: how many processes.
        preload: modules that the work needs: they are loaded once, not in each process.
        environment: names of variables that workers get beside those of `job_environment`.
        gpus: the GPUs of each slot, as in CUDA_VISIBLE_DEVICES; () leaves them as they are.
    """

    isolated = True

    def __init__(
        self,
        slots: int,
        preload: Sequence[str] = (),
        *,
        environment: Sequence[str] = (),
        gpus: Sequence[str] = (),
    ) -> None:
        assert not gpus or len(gpus) == slots, "each slot has its GPUs"
        self._slots = slots
        self._environment = job_environment(further=environment)
        self._gpus = tuple(gpus)
        _CONTEXT.set_forkserver_preload(["__main__", *preload])
        with _only(self._environment):
            forkserver.ensure_running()
        self._workers: list[_Worker] = []
        self._ended: list[Done] = []

    @property
    def slots(self) -> int:
        """How many pieces of work can be under way."""
        return self._slots

    @property
    def busy(self) -> int:
        """How many are under way."""
        return sum(1 for worker in self._workers if worker.key is not None) + len(self._ended)

    @property
    def waits(self) -> str:
        """Nothing: no queue of another system is asked."""
        return ""

    def submit(self, task: Task) -> None:
        """Give a piece of work to a free worker, a new one where all have work."""
        worker = next((one for one in self._workers if one.key is None), None)
        if worker is None:
            assert len(self._workers) < self._slots, "there is no free slot"
            worker = self._start()
            self._workers.append(worker)
        worker.key = task.key
        worker.seconds = task.seconds
        try:
            worker.connection.send(task.work)
        except OSError:  # it died while it had nothing to do
            self._remove(worker)
            self._ended.append(lost(task.key, Loss.DIED, "a worker process died before its work"))

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            found, self._ended = self._ended, []
            busy = {one.connection: one for one in self._workers if one.key is not None}
            if found or not busy:
                return found
            ready = wait(list(busy), _left(end, (one.until for one in busy.values())))
            taken = [self._take(busy[one]) for one in ready if isinstance(one, Connection)]
            found = [one for one in taken if one is not None] + self._overdue()
            if found or (end is not None and time.monotonic() >= end):
                return found

    def cancel(self, key: int) -> None:
        """End the worker that has a piece of work."""
        worker = next((one for one in self._workers if one.key == key), None)
        if worker is not None:
            self._remove(worker)
            self._ended.append(lost(key, Loss.CANCELLED, "the work was cancelled"))

    def close(self) -> None:
        """End all work at once: workers may clean up, for a while."""
        for worker in self._workers:
            if worker.process.is_alive():
                worker.process.terminate()
        end = time.monotonic() + _GRACE
        for worker in self._workers:
            worker.process.join(max(0.0, end - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.connection.close()
        self._workers.clear()
        self._ended.clear()

    def _start(self) -> _Worker:
        taken = {one.slot for one in self._workers}
        slot = next(at for at in range(self._slots) if at not in taken)
        given = {"CUDA_VISIBLE_DEVICES": self._gpus[slot]} if self._gpus else {}
        ours, theirs = _CONTEXT.Pipe()
        environment = {**self._environment, **given}
        process = _CONTEXT.Process(target=_serve, args=(theirs, environment), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, slot)

    def _overdue(self) -> list[Done]:
        """End the workers whose work has had its time."""
        now = time.monotonic()
        late = [
            (one, one.key)
            for one in self._workers
            if one.until is not None and now >= one.until and not one.connection.poll()
        ]
        found: list[Done] = []
        for worker, key in late:
            assert key is not None
            self._remove(worker)
            found.append(lost(key, Loss.TIMEOUT, "the work took longer than it may"))
        return found

    def _remove(self, worker: _Worker) -> None:
        """End a worker at once; what it started ends with it."""
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self._workers.remove(worker)

    def _take(self, worker: _Worker) -> Done | None:
        """Take what a worker says: that its work has begun, the answer, or that it is gone."""
        key = worker.key
        assert key is not None
        try:
            answer = worker.connection.recv_bytes()
            if answer == _BEGUN:
                if worker.seconds is not None:
                    worker.until = time.monotonic() + worker.seconds
                return None
            worker.key = worker.until = None
        except (EOFError, OSError):
            worker.process.join()
            code = worker.process.exitcode
            self._remove(worker)
            return lost(key, Loss.DIED, f"a worker process died, exit code {code}")
        return done_of(key, answer)


def _left(end: float | None, others: "Generator[float | None]") -> float | None:
    """Return the seconds to the first of some moments; None where there is none."""
    known = [one for one in (end, *others) if one is not None]
    return max(0.0, min(known) - time.monotonic()) if known else None


@contextmanager
def _only(environment: Mapping[str, str]) -> Generator[None]:
    """Have what the body starts see no other environment than this."""
    with _SWAP:
        hidden = {name: os.environ.pop(name) for name in set(os.environ) - set(environment)}
        try:
            yield
        finally:
            os.environ.update(hidden)


def _serve(connection: "Connection[object, object]", environment: Mapping[str, str]) -> None:
    """Do what comes over the connection until it closes."""
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            work = connection.recv()
        except (EOFError, OSError):
            return
        assert callable(work)
        try:
            connection.send_bytes(_BEGUN)
            connection.send_bytes(answer_of(work))
        except BrokenPipeError:  # nobody is there to hear of it: the controller was killed
            return


def _end(*_: object) -> None:
    raise SystemExit(0)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: the fork server, which ends with its own."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
