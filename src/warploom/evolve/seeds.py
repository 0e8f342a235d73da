"""Where a search starts: verified device-initiated forms of the program, one for each API."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from warploom.core.errors import BadInputError, UnsupportedError, WarploomError
from warploom.core.jsontext import write_json
from warploom.core.records import Json
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.source import CUDAAnalyzer
from warploom.source.any_language import mutable_spans
from warploom.transform import PreTransformPipeline, TransformConfig
from warploom.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Seed:
    """A program to start from: `api` is what its ranks communicate by, "" where it is not known."""

    name: str
    api: str
    text: str


@dataclass(frozen=True, slots=True)
class Seeds:
    """The programs to start from, and why others (by API) are not among them."""

    programs: tuple[Seed, ...]
    left_out: dict[str, str]


class SeedSource(Protocol):
    """Makes the programs that a search starts from."""

    def __call__(
        self, workload: Workload, apis: Sequence[str], on_progress: ProgressCallback
    ) -> Seeds:
        """Return the seeds.

        Raises:
            BadInputError: the program is wrong, or no seed verifies.
        """
        ...


@dataclass(frozen=True, slots=True)
class TransformedSeeds:
    """Runs `transform` on a host-driven program; a device-initiated one is its own seed."""

    nvcc: bool = True

    def __call__(
        self, workload: Workload, apis: Sequence[str], on_progress: ProgressCallback
    ) -> Seeds:
        """Return one seed for each API that verifies; for a judge of its own, the program."""
        if workload.judge:
            return _given(workload)
        folders = (*workload.include_dirs, workload.program.parent)
        report = CUDAAnalyzer(
            workload.program, include_dirs=folders, defines=workload.defines
        ).analyze()
        if not report.has_host_communication():
            text = workload.program.read_bytes().decode("utf-8", "surrogateescape")
            return Seeds((Seed("given", "", text),), {})
        found: list[Seed] = []
        left_out: dict[str, str] = {}
        errors: list[WarploomError] = []
        for api in apis:
            try:
                text = self._transformed(workload, api, on_progress)
            except (BadInputError, UnsupportedError) as error:
                left_out[api] = error.message
                errors.append(error)
                continue
            if text is None:
                left_out[api] = "its form is not verified"
            else:
                found.append(Seed(api, api, text))
        if len(errors) == len(apis) and len({error.message for error in errors}) == 1:
            raise errors[0]  # of the program itself, with file and line
        return Seeds(tuple(found), left_out)

    def _transformed(
        self, workload: Workload, api: str, on_progress: ProgressCallback
    ) -> str | None:
        """Return the verified form for an API; None where there is none."""
        config = TransformConfig(
            api_type=api, nvcc=self.nvcc, proposer="rules", backend="emulator", seeds=1,
            diagnostic_rerun=False, plain=False,  # a search turns the general form's levers
        )  # fmt: skip
        with TemporaryDirectory(prefix="warploom-seed-") as folder:
            pipeline = PreTransformPipeline(config, on_progress)
            result = pipeline.run(replace(workload, machine=None), Path(folder) / "out")
            if not result.verified or result.program is None:
                return None
            return result.program.read_bytes().decode("utf-8", "surrogateescape")


def _given(workload: Workload) -> Seeds:
    """Return the program that a workload with a judge of its own begins with."""
    try:
        text = workload.program.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInputError("must be UTF-8", file=str(workload.program)) from None
    mutable_spans(text, str(workload.program))
    return Seeds((Seed("initial", "", text),), {})


_FILE = "seeds.json"


def keep_seeds(folder: Path, seeds: Seeds) -> None:
    """Write the seeds into a run's folder, whole or not at all."""
    programs: list[Json] = [
        {"name": one.name, "api": one.api, "text": one.text} for one in seeds.programs
    ]
    data: dict[str, Json] = {"programs": programs, "left_out": dict(seeds.left_out)}
    write_json(folder / _FILE, data)


def kept_seeds(folder: Path) -> Seeds | None:
    """Return the seeds that a run's folder holds, None without them."""
    try:
        data: Any = TypeAdapter(Seeds).validate_json((folder / _FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return data


def require_seeds(seeds: Seeds, workload: Workload) -> None:
    """Raise BadInputError where there is nothing to start from."""
    if seeds.programs:
        return
    why = "; ".join(f"{api}: {reason}" for api, reason in seeds.left_out.items())
    raise BadInputError(
        f"no seed is verified: {why}",
        file=str(workload.program),
        hint=f"see what transform says: warploom transform {workload.program}",
    )
