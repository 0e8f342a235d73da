"""The options that commands share about a run: one list, checked when it is made."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from warploom.cli.shared_parameters import (
    Defines,
    Env,
    Includes,
    Jobs,
    LeaveOut,
    LsaSize,
    Memory,
    MoreSources,
    Nccl,
    NodeSize,
    Processes,
    Ranks,
    Seconds,
    Seeds,
    Stdin,
)
from warploom.core.errors import BadInputError
from warploom.core.records import Limits
from warploom.workload.run_shape import ShapeChange, shape_change

if TYPE_CHECKING:
    from warploom.workload.workload import Workload

_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_VERSION = re.compile(r"\d+\.\d+\.\d+\Z")


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What the command line says about a run; None leaves the workload's value.

    `args` are the program's arguments, which come after `--`; `timeout` is in seconds, `memory` in
    GiB.

    Raises:
        BadInputError: a macro, variable, version, limit or job count breaks its rule, or a source
            is missing.
    """

    ranks: Ranks = None
    sources: MoreSources = None
    defines: Defines = None
    includes: Includes = None
    lsa_size: LsaSize = None
    node_size: NodeSize = None
    processes: Processes = None
    nccl: Nccl = None
    seeds: Seeds = None
    timeout: Seconds = None
    memory: Memory = None
    jobs: Jobs = None
    leave_out: LeaveOut = None
    env: Env = None
    stdin: Stdin = None
    args: list[str] | None = None

    def __post_init__(self) -> None:
        if self.nccl is not None and not _VERSION.match(self.nccl):
            raise BadInputError(f"--nccl must be a version such as 2.30.7, got {self.nccl!r}")
        if self.timeout is not None and not 0 < self.timeout <= 86400:
            raise BadInputError(
                f"--timeout must be above 0 and at most 86400, got {self.timeout:g}"
            )
        if self.memory is not None and not 0.25 <= self.memory <= 4096:
            raise BadInputError(f"--memory must be from 0.25 to 4096 GiB, got {self.memory:g}")
        if self.jobs is not None and self.jobs < 1:
            raise BadInputError(f"--jobs must be at least 1, got {self.jobs}")
        for source in self.sources or ():
            if not source.is_file():
                raise BadInputError(
                    "no such file among the program's sources",
                    file=str(source),
                    hint="arguments of the program come after --",
                )
        parse_defines(self.defines or ())
        parse_variables(self.env or ())

    @property
    def shape(self) -> ShapeChange:
        """What is to be another shape than the workload's."""
        return shape_change(self)

    def apply(self, target: Path) -> "Workload":
        """Load the workload at `target` and apply these choices to it.

        Raises:
            BadInputError, SourceError: as `applied_to`.
            WorkloadError: the workload is wrong.
        """
        from warploom.workload.workload import load_target

        return self.applied_to(load_target(target))

    def applied_to(self, workload: "Workload") -> "Workload":
        """Return the workload with these choices.

        Raises:
            BadInputError: a source is there twice, or a number is out of range.
            SourceError: a folder does not exist.
        """
        return workload.with_overrides(
            sources=self.sources or (),
            defines=parse_defines(self.defines or ()),
            include_dirs=self.includes or (),
            args=self.args or None,
            limits=self._limits(workload.limits),
            seeds=self.seeds,
            leave_out=self.leave_out or (),
            env=parse_variables(self.env or ()),
            stdin=self.stdin,
            **self.shape,
        )

    def _limits(self, given: Limits) -> Limits:
        memory_mb = given.memory_mb if self.memory is None else round(self.memory * 1024)
        seconds = given.seconds if self.timeout is None else self.timeout
        return replace(given, seconds=seconds, memory_mb=memory_mb)


def parse_defines(items: Sequence[str]) -> dict[str, str]:
    """Turn `NAME=VALUE` and `NAME` into a mapping; raise BadInputError for a wrong name."""
    defines: dict[str, str] = {}
    for item in items:
        name, _, value = item.partition("=")
        if not _MACRO.match(name):
            raise BadInputError(f"-D must be NAME or NAME=VALUE, got {item!r}")
        defines[name] = value
    return defines


def parse_variables(items: Sequence[str]) -> dict[str, str]:
    """Turn `NAME=VALUE` into a mapping; raise BadInputError for anything else."""
    variables: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise BadInputError(f"--env must be NAME=VALUE, got {item!r}")
        variables[name] = value
    return variables
