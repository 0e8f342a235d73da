"""A run's folder: what is in it, who may work on it, and what a resumed run finds there.

run.json      the workload, its program's digest, the seed, the inputs
config.yaml   the resolved configuration
programs.db   the store, unless database.url names another one
seeds.json    what the search starts from
attempts/     proposals that are being made or judged; each goes when it is in the store
llm/          what models were asked and said
best/         the best program so far
"""

import contextlib
import json
import re
import secrets
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count as count_up
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from warploom.attempt import attempt_folder
from warploom.core.errors import BadInputError
from warploom.core.folder_lock import LOCK, held_alone, taken
from warploom.core.ids import digest, new_run_id
from warploom.core.jsontext import write_json
from warploom.evaluation.runs.secret_seeds import MOST
from warploom.evolve.candidates import Candidate, Plan
from warploom.evolve.compose import dump, load
from warploom.evolve.config import EvolutionConfig
from warploom.workload.workload import Workload

_RUN, _CONFIG = "run.json", "config.yaml"
_PROPOSAL, _PLAN = "proposal.json", "plan.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run is about, kept when it begins.

    `seed` decides all that is drawn at random; `given` says that the user named it. `inputs` are
    the input seeds of the search, `confirm` the other ones of champions.
    """

    version: int
    id: str
    workload: str
    program: str
    seed: str
    given: bool
    inputs: tuple[int, ...]
    confirm: tuple[int, ...]

    @classmethod
    def new(
        cls, target: Path, workload: Workload, config: EvolutionConfig, seed: int | None
    ) -> "RunFacts":
        """Return the facts of a new run; without a seed a secret one is drawn."""
        word = secrets.token_hex(16) if seed is None else str(seed)
        judging = config.evaluation
        count = judging.seeds + judging.confirm_seeds
        drawn = _inputs(word, count)
        return cls(
            _VERSION, new_run_id("evolve"), str(target.resolve()), _digest(workload), word,
            seed is not None, tuple(drawn[: judging.seeds]), tuple(drawn[judging.seeds :]),
        )  # fmt: skip


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def attempts(self) -> Path:
        """Where proposals are while they are judged."""
        return self.path / "attempts"

    @property
    def confirmations(self) -> Path:
        """Where champions are while they are judged once more."""
        return self.path / "confirmations"

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run."""
        return (self.path / _RUN).is_file()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder, made if absent, for this process alone.

        Raises:
            BadInputError: another process works on the run, or the folder cannot be written.
        """
        with held_alone(self.path):
            try:
                yield
            finally:
                if not self.exists:  # no run came of it: leave no trace
                    (self.path / LOCK).unlink(missing_ok=True)
                    with contextlib.suppress(OSError):
                        self.path.rmdir()

    def begin(self, facts: RunFacts, config: EvolutionConfig) -> None:
        """Keep what a new run is about.

        Raises:
            BadInputError: the folder holds a run, or something else.
        """
        if self.exists:
            raise taken(self.path)
        other = sorted(p.name for p in self.path.iterdir() if p.name not in (LOCK, _CONFIG))
        if other:
            raise BadInputError(
                f"the folder of a new run must be empty, but has {', '.join(other[:3])}",
                file=str(self.path), hint="name another folder: --out DIR",
            )  # fmt: skip
        self.keep_config(config)
        write_json(self.path / _RUN, asdict(facts))

    def facts(self) -> RunFacts:
        """Return what the run is about.

        Raises:
            BadInputError: the folder holds no run, or one of another version.
        """
        path = self.path / _RUN
        try:
            data: Any = json.loads(path.read_bytes())
        except FileNotFoundError:
            why = "holds no run: it has no run.json" if self.path.is_dir() else "no such folder"
            raise BadInputError(why, file=str(self.path)) from None
        except (OSError, ValueError) as error:
            raise BadInputError(f"cannot be read: {error}", file=str(path)) from None
        version: object = (
            cast("dict[str, object]", data).get("version") if isinstance(data, dict) else None
        )
        if version != _VERSION:
            raise BadInputError(f"version must be {_VERSION}, got {version}", file=str(path))
        try:
            return TypeAdapter(RunFacts).validate_python(data)
        except ValidationError as error:
            raise BadInputError(f"is damaged: {error.errors()[0]['msg']}", file=str(path)) from None

    def config(self) -> EvolutionConfig:
        """Return the resolved configuration of the run."""
        return load(self.path / _CONFIG)

    def keep_config(self, config: EvolutionConfig) -> None:
        """Replace the configuration: a resumed run may have another budget.

        Where the database's URL holds a password, nobody else may read it.
        """
        fresh = self.path / f".{_CONFIG}.new"
        secret = re.search(r"://[^/@]*:[^/@]+@", config.database.url or "")
        fresh.touch(mode=0o600 if secret else 0o666)
        fresh.write_text(dump(config), encoding="utf-8")
        fresh.replace(self.path / _CONFIG)

    def forget(self) -> None:
        """Remove a run that came to nothing: no seed was made."""
        for path in (self.path / _RUN, self.path / _CONFIG, *self.path.glob("programs.db*")):
            path.unlink(missing_ok=True)
        for folder in (self.attempts, self.path / "reference", self.path / "llm"):
            shutil.rmtree(folder, ignore_errors=True)

    # --- proposals ---

    def keep(self, candidate: Candidate | Plan) -> None:
        """Write a proposal down before it is judged, or before a model is asked for it."""
        place = attempt_folder(self.attempts, candidate.number)
        place.mkdir(parents=True, exist_ok=True)
        name = _PLAN if isinstance(candidate, Plan) else _PROPOSAL
        write_json(place / name, asdict(candidate))

    def kept(self) -> Iterator[Candidate | Plan]:
        """Yield what was not recorded, in order: proposals, and plans that are none yet.

        What a kill left half written or half removed is neither, and goes.
        """
        for place in sorted(self.attempts.glob("attempt-*"), key=_number):
            if (place / _PROPOSAL).is_file():
                yield candidate_from(json.loads((place / _PROPOSAL).read_bytes()))
            elif (place / _PLAN).is_file():
                yield TypeAdapter(Plan).validate_json((place / _PLAN).read_bytes())
            else:
                shutil.rmtree(place, ignore_errors=True)

    def drop(self, number: int) -> None:
        """Remove what was kept of a proposal: it is in the store now."""
        shutil.rmtree(attempt_folder(self.attempts, number), ignore_errors=True)


def require_same(facts: RunFacts, workload: Workload) -> None:
    """Raise BadInputError where a run is resumed with another program than it began with."""
    if facts.program != _digest(workload):
        raise BadInputError(
            "the program is not the one that the run began with: its results no longer apply",
            file=str(workload.program),
            hint="start a new run",
        )


def candidate_from(data: Any) -> Candidate:
    """Return a candidate from JSON; its text may hold bytes that are no UTF-8."""
    read = TypeAdapter(Candidate).validate_python({**data, "text": ""})
    return replace(read, text=data["text"])


def _inputs(word: str, count: int) -> list[int]:
    """Return different input seeds from 1 to MOST that follow from a word."""
    found: dict[int, None] = {}
    for at in count_up(0):
        if len(found) == count:
            break
        found[int(digest((word, "input", str(at))), 16) % MOST + 1] = None
    return list(found)


def _digest(workload: Workload) -> str:
    return digest((workload.program.read_bytes(),))


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])
