"""Programs of several files: one text while they are rewritten and judged, files at the end."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import BadInputError, Refusal, RefusedError
from warploom.emulator import build
from warploom.propose.rules import REWRITTEN, SHARED_HEADER, TALKING, is_mentioned, with_header
from warploom.source.records import Collective
from warploom.source.units import United, divide, origins, unite
from warploom.transform.texts import analysis_of, write_text
from warploom.workload.workload import Workload

_NCCL_ITSELF = b"#define NCCL_MAJOR"  # in a copy of its header: declarations, no calls


@dataclass(frozen=True, slots=True)
class SeveralFiles:
    """A program of several files. `workload` is the user's; `united` holds what is rewritten."""

    workload: Workload
    united: United

    @property
    def names(self) -> str:
        """The files that are rewritten, for people."""
        return ", ".join(self.united.files)

    def as_one(self, folder: Path) -> Workload:
        """Write the one text to `folder`; return the workload with it as its program."""
        path = write_text(folder / "united" / self.workload.program.name, self.united.text)
        beside = (self.united.base / name for name in self.united.files)
        folders = dict.fromkeys((*self.workload.include_dirs, *(one.parent for one in beside)))
        return replace(
            self.workload, program=path, sources=self.united.sources, include_dirs=tuple(folders)
        )

    def require_one_unit(self, workload: Workload, nccl: str) -> None:
        """Build the one text that `workload` has as its program.

        Raises:
            RefusedError: its files clash in one translation unit.
        """
        try:
            build(workload.build_spec(nccl))
        except BadInputError as error:
            places = Places.of(self, workload.program)
            where = places.place(error.file or "", error.line or 0)
            reason = f"{self.names} do not compile as one translation unit: {error.message}"
            raise RefusedError.of((Refusal(reason, *where),)) from None

    def divided(self, text: str) -> dict[str, str] | None:
        """Return the files of a text that was made from the united one, by name.

        The layer that several files share is a header, which each file that needs it includes.
        None where the text does not say any more what belongs where.
        """
        files = divide(text)
        if set(self.united.files) - set(files):
            return None
        program = next(iter(self.united.files))
        header = (Path(program).parent / SHARED_HEADER).as_posix()
        found: dict[str, str] = {}
        for name, content in files.items():
            if name == SHARED_HEADER:
                found[header] = content
            elif name == program:
                found[name] = content
            else:
                place = Path(os.path.relpath(header, Path(name).parent)).as_posix()
                found[name] = with_header(content, place)
        return found

    def at(self, folder: Path, files: Mapping[str, str]) -> Workload:
        """Write files to `folder`; return the workload that is made of them."""
        for name, content in files.items():
            write_text(folder / name, content)
        own = {(self.united.base / name).resolve(): folder / name for name in files}

        def moved(path: Path) -> Path:
            return own.get(path.resolve(), path)

        base = self.united.base
        dirs = (self.workload.program.parent, *self.workload.include_dirs)
        below = [
            folder / one.resolve().relative_to(base)
            for one in dirs
            if one.resolve().is_relative_to(base)
        ]
        return replace(
            self.workload,
            root=folder,
            program=moved(self.workload.program),
            sources=tuple(map(moved, self.workload.sources)),
            include_dirs=tuple(one for one in (*below, *dirs) if one.is_dir()),
        )


def several_files(workload: Workload) -> SeveralFiles | None:
    """Return the program as several files; None where its own file has all that is rewritten.

    Raises:
        RefusedError: communication is spread in a way that cannot be put together.
    """
    talking = _united(workload, TALKING)
    if talking is None and _knows_buffers(workload):
        return None
    united = _united(workload, REWRITTEN)
    return None if united is None else SeveralFiles(workload, united)


def _united(workload: Workload, names: Iterable[str]) -> United | None:
    return unite(
        workload.program,
        workload.sources,
        workload.include_dirs,
        lambda text: _NCCL_ITSELF not in text and is_mentioned(text, names),
        defines=workload.defines,
    )


def _knows_buffers(workload: Workload) -> bool:
    """Whether the program's own file allocates all that it communicates."""
    report = analysis_of(workload.program, workload)
    own = {a.line for a in report.allocations if a.file == report.file}
    buffers = [b for c in report.collectives for b in (*c.send_buffers, *c.recv_buffers)]
    return all(b.allocations and own.issuperset(b.allocations) for b in buffers)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the lines of a united text at `path` are in the user's files below `base`."""

    path: Path
    base: Path
    lines: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, files: SeveralFiles, path: Path) -> "Places":
        """Return the places of the program's text, which lies at `path`."""
        return cls(path, files.united.base, tuple(origins(files.united.text)))

    def of_text(self, path: Path, text: str) -> "Places":
        """Return the places of a text at `path` that has lines of ours in addition."""
        name = self.lines[0][0] if self.lines else path.name
        return Places(path, self.base, tuple(origins(text, name)))

    def place(self, file: str, line: int) -> tuple[str, int]:
        """Return the user's file and line for one of a message."""
        if Path(file) != self.path or not 0 < line <= len(self.lines):
            return file, line
        name, own = self.lines[line - 1]
        return os.path.relpath(self.base / name), own

    def refused(self, error: RefusedError) -> RefusedError:
        """Return a refusal with the user's places."""
        return RefusedError.of(
            tuple(Refusal(one.reason, *self.place(one.file, one.line)) for one in error.refusals)
        )

    def collective(self, call: Collective) -> Collective:
        """Return a call with the user's place."""
        file, line = self.place(call.file, call.line)
        return replace(call, file=file, line=line)
