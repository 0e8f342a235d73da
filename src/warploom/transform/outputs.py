"""Writes what a transform made: whole files or nothing, and never an unverified program as good."""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

from warploom.core.errors import BadInputError
from warploom.core.jsontext import write_json
from warploom.source import unified_diff
from warploom.transform.records import MadeFile, PipelineResult

_STAGE_NAMES = {"windows": "stage-a", "device": "stage-b"}


@dataclass(frozen=True, slots=True)
class Written:
    """The program's files before and after, by their places below `base`.

    `name` is that of the program itself.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    name: str
    base: Path

    @property
    def changed(self) -> dict[str, str]:
        """The program, and the other files that are new or not as they were."""
        return {
            name: text
            for name, text in self.after.items()
            if name == self.name or self.before.get(name) != text
        }

    def original(self, name: str) -> Path | None:
        """Return the file that one of these takes the place of; None for a new one."""
        return self.base / name if name in self.before else None

    @property
    def difference(self) -> str:
        """The unified difference of all files."""
        return "".join(
            unified_diff(self.before.get(name, ""), text, name=name, new=name not in self.before)
            for name, text in self.changed.items()
        )


def write_outputs(result: PipelineResult, program: Written, folder: Path) -> PipelineResult:
    """Write program, difference, stages and report into `folder`; return where they are.

    A program that is not verified goes to `unverified/`, and `folder` has none by its own name.
    Everything is first written beside `folder` and then moved, so that an interruption leaves
    either the whole output or none.

    Raises:
        BadInputError: the folder cannot be written, or would hold the source program itself.
    """
    folder = folder.resolve()
    _require_usable(folder, result.source)
    stem = Path(program.name).stem
    below = Path() if result.verified else Path("unverified")
    made = {below / name: text for name, text in program.changed.items()}
    diff = below / f"{stem}.diff"
    added, removed = _changed(program.difference)
    place = folder / below / program.name
    final = replace(
        result,
        program=place if result.verified else None,
        unverified=None if result.verified else place,
        files=tuple(
            MadeFile(folder / below / name, program.original(name)) for name in program.changed
        ),
        diff=folder / diff,
        report=folder / "report.json",
        added_lines=added,
        removed_lines=removed,
    )
    files = {**made, diff: program.difference}
    files |= {
        Path("stages") / f"{stem}.{_STAGE_NAMES[str(s.stage)]}.cu": s.text
        for s in result.stages
        if s.passed
    }
    own = (*map(Path, program.changed), Path(f"{stem}.diff"))
    _write_all(folder, files, own, final)
    return final


def require_writable(folder: Path, source: Path) -> None:
    """Find out now whether `folder` can take the outputs of `source`: a transform takes long.

    Raises:
        BadInputError: it cannot be written, or is where the source program itself lies.
    """
    folder = folder.resolve()
    _require_usable(folder, source)
    made = [path for path in folder.parents if not path.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for place in (folder.parent, folder):
            if place.exists():
                Path(mkdtemp(prefix=f".{folder.name}.", dir=place)).rmdir()
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(folder)) from None
    finally:
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()


def free_run_dir(output_dir: Path) -> Path:
    """Return the folder for a new run beside its output: one that does not exist yet."""
    place = output_dir.resolve()
    names = (f"{place.name}.run", *(f"{place.name}.run-{n}" for n in range(2, 10_000)))
    found = next((p for name in names if not (p := place.with_name(name)).exists()), None)
    if found is None:
        raise BadInputError("too many runs are kept beside it", file=str(place))
    return found


def _require_usable(folder: Path, source: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise BadInputError(
            "the output must be a folder, but a file has its name", file=str(folder)
        )
    if folder == source.resolve().parent:
        raise BadInputError(
            "the output must not be the folder of the program itself: it would be overwritten",
            file=str(folder),
        )


def _write_all(
    folder: Path, files: Mapping[Path, str], own: Sequence[Path], result: PipelineResult
) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(folder)) from None
    try:
        for name, text in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        write_json(fresh / "report.json", result.to_json())
        _move(fresh, folder, [*files, Path("report.json")], own)
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(folder)) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _move(fresh: Path, folder: Path, names: Sequence[Path], own: Sequence[Path]) -> None:
    if not folder.exists():
        fresh.chmod(0o755)
        fresh.rename(folder)
        return
    if (folder / "report.json").exists():  # of an earlier transform: none of it must stay
        for old in ("unverified", "stages"):
            shutil.rmtree(folder / old, ignore_errors=True)
        for name in own:
            (folder / name).unlink(missing_ok=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).replace(folder / name)


def _changed(difference: str) -> tuple[int, int]:
    lines = difference.splitlines()
    added = sum(1 for line in lines if line.startswith("+") and not line.startswith("+++"))
    removed = sum(1 for line in lines if line.startswith("-") and not line.startswith("---"))
    return added, removed
