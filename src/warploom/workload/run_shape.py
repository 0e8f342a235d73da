"""Who takes part in a run, and whose rules hold: the shape that every command carries whole.

A field is added in `RunShape` and `ShapeChange`; where users say it are the options of the command
line and of the MCP tools, `workload.toml` and the configuration of a search, and
tests/evaluation/test_run_shape.py fails until each of these has it.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict, cast

from warploom.core.errors import BadInputError
from warploom.core.records import NEWEST_NCCL, OLDEST_NCCL

MAX_RANKS = 256


class ShapeChange(TypedDict, total=False):
    """What a caller says of a shape, by the names of `RunShape`; None leaves a value as it is."""

    ranks: int | None
    lsa_size: int | None
    node_size: int | None
    processes: int | None
    nccl: str | None


@dataclass(frozen=True, slots=True)
class RunShape:
    """How many ranks take part, what they share, and whose rules hold.

    `ranks` is the number of devices. `node_size` is how many ranks one machine has; None: all.
    `lsa_size` is how many ranks share memory; None becomes `node_size`, and without that means all.
    `processes` share the ranks' devices out evenly; None: one for each, or one for all, as the
    program has it. `nccl` is the version of NCCL whose rules hold, such as "2.30.7"; None: the
    newest whose headers are at hand.

    Raises:
        BadInputError: ranks are out of range, the rest does not divide them, or the rules of that
            version of NCCL are not known.
    """

    ranks: int = 4
    lsa_size: int | None = None
    node_size: int | None = None
    processes: int | None = None
    nccl: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.ranks <= MAX_RANKS:
            raise BadInputError(f"ranks must be from 1 to {MAX_RANKS}, got {self.ranks}")
        self._require_share("lsa_size", "ranks that share memory, such as the GPUs of a node")
        self._require_share("node_size", "ranks whose GPUs are in one machine")
        self._require_share("processes", "processes, each with as many devices")
        _require_known(self.nccl)
        if self.lsa_size is None:
            object.__setattr__(self, "lsa_size", self.node_size)

    def _require_share(self, name: str, meaning: str) -> None:
        value = cast("int | None", getattr(self, name))
        if value is not None and (value < 1 or self.ranks % value):
            message = f"{name} must divide the ranks ({self.ranks}), got {value}"
            raise BadInputError(message, hint=f"{name} is the number of {meaning}")

    def changed(self, change: ShapeChange) -> "RunShape":
        """Return the shape with what `change` says.

        Where the ranks of one machine shared memory, those of a new `node_size` do.

        Raises:
            BadInputError: as `RunShape`.
        """
        given = {name: value for name, value in change.items() if value is not None}
        if "node_size" in given and self.lsa_size == self.node_size:
            given.setdefault("lsa_size", None)
        return replace(self, **cast("dict[str, Any]", given))


SHAPE_FIELDS = tuple(part.name for part in fields(RunShape))


def shape_change(record: object) -> ShapeChange:
    """Return what a record whose fields have the names of a shape's says of it."""
    return cast("ShapeChange", {name: getattr(record, name) for name in SHAPE_FIELDS})


def _require_known(version: str | None) -> None:
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
