"""What is run and what must stay true: the frozen form of `workload.toml`.

A workload is a folder with a `workload.toml`:

    name = "moe"
    program = "moe.cu"
    sources = []                    # further .cu or .cpp files
    include_dirs = []
    ranks = 4
    args = ["--seed", "{seed}"]     # {seed} becomes the input seed of each run
    lsa_size = 4                    # ranks that share memory; default: those of one machine
    node_size = 4                   # ranks of one machine; default: all
    processes = 2                   # share the ranks out evenly; default: one each, or one for all
    nccl = "2.30.7"                 # default: the newest whose headers are at hand
    seeds = 3
    leave_out = ["d_clock"]         # outputs that are not compared: timers, clocks
    vary_inputs = "float32"         # numbers that are uploaded get other values for each seed
    api = ["gin", "lsa"]            # which device APIs a transform may use, best first
    scored_region = 1               # which of its timed regions is scored; default: the whole run
    launcher = "srun --mpi=pmix"    # starts ranks on several machines, for runs on GPUs
    [defines]
    TOKENS = 64
    [env]                           # what the program sees of an environment
    OMP_NUM_THREADS = "1"
    [limits]
    seconds = 60
    memory_mb = 8192
    output_mb = 16
    [judge]                         # a judge of its own, for evolve only: programs of any language
    command = ["python3", "evaluate.py"]
    task = "what the program is for"
    [[outputs]]                     # default: everything that the program reads back
    buffer = "d_out"                # the device expression, as written in the read-back copy
    dtype = "float32"
    rtol = 1e-5                     # default: by dtype, see `dtypes.py`
    atol = 1e-6

Paths are relative to the folder. Tolerances belong to the workload, never to a proposer.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError, WorkloadError
from warploom.core.records import NEWEST_NCCL, OLDEST_NCCL, Api, BuildSpec, Limits
from warploom.emulator.topology import Topology
from warploom.workload.dtypes import dtype_of
from warploom.workload.variables import check_variables

WORKLOAD_FILE = "workload.toml"
MAX_RANKS = 256
MAX_SEEDS = 1000
MAX_REGIONS = 1000
LAUNCHERS = ("srun", "mpirun", "mpiexec")


@dataclass(frozen=True, slots=True)
class Output:
    """One result that is compared: |got - expected| <= atol + rtol * |expected|, per element.

    `atol` None stands for `rtol` times the typical magnitude of what is expected (the median of
    its non-zero elements), so that sums which nearly cancel are not held to the last bit.
    `buffer` is the device expression of the read-back copy with spaces removed.
    """

    buffer: str
    dtype: str
    rtol: float
    atol: float | None = None

    @classmethod
    def with_defaults(
        cls, buffer: str, dtype: str, rtol: float | None = None, atol: float | None = None
    ) -> "Output":
        """Make an output; an `rtol` of None becomes the default of its type."""
        kind = dtype_of(dtype)
        return cls(
            buffer=plain_name(buffer),
            dtype=kind.name,
            rtol=kind.rtol if rtol is None else rtol,
            atol=atol,
        )


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, how to run it, and what must stay true of it.

    `outputs` is empty where every device-to-host copy is an output, typed by the analyzer.
    `node_size` None means that one machine has all ranks. `lsa_size` None becomes `node_size`, and
    without that means that all ranks share memory. `nccl` None means the newest at hand.
    `processes` share the ranks' devices out evenly; None: one for each, or one for all, as the
    program has it.
    `vary_inputs` is the type of the numbers that `eval` varies on their way to the devices, by the
    seed and alike in both programs; "": none.
    `leave_out` are buffers that are no outputs, as they vary by nature: timers, clocks.
    `env` are environment variables, which the program has beside those of its launcher.
    `stdin` is a file that rank 0 reads as standard input; the others, and without it all, read
    nothing.
    `scored_region` is which of the regions that the program times itself is scored, counted from 1
    in the order in which it asks for their times; 0: the whole run.
    `judge` is the command that judges programs, where the workload brings a judge of its own: it is
    for evolve only then, and `task` says what its programs are for.
    `time_sizes` are macros that come in addition where GPUs measure its time: practical sizes, at
    which verification would take too long.
    `launcher` are the words of the command, srun or mpirun, by which runs on GPUs put `node_size`
    ranks on each of several machines; (): all ranks are on this one.
    `machine` is the one whose time modelled runs show, where the caller has chosen one: not of the
    file.
    """

    name: str
    root: Path
    program: Path
    sources: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    ranks: int = 4
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    args: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    limits: Limits = field(default_factory=Limits)
    lsa_size: int | None = None
    nccl: str | None = None
    seeds: int = 3
    api: tuple[Api, ...] = (Api.GIN, Api.LSA)
    node_size: int | None = None
    vary_inputs: str = ""
    leave_out: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: Path | None = None
    scored_region: int = 0
    processes: int | None = None
    time_sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    launcher: tuple[str, ...] = ()
    machine: Topology | None = None
    judge: tuple[str, ...] = ()
    task: str = ""

    def __post_init__(self) -> None:
        check_left_out(self.leave_out, self.outputs)
        check_variables(self.env)
        check_ranks(self.ranks, self.lsa_size, self.node_size, self.processes)
        check_nccl(self.nccl)
        check_seeds(self.seeds)
        check_region(self.scored_region)
        check_launcher(self.launcher)
        if self.lsa_size is None:
            object.__setattr__(self, "lsa_size", self.node_size)

    @classmethod
    def from_file(cls, path: Path | str) -> "Workload":
        """Read a `workload.toml`, or the folder that holds one.

        Raises:
            WorkloadError: a key is missing, unknown or wrong; names file, line, key and value.
            SourceError: a file that it names does not exist.
        """
        from warploom.workload.file import read_workload

        return read_workload(Path(path))

    @classmethod
    def from_program(
        cls,
        path: Path | str,
        *,
        ranks: int = 4,
        sources: Sequence[Path | str] = (),
        include_dirs: Sequence[Path | str] = (),
        defines: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        lsa_size: int | None = None,
        nccl: str | None = None,
        seeds: int = 3,
        limits: Limits | None = None,
        processes: int | None = None,
    ) -> "Workload":
        """Make a workload of one program; its outputs are all of its device-to-host copies.

        Raises:
            SourceError: the file does not exist.
            BadInputError: ranks, lsa_size or seeds are out of range.
        """
        program = require_file(Path(path))
        return cls(
            name=program.stem,
            root=program.parent,
            program=program,
            sources=tuple(require_file(Path(source)) for source in sources),
            include_dirs=tuple(require_dir(Path(folder)) for folder in include_dirs),
            ranks=ranks,
            defines=dict(defines or {}),
            args=tuple(args),
            limits=limits or Limits(),
            lsa_size=lsa_size,
            nccl=nccl,
            seeds=seeds,
            processes=processes,
        )

    def build_spec(self, nccl: str, program: Path | None = None) -> BuildSpec:
        """Return how to build this workload's program, or `program` in its place.

        The folder of the trusted program is on the include path, so that a candidate which is
        kept elsewhere still finds the headers beside it.
        """
        folders = self.include_dirs
        if program is not None and program.parent != self.program.parent:
            folders = (*folders, self.program.parent)
        return BuildSpec(
            program=program or self.program,
            sources=self.sources,
            include_dirs=folders,
            defines=self.defines,
            nccl=nccl,
            root=self.root,
        )

    def at_practical_sizes(self) -> "Workload":
        """Return the workload as GPUs are to time it: with its `time_sizes`."""
        return replace(self, defines={**self.defines, **self.time_sizes})

    def args_for(self, seed: int) -> tuple[str, ...]:
        """Return the program's arguments for one input seed."""
        return tuple(arg.replace("{seed}", str(seed)) for arg in self.args)

    def with_overrides(
        self,
        *,
        ranks: int | None = None,
        sources: Sequence[Path | str] = (),
        defines: Mapping[str, str] | None = None,
        include_dirs: Sequence[Path | str] = (),
        args: Sequence[str] | None = None,
        lsa_size: int | None = None,
        node_size: int | None = None,
        nccl: str | None = None,
        seeds: int | None = None,
        seconds: float | None = None,
        memory_mb: int | None = None,
        leave_out: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: Path | None = None,
        scored_region: int | None = None,
        processes: int | None = None,
        time_sizes: Mapping[str, str] | None = None,
    ) -> "Workload":
        """Return a copy with what the command line changes; None leaves a value as it is.

        `sources`, `defines`, `include_dirs`, `leave_out`, `env` and `time_sizes` come in addition.
        Where the ranks of one machine shared memory, those of the new `node_size` do.

        Raises:
            BadInputError: a file is there twice, or a number is out of range.
            SourceError: a file or folder does not exist.
        """
        more = tuple(require_file(Path(source)) for source in sources)
        _require_once((self.program, *self.sources, *more))
        if lsa_size is None and (node_size is None or self.lsa_size != self.node_size):
            lsa_size = self.lsa_size
        return replace(
            self,
            ranks=self.ranks if ranks is None else ranks,
            sources=(*self.sources, *more),
            defines={**self.defines, **(defines or {})},
            include_dirs=(*self.include_dirs, *(require_dir(Path(d)) for d in include_dirs)),
            args=self.args if args is None else tuple(args),
            lsa_size=lsa_size,
            node_size=self.node_size if node_size is None else node_size,
            nccl=nccl or self.nccl,
            seeds=self.seeds if seeds is None else seeds,
            leave_out=tuple(dict.fromkeys((*self.leave_out, *map(plain_name, leave_out)))),
            env={**self.env, **(env or {})},
            stdin=self.stdin if stdin is None else require_file(stdin),
            scored_region=self.scored_region if scored_region is None else scored_region,
            processes=self.processes if processes is None else processes,
            time_sizes={**self.time_sizes, **(time_sizes or {})},
            limits=replace(
                self.limits,
                seconds=self.limits.seconds if seconds is None else seconds,
                memory_mb=self.limits.memory_mb if memory_mb is None else memory_mb,
            ),
        )


def plain_name(buffer: str) -> str:
    """Return a device expression as outputs are named: without spaces."""
    return "".join(buffer.split())


def check_left_out(names: Sequence[str], outputs: Sequence[Output]) -> None:
    """Raise BadInputError where an output that is declared is to be left out as well."""
    for output in outputs:
        if output.buffer in names:
            raise BadInputError(
                f"leave_out must not name a declared output, but both name {output.buffer!r}",
                hint="only what [[outputs]] declares is compared: nothing else need be left out",
            )


def check_ranks(
    ranks: int, lsa_size: int | None, node_size: int | None = None, processes: int | None = None
) -> None:
    """Raise BadInputError unless 1 <= ranks <= MAX_RANKS and all else divides ranks."""
    if not 1 <= ranks <= MAX_RANKS:
        raise BadInputError(f"ranks must be from 1 to {MAX_RANKS}, got {ranks}")
    shares = (
        ("lsa_size", lsa_size, "the number of ranks that share memory, such as the GPUs of a node"),
        ("node_size", node_size, "the number of ranks whose GPUs are in one machine"),
        ("processes", processes, "the number of processes, each with as many devices"),
    )
    for name, value, meaning in shares:
        if value is not None and (value < 1 or ranks % value):
            message = f"{name} must divide the ranks ({ranks}), got {value}"
            raise BadInputError(message, hint=f"{name} is {meaning}")


def check_nccl(version: str | None) -> None:
    """Raise BadInputError where a version of NCCL is named whose rules are not known."""
    if version is None:
        return
    parts = tuple(int(part) if part.isdecimal() else -1 for part in version.split("."))
    if not OLDEST_NCCL <= parts[:2] <= NEWEST_NCCL:
        known = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST_NCCL, NEWEST_NCCL))
        raise BadInputError(
            f"nccl must be a version whose rules are known ({known}), got {version}",
            hint="leave it out for the rules of the newest whose headers are at hand",
        )


def check_seeds(seeds: int) -> None:
    """Raise BadInputError unless 1 <= seeds <= MAX_SEEDS."""
    if not 1 <= seeds <= MAX_SEEDS:
        raise BadInputError(f"seeds must be from 1 to {MAX_SEEDS}, got {seeds}")


def check_region(number: int) -> None:
    """Raise BadInputError unless 0 <= number <= MAX_REGIONS."""
    if not 0 <= number <= MAX_REGIONS:
        raise BadInputError(
            f"scored_region must be from 0 to {MAX_REGIONS}, got {number}",
            hint="1 is the first region that the program times itself, 0 the whole run",
        )


def check_launcher(words: Sequence[str]) -> None:
    """Raise BadInputError unless the words are a command that starts ranks on machines."""
    if words and Path(words[0]).name not in LAUNCHERS:
        raise BadInputError(
            f"launcher must begin with {', '.join(LAUNCHERS[:-1])} or {LAUNCHERS[-1]}, "
            f"got {words[0]!r}",
            hint='such as launcher = "srun --mpi=pmix --partition=gpu"; node_size says how many '
            "ranks each machine has",
        )


def _require_once(files: Sequence[Path]) -> None:
    """Raise BadInputError where a file of a program is named twice."""
    for at, file in enumerate(files):
        if file in files[:at]:
            raise BadInputError(
                "this file of the program is named twice",
                file=str(file),
                hint="the program (or the workload's) comes first, then only its further files",
            )


def require_file(path: Path) -> Path:
    """Return `path` made absolute; raise SourceError where it is not a file."""
    if path.is_dir() and is_workload(path):
        raise SourceError(
            "a program must be named here, but this is the folder of a workload",
            file=str(path),
            hint="name its .cu file",
        )
    if path.is_dir():
        raise SourceError(
            f"is a folder without a {WORKLOAD_FILE}",
            file=str(path),
            hint="name a .cu file in it, or start a workload with: warploom init DIR",
        )
    if not path.exists():
        near = difflib.get_close_matches(path.name, _names_beside(path), n=3)
        hint = f"did you mean {', '.join(str(path.with_name(name)) for name in near)}?"
        raise SourceError("no such file", file=str(path), hint=hint if near else "")
    if not path.is_file():
        raise SourceError("is no ordinary file", file=str(path))
    return path.resolve()


def _names_beside(path: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return []


def require_dir(path: Path) -> Path:
    """Return `path` made absolute; raise SourceError where it is not a folder."""
    if not path.is_dir():
        raise SourceError("no such include folder", file=str(path))
    return path.resolve()


def is_workload(path: Path) -> bool:
    """Whether `path` is a workload file or a folder that holds one."""
    return path.suffix == ".toml" or (path / WORKLOAD_FILE).is_file()


def load_target(path: Path | str, *, own_judge: bool = False) -> Workload:
    """Return the workload at `path`: a workload file or folder, or a program.

    `own_judge`: it may bring a judge of its own.

    Raises:
        WorkloadError: the workload file breaks a rule.
        SourceError: there is no such file, or it is a folder without a workload.
    """
    target = Path(path)
    if not is_workload(target):
        return Workload.from_program(target)
    found = Workload.from_file(target)
    if found.judge and not own_judge:
        raise WorkloadError(
            "a workload with a judge of its own is for evolve and optimize only",
            file=str(target),
            hint=f"warploom evolve {target} 'models.names=[MODEL]' evolution.max_dollars=USD",
        )
    return found


__all__ = [
    "MAX_RANKS",
    "MAX_SEEDS",
    "WORKLOAD_FILE",
    "Output",
    "Workload",
    "WorkloadError",
    "check_launcher",
    "check_left_out",
    "check_ranks",
    "check_seeds",
    "is_workload",
    "load_target",
    "plain_name",
    "require_dir",
    "require_file",
]
