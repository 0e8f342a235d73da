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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Unpack

from warploom.core.errors import WorkloadError
from warploom.core.records import BuildSpec, Limits
from warploom.workload.fields import WorkloadFields
from warploom.workload.outputs import plain_name
from warploom.workload.paths import is_workload, require_dir, require_file, require_once
from warploom.workload.run_shape import RunShape, ShapeChange


@dataclass(frozen=True, slots=True)
class Workload(WorkloadFields):
    """A program, how to run it, and what must stay true of it: `WorkloadFields` lists its parts."""

    @classmethod
    def from_file(cls, path: Path | str) -> "Workload":
        """Read a `workload.toml`, or the folder that holds one.

        Raises:
            WorkloadError: a key is missing, unknown or wrong; names file, line, key and value.
            SourceError: a file that it names does not exist.
        """
        from warploom.workload.file import read_workload  # pydantic loads only when needed

        read = read_workload(Path(path))
        return cls(**{part.name: getattr(read, part.name) for part in fields(read)})

    @classmethod
    def from_program(
        cls,
        path: Path | str,
        *,
        sources: Sequence[Path | str] = (),
        include_dirs: Sequence[Path | str] = (),
        defines: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        seeds: int = 3,
        limits: Limits | None = None,
        **shape: Unpack[ShapeChange],
    ) -> "Workload":
        """Make a workload of one program; its outputs are all of its device-to-host copies.

        `shape` is what `RunShape` has not by default, such as `ranks=2`.

        Raises:
            SourceError: the file does not exist.
            BadInputError: the shape or the seeds are out of range.
        """
        program = require_file(Path(path))
        return cls(
            name=program.stem,
            root=program.parent,
            program=program,
            sources=tuple(require_file(Path(source)) for source in sources),
            include_dirs=tuple(require_dir(Path(folder)) for folder in include_dirs),
            shape=RunShape().changed(shape),
            defines=dict(defines or {}),
            args=tuple(args),
            limits=limits or Limits(),
            seeds=seeds,
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
        sources: Sequence[Path | str] = (),
        defines: Mapping[str, str] | None = None,
        include_dirs: Sequence[Path | str] = (),
        args: Sequence[str] | None = None,
        seeds: int | None = None,
        limits: Limits | None = None,
        leave_out: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: Path | None = None,
        scored_region: int | None = None,
        time_sizes: Mapping[str, str] | None = None,
        **shape: Unpack[ShapeChange],
    ) -> "Workload":
        """Return a copy with what the command line changes; None leaves a value as it is.

        `sources`, `defines`, `include_dirs`, `leave_out`, `env` and `time_sizes` come in addition.
        `shape` is what changes of the `RunShape`, such as `ranks=2`.

        Raises:
            BadInputError: a file is there twice, or a number is out of range.
            SourceError: a file or folder does not exist.
        """
        more = tuple(require_file(Path(source)) for source in sources)
        require_once((self.program, *self.sources, *more))
        return replace(
            self,
            shape=self.shape.changed(shape),
            sources=(*self.sources, *more),
            defines={**self.defines, **(defines or {})},
            include_dirs=(*self.include_dirs, *(require_dir(Path(d)) for d in include_dirs)),
            args=self.args if args is None else tuple(args),
            seeds=self.seeds if seeds is None else seeds,
            leave_out=tuple(dict.fromkeys((*self.leave_out, *map(plain_name, leave_out)))),
            env={**self.env, **(env or {})},
            stdin=self.stdin if stdin is None else require_file(stdin),
            scored_region=self.scored_region if scored_region is None else scored_region,
            time_sizes={**self.time_sizes, **(time_sizes or {})},
            limits=limits or self.limits,
        )


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
