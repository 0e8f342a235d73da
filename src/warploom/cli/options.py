"""The options that commands share, checked and in the form that the library takes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from warploom.core.errors import BadInputError
from warploom.workload.workload import Workload, load_target

_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_VERSION = re.compile(r"\d+\.\d+\.\d+\Z")


@dataclass(frozen=True, slots=True)
class RunChoices:
    """What the command line says about a run; None leaves the workload's value."""

    ranks: int | None
    sources: tuple[Path, ...]
    defines: dict[str, str]
    include_dirs: tuple[Path, ...]
    lsa_size: int | None
    seeds: int | None
    nccl: str | None
    timeout: float | None
    memory: float | None
    jobs: int | None
    args: tuple[str, ...] | None
    node_size: int | None = None
    processes: int | None = None
    leave_out: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: Path | None = None

    @classmethod
    def parse(
        cls,
        *,
        ranks: int | None,
        defines: Sequence[str] | None,
        includes: Sequence[Path] | None,
        lsa_size: int | None,
        seeds: int | None,
        nccl: str | None,
        timeout: float | None = None,
        memory: float | None = None,
        jobs: int | None = None,
        sources: Sequence[Path] | None = None,
        args: Sequence[str] | None = None,
        node_size: int | None = None,
        processes: int | None = None,
        leave_out: Sequence[str] | None = None,
        env: Sequence[str] | None = None,
        stdin: Path | None = None,
    ) -> Self:
        """Check the options of one command.

        Raises:
            BadInputError: a macro, variable, version or job count breaks its rule, or a source is
                missing.
        """
        if nccl is not None and not _VERSION.match(nccl):
            raise BadInputError(f"--nccl must be a version such as 2.30.7, got {nccl!r}")
        if timeout is not None and not 0 < timeout <= 86400:
            raise BadInputError(f"--timeout must be above 0 and at most 86400, got {timeout:g}")
        if memory is not None and not 0.25 <= memory <= 4096:
            raise BadInputError(f"--memory must be from 0.25 to 4096 GiB, got {memory:g}")
        if jobs is not None and jobs < 1:
            raise BadInputError(f"--jobs must be at least 1, got {jobs}")
        for source in sources or ():
            if not source.is_file():
                raise BadInputError(
                    "no such file among the program's sources",
                    file=str(source),
                    hint="arguments of the program come after --",
                )
        return cls(
            ranks=ranks,
            sources=tuple(sources or ()),
            defines=parse_defines(defines or ()),
            include_dirs=tuple(includes or ()),
            lsa_size=lsa_size,
            seeds=seeds,
            nccl=nccl,
            timeout=timeout,
            memory=memory,
            jobs=jobs,
            args=tuple(args) if args else None,
            node_size=node_size,
            processes=processes,
            leave_out=tuple(leave_out or ()),
            env=parse_variables(env or ()),
            stdin=stdin,
        )

    def apply(self, target: Path) -> Workload:
        """Load the workload at `target` and apply these choices to it."""
        return self.applied_to(load_target(target))

    def applied_to(self, workload: Workload) -> Workload:
        """Return the workload with these choices."""
        return workload.with_overrides(
            ranks=self.ranks,
            sources=self.sources,
            defines=self.defines,
            include_dirs=self.include_dirs,
            args=self.args,
            lsa_size=self.lsa_size,
            node_size=self.node_size,
            processes=self.processes,
            nccl=self.nccl,
            seconds=self.timeout,
            memory_mb=None if self.memory is None else round(self.memory * 1024),
            seeds=self.seeds,
            leave_out=self.leave_out,
            env=self.env,
            stdin=self.stdin,
        )


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
