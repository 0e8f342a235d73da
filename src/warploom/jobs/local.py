"""Work in processes of this machine, which live as long as the engine.

A worker that dies takes its own piece of work with it, and another one takes its place. Workers
leave Ctrl-C to the process that started them, and end when that is gone.
"""

import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from warploom.jobs.protocol import Done, Work, WorkerDiedError

_CONTEXT = get_context("forkserver")
_GRACE = 5.0  # seconds in which a worker must end its work when it is told to
_LOOK = 1.0  # seconds between looks at whether the parent is still there


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: "Connection[object, object]"
    key: int | None = None


class LocalJobs:
    """Runs picklable work in `slots` processes.

    `preload` names modules that the work needs: they are loaded once, not in each process.
    """

    def __init__(self, slots: int, preload: Sequence[str] = ()) -> None:
        self._slots = slots
        _CONTEXT.set_forkserver_preload(["__main__", *preload])
        self._workers: list[_Worker] = []

    @property
    def slots(self) -> int:
        """How many pieces of work can be under way."""
        return self._slots

    @property
    def busy(self) -> int:
        """How many are under way."""
        return sum(1 for worker in self._workers if worker.key is not None)

    def submit(self, key: int, work: Work) -> None:
        """Give a piece of work to a free worker, a new one where all have work."""
        worker = next((one for one in self._workers if one.key is None), None)
        if worker is None:
            assert len(self._workers) < self._slots, "there is no free slot"
            worker = _start()
            self._workers.append(worker)
        worker.key = key
        worker.connection.send(work)

    def wait(self, seconds: float | None = None) -> list[Done]:
        """Return what has ended, at least one piece unless `seconds` pass before."""
        busy = {one.connection: one for one in self._workers if one.key is not None}
        if not busy:
            return []
        ready = wait(list(busy), seconds)
        return [self._take(busy[one]) for one in ready if isinstance(one, Connection)]

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

    def _take(self, worker: _Worker) -> Done:
        key = worker.key
        assert key is not None
        worker.key = None
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            worker.connection.close()
            self._workers.remove(worker)
            code = worker.process.exitcode
            return Done(key, error=WorkerDiedError(f"a worker process died, exit code {code}"))
        if isinstance(answer, Exception):
            return Done(key, error=answer)
        return Done(key, answer)


def _start() -> _Worker:
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _serve(connection: "Connection[object, object]") -> None:
    """Do what comes over the connection until it closes."""
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
            answer = work()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            answer = error
        connection.send(answer)


def _end(*_: object) -> None:
    raise SystemExit(0)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: the fork server, which ends with its own."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
