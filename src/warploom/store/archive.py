"""The archive: the best program of each cell of a grid of features (MAP-Elites).

Mouret and Clune, "Illuminating search spaces by mapping elites", 2015. The features are real ones:
which directives differ from the seed's, how complex the program is, how much of its time is
exposed communication.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.store.config import ArchiveConfig
from warploom.store.records import StoredProgram

Cell = tuple[tuple[str, ...], int, int]


@dataclass(frozen=True, slots=True)
class Features:
    """What a cell is made of.

    `levers` are those whose values differ from the seed's, `complexity` is cyclomatic and relative
    to the seed's, `communication` the share (0 to 1) of time that communication is exposed.
    """

    levers: tuple[str, ...]
    complexity: float
    communication: float


def features_of(program: StoredProgram, root: StoredProgram) -> Features:
    """Return the features of a program that descends from `root`."""
    ours, theirs = program.lineage.directives, root.lineage.directives
    levers = tuple(sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)))
    relative = program.complexity.cyclomatic / max(1, root.complexity.cyclomatic)
    return Features(levers, relative, communication_share(program.outcome.public))


def communication_share(metrics: Mapping[str, float]) -> float:
    """Return exposed communication as a share of the slowest rank's time; 0 where it is unknown."""
    time = metrics.get("time_ms", 0.0)
    return min(1.0, max(0.0, metrics.get("exposed_ms", 0.0) / time)) if time > 0 else 0.0


class Archive:
    """Holds at most `config.size` programs; where there are more cells, the best stay."""

    def __init__(self, config: ArchiveConfig) -> None:
        self._config = config
        self._cells: dict[Cell, tuple[float, int]] = {}  # (-score, number)

    def __len__(self) -> int:
        return len(self._cells)

    @property
    def members(self) -> list[int]:
        """Numbers of the programs, best first."""
        return [number for _, number in sorted(self._cells.values())]

    @property
    def cells(self) -> Mapping[Cell, int]:
        """The program of each cell."""
        return {cell: number for cell, (_, number) in self._cells.items()}

    def cell_of(self, features: Features) -> Cell:
        """Return the cell of a program. Complexity bins: the middle one is that of the seed."""
        middle = self._config.complexity_bins // 2
        step = round((features.complexity - 1.0) * 10)
        complexity = min(self._config.complexity_bins - 1, max(0, middle + step))
        bins = self._config.communication_bins
        return features.levers, complexity, min(bins - 1, int(features.communication * bins))

    def add(self, number: int, score: float, features: Features) -> bool:
        """Put a correct program into its cell if it is better than the one there.

        Returns:
            Whether it is in the archive now.
        """
        cell = self.cell_of(features)
        there = self._cells.get(cell)
        entry = (-score, number)
        if there is not None and there <= entry:
            return False
        self._cells[cell] = entry
        if len(self._cells) > self._config.size:
            worst = max(self._cells, key=lambda one: self._cells[one])
            del self._cells[worst]
            return worst != cell
        return True
