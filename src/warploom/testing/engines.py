"""The tests that every engine passes, and work that ends in every way.

A test module makes a class of `EngineTests` with an engine of its own:

    class TestMine(EngineTests):
        def open(self, slots: int) -> Engine:
            return MyEngine(slots)
"""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import RefusedError, ToolFailedError
from warploom.jobs.protocol import Done, Engine, Loss, Task, Work
from warploom.jobs.scheduler import JobScheduler

SECRETS = {
    "ANTHROPIC_API_KEY": "canary-one",
    "AWS_SECRET_ACCESS_KEY": "canary-two",
    "WARPLOOM_ENDPOINT_KEY": "canary-three",
    "SLURM_REST_TOKEN": "canary-four",
    "MY_DATABASE": "canary-five",
}
"""Variables that no work may see."""


@dataclass(frozen=True, slots=True)
class Returns:
    """Returns a value, after a while."""

    value: object
    seconds: float = 0.0

    def __call__(self) -> object:
        """Return it."""
        time.sleep(self.seconds)
        return self.value


@dataclass(frozen=True, slots=True)
class Raises:
    """Raises an error, as a candidate's judge does; `odd`: one that cannot be pickled."""

    message: str
    odd: bool = False

    def __call__(self) -> object:
        """Raise it."""
        if self.odd:
            raise RefusedError(self.message, ())
        raise ValueError(self.message)


@dataclass(frozen=True, slots=True)
class Dies:
    """Ends its process by a signal, as the kernel does where memory is short."""

    number: int = signal.SIGKILL

    def __call__(self) -> object:
        """End."""
        os.kill(os.getpid(), self.number)
        time.sleep(60)
        return None


@dataclass(frozen=True, slots=True)
class DiesOnce:
    """Ends its process in its first `times` tries, by what a folder says of them."""

    folder: Path
    times: int = 1

    def __call__(self) -> object:
        """Return how often it was tried."""
        tries = len(list(self.folder.iterdir())) + 1
        (self.folder / f"try-{tries}").touch()
        if tries <= self.times:
            os._exit(9)
        return tries


@dataclass(frozen=True, slots=True)
class Begins:
    """Touches a file when it begins, so that a test can wait for that; then takes its time."""

    mark: Path
    seconds: float = 60.0

    def __call__(self) -> object:
        """Return its process's number."""
        with self.mark.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(self.seconds)
        return os.getpid()


class Unsendable:
    """Returns what no process can send to another one."""

    def __call__(self) -> object:
        """Return a function without a name."""
        return lambda: None


class Environments:
    """Reads the environment: what the work sees, and what each process above it began with."""

    def __call__(self) -> object:
        """Return all of them as one text."""
        found = [f"{name}={value}" for name, value in os.environ.items()]
        pid = os.getpid()
        while pid > 1:
            place = Path(f"/proc/{pid}")
            try:
                found.append((place / "environ").read_bytes().decode(errors="replace"))
                pid = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                break
        return "\n".join(found).replace("\0", "\n")


def collect(engine: Engine, count: int, seconds: float = 60.0) -> dict[int, Done]:
    """Wait for a number of pieces of work; return what became of them, by key."""
    found: dict[int, Done] = {}
    end = time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < end, f"after {seconds} s only {sorted(found)} have ended"
        found |= {done.key: done for done in engine.wait(1.0)}
    return found


def wait_for(path: Path, seconds: float = 60.0) -> None:
    """Wait until a file has something in it."""
    end = time.monotonic() + seconds
    while not path.is_file() or not path.read_text().strip():
        assert time.monotonic() < end, f"{path} was not written in {seconds} s"
        time.sleep(0.02)


class EngineTests:
    """What each engine must do. `patience` is in seconds: clusters take their time."""

    patience = 60.0

    def open(self, slots: int) -> Engine:
        """Return a new engine; tests close it."""
        raise NotImplementedError

    def one(self, work: Work, seconds: float | None = None) -> Done:
        """Do one piece of work in an engine of its own."""
        engine = self.open(1)
        try:
            engine.submit(Task(1, work, seconds=seconds))
            return collect(engine, 1, self.patience)[1]
        finally:
            engine.close()

    def test_all_that_is_submitted_is_done(self) -> None:
        engine = self.open(2)
        try:
            found: dict[int, Done] = {}
            for key in range(5):
                while engine.busy >= engine.slots:
                    found |= {done.key: done for done in engine.wait(self.patience)}
                engine.submit(Task(key, Raises("no 3") if key == 3 else Returns(key * key)))
            found |= collect(engine, 5 - len(found), self.patience)
            values = {key: done.value for key, done in found.items() if key != 3}
            assert values == {0: 0, 1: 1, 2: 4, 4: 16}
            assert repr(found[3].error) == "ValueError('no 3')"
            assert {key for key, done in found.items() if done.loss} == set()
            assert engine.busy == 0
            assert engine.wait(0.0) == []
        finally:
            engine.close()

    def test_an_error_of_the_work_is_its_result(self) -> None:
        done = self.one(Raises("the candidate is wrong"))
        assert isinstance(done.error, ValueError)
        assert done.loss is None

    def test_any_error_gets_back(self) -> None:
        done = self.one(Raises("beyond the rules", odd=True))
        assert done.error is not None and "beyond the rules" in str(done.error)
        assert done.loss is None

    def test_what_cannot_be_sent_is_an_error(self) -> None:
        engine = self.open(1)
        isolated = engine.isolated
        engine.close()
        if isolated:
            done = self.one(Unsendable())
            assert isinstance(done.error, ToolFailedError)
            assert "cannot be sent" in done.error.message
            assert done.loss is None

    def test_a_worker_that_dies_is_told_and_replaced(self) -> None:
        engine = self.open(1)
        try:
            if not engine.isolated:
                return
            for key in (1, 2):
                engine.submit(Task(key, Dies()))
                assert collect(engine, 1, self.patience)[key].loss is Loss.DIED
            engine.submit(Task(3, Returns(9)))
            assert collect(engine, 1, self.patience)[3].value == 9
        finally:
            engine.close()

    def test_work_that_takes_too_long_is_ended(self, tmp_path: Path) -> None:
        engine = self.open(1)
        try:
            if not engine.isolated:
                return
            mark = tmp_path / "begun"
            started = time.monotonic()
            engine.submit(Task(1, Begins(mark, 600.0), seconds=1.5))
            assert collect(engine, 1, self.patience)[1].loss is Loss.TIMEOUT
            assert time.monotonic() - started < self.patience
            assert _is_gone(int(mark.read_text().split()[0]))
            engine.submit(Task(2, Returns("next"), seconds=self.patience))
            assert collect(engine, 1, self.patience)[2].value == "next"
        finally:
            engine.close()

    def test_work_is_cancelled(self, tmp_path: Path) -> None:
        engine = self.open(1)
        try:
            mark = tmp_path / "begun"
            engine.submit(Task(1, Begins(mark, 600.0)))
            if engine.isolated:
                assert engine.wait(0.0) == []
                self.until_begun(engine, mark)
            engine.cancel(1)
            assert collect(engine, 1, self.patience)[1].loss is Loss.CANCELLED
            engine.cancel(1)  # of what has ended, nothing comes
            engine.submit(Task(2, Returns("next")))
            assert collect(engine, 1, self.patience)[2].value == "next"
            if engine.isolated:
                assert _is_gone(int(mark.read_text().split()[0]))
        finally:
            engine.close()

    def test_waiting_ends_when_it_should(self, tmp_path: Path) -> None:
        engine = self.open(1)
        try:
            if not engine.isolated:
                return
            engine.submit(Task(1, Begins(tmp_path / "begun", 600.0)))
            started = time.monotonic()
            assert engine.wait(0.3) == []
            assert time.monotonic() - started < 5.0
        finally:
            engine.close()

    def test_closing_ends_all_work(self, tmp_path: Path) -> None:
        engine = self.open(2)
        marks = [tmp_path / "one", tmp_path / "two"]
        try:
            for key, mark in enumerate(marks):
                if engine.busy < engine.slots:
                    engine.submit(Task(key, Begins(mark, 600.0)))
            if engine.isolated:
                for mark in marks:
                    self.until_begun(engine, mark)
        finally:
            engine.close()
        assert engine.busy == 0
        for mark in marks:
            assert not engine.isolated or _is_gone(int(mark.read_text().split()[0]))

    def test_the_scheduler_does_lost_work_again(self, tmp_path: Path) -> None:
        engine = self.open(2)
        try:
            if not engine.isolated:
                return
            for name in ("a", "b"):
                (tmp_path / name).mkdir()
            scheduler = JobScheduler(engine, retries=1)
            scheduler.submit(Task(1, DiesOnce(tmp_path / "a")))
            scheduler.submit(Task(2, DiesOnce(tmp_path / "b", times=5)))
            scheduler.submit(Task(3, Raises("wrong")))
            scheduler.submit(Task(4, Returns("fine")))
            found: dict[int, Done] = {}
            end = time.monotonic() + self.patience
            while scheduler.busy:
                assert time.monotonic() < end
                found |= {done.key: done for done in scheduler.wait(1.0)}
            assert found[1].value == 2
            assert found[2].loss is Loss.DIED
            assert isinstance(found[3].error, ValueError)
            assert found[4].value == "fine"
            assert scheduler.losses == {Loss.DIED: 3}
        finally:
            engine.close()

    def test_work_sees_no_keys(self) -> None:
        engine = self.open(1)
        isolated = engine.isolated
        engine.close()
        if not isolated:
            return
        before = dict(os.environ)
        os.environ |= SECRETS
        try:
            seen = str(self.one(Environments()).value)
        finally:
            os.environ.clear()
            os.environ |= before
        assert "PATH=" in seen
        assert [value for value in SECRETS.values() if value in seen] == []

    def until_begun(self, engine: Engine, mark: Path) -> None:
        """Wait until work has begun; nothing may end meanwhile."""
        end = time.monotonic() + self.patience
        while not mark.is_file() or not mark.read_text().strip():
            assert time.monotonic() < end, "the work did not begin"
            assert engine.wait(0.1) == []


def _is_gone(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process of this machine ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
