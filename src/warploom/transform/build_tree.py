"""The programs of a build tree: which of them communicate, and what a transform would do there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from warploom.core.errors import BadInputError, Refusal, RefusedError
from warploom.core.records import Api, Json, to_json
from warploom.propose import ProposalContext, Stage
from warploom.propose.rules import RulesProposer
from warploom.source import AnalysisReport, CUDAAnalyzer, unified_diff
from warploom.source.records import Collective
from warploom.transform.compile_commands import CompiledSource, commands_file, read_commands
from warploom.transform.records import PipelineResult
from warploom.transform.several_files import Places, several_files
from warploom.transform.texts import analysis_of, read_text
from warploom.workload.paths import is_workload
from warploom.workload.workload import Workload

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class TreeProgram:
    """A program of a build tree. `name` is its main file's place in the tree."""

    name: str
    workload: Workload


@dataclass(frozen=True, slots=True)
class TreePlan:
    """What a transform would do with a program.

    `collectives` are the calls that become kernels, `files` those that would be changed, by their
    place in the tree; `refusals` say why the rules leave it as it is, and are empty where they do
    not.
    """

    program: TreeProgram
    collectives: tuple[Collective, ...]
    files: tuple[str, ...]
    refusals: tuple[Refusal, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the plan as plain JSON values."""
        return {
            "program": self.program.name,
            "sources": [str(path) for path in self.program.workload.sources],
            "files": list(self.files),
            "collectives": [
                {"name": call.name, "file": call.file, "line": call.line}
                for call in self.collectives
            ],
            "refusals": [to_json(one) for one in self.refusals],
        }


def is_build_tree(folder: Path) -> bool:
    """Whether a folder has a compilation database, and is no workload."""
    return folder.is_dir() and not is_workload(folder) and commands_file(folder) is not None


def tree_programs(folder: Path) -> tuple[TreeProgram, ...]:
    """Return the programs of a build tree: a source with `main` each, with what it needs.

    Sources are what CMake links into one target, where the database tells, and those of targets
    without a `main` that define a function which the program names.

    Raises:
        BadInputError: there is no compilation database, it is broken, or no source has a main.
    """
    root = folder.resolve()
    file = commands_file(root)
    if file is None:
        raise BadInputError(
            "has no compile_commands.json",
            file=str(folder),
            hint="CMake writes it with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, bear for a Makefile",
        )
    units = [_Unit(source, _analysis(source)) for source in read_commands(file, root)]
    if not any(unit.has_main for unit in units):
        raise BadInputError(f"no source of {len(units)} below {root} has a main", file=str(file))
    return tuple(_program(unit, units, root) for unit in units if unit.has_main)


@dataclass(frozen=True, slots=True)
class _Unit:
    source: CompiledSource
    report: AnalysisReport

    @property
    def has_main(self) -> bool:
        return self.report.main is not None and self.report.main.file == self.report.file

    @property
    def defined(self) -> set[str]:
        """The functions of the source itself."""
        return {f.name for f in self.report.functions if f.file == self.report.file}

    def names(self) -> set[str]:
        """Return all words of the source and of the headers beside it."""
        files = {self.source.path, *(Path(f.file) for f in self.report.functions)}
        text = " ".join(path.read_text(errors="replace") for path in files)
        return set(_WORD.findall(text))


def _analysis(source: CompiledSource) -> AnalysisReport:
    return CUDAAnalyzer(source.path, source.include_dirs, source.defines).analyze()


def _program(main: _Unit, units: Sequence[_Unit], root: Path) -> TreeProgram:
    others = [unit for unit in units if not unit.has_main]
    target = main.source.target
    chosen = [unit for unit in others if target and unit.source.target == target]
    known = main.names().union(*(unit.names() for unit in chosen))
    grown = True
    while grown:
        more = [u for u in others if u not in chosen and u.defined & known]
        chosen += more
        known = known.union(*(unit.names() for unit in more))
        grown = bool(more)
    folders = dict.fromkeys(d for unit in (main, *chosen) for d in unit.source.include_dirs)
    defines: dict[str, str] = {}
    for unit in (*chosen, main):
        defines |= unit.source.defines
    workload = Workload.from_program(
        main.source.path,
        sources=[unit.source.path for unit in chosen],
        include_dirs=list(folders),
        defines=defines,
    )
    name = main.source.path.relative_to(root).as_posix()
    return TreeProgram(name, replace(workload, root=root))


def planned(program: TreeProgram, api: Api, root: Path) -> TreePlan:
    """Return what the rules would do with a program; nothing is run."""
    root = root.resolve()
    places: Places | None = None
    collectives: tuple[Collective, ...] = ()
    files: tuple[str, ...] = (program.name,)
    try:
        several = several_files(program.workload)
        with TemporaryDirectory(prefix="warploom-plan-") as folder:
            one = program.workload
            if several is not None:
                one = several.as_one(Path(folder))
                places = Places.of(several, one.program)
                base = several.united.base
                files = tuple(
                    (base / name).resolve().relative_to(root).as_posix()
                    for name in several.united.files
                )
            text = read_text(one.program)
            report = analysis_of(one.program, one)
            calls = report.collectives
            collectives = calls if places is None else tuple(map(places.collective, calls))
            if collectives:
                RulesProposer().propose(ProposalContext(text, report, api, Stage.DEVICE))
    except RefusedError as error:
        told = error if places is None else places.refused(error)
        return TreePlan(program, collectives, (), told.refusals)
    return TreePlan(program, collectives, files if collectives else (), ())


def tree_patch(program: TreeProgram, result: PipelineResult, root: Path) -> str:
    """Return the patch that `git apply` takes in the tree, for a program that was transformed."""
    parts: list[str] = []
    for file in result.files:
        place = file.original or program.workload.program.with_name(file.path.name)
        before = read_text(file.original) if file.original else ""
        name = place.resolve().relative_to(root.resolve()).as_posix()
        parts.append(unified_diff(before, read_text(file.path), name=name, new=not file.original))
    return "".join(parts)
