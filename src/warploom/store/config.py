"""Where programs are kept, and how islands, parents and the archive are run."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    """A frozen part of a configuration: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


Share = Annotated[float, Field(ge=0, le=1)]
Strategy = Literal["power_law", "weighted", "beam", "uniform"]
Graph = Literal["ring", "full"] | dict[int, tuple[int, ...]]


class SelectionConfig(_Section):
    """How a parent is drawn from an island's correct programs, best first.

    `power_law`: rank r (from 1) has the weight r ** -`exponent`. `weighted`: the weight is
    sigmoid(`sharpness` * (score - median) / spread) / (1 + children); the spread is the median
    absolute deviation of the scores. `beam`: one of the best `beam_width`, each as likely.
    `uniform`: any, each as likely.
    """

    strategy: Strategy = "power_law"
    exponent: Annotated[float, Field(ge=0, le=20)] = 1.0
    sharpness: Annotated[float, Field(ge=0, le=1000)] = 2.0
    beam_width: Annotated[int, Field(ge=1, le=10_000)] = 4


class MigrationConfig(_Section):
    """How programs come to other islands.

    Each `interval` generations copies of some go along the edges of `graph`. `rate` is the share
    of an island's correct programs that goes, at least one. With `elitism` these are the island's
    best, else any of it. `graph` is `ring` (each island to the next), `full` (each to all others),
    or a mapping from an island to those that it sends to. An interval of 0 means none.
    """

    interval: Annotated[int, Field(ge=0)] = 3
    rate: Share = 0.1
    elitism: bool = True
    graph: Graph = "ring"


class ArchiveConfig(_Section):
    """The archive: at most `size` programs, the best one of each cell.

    A cell is which directives differ from the seed's, `complexity_bins` of cyclomatic complexity
    relative to the seed's (each a tenth of it), and `communication_bins` of the share of time that
    communication is exposed.
    """

    size: Annotated[int, Field(ge=1, le=100_000)] = 40
    complexity_bins: Annotated[int, Field(ge=1, le=100)] = 5
    communication_bins: Annotated[int, Field(ge=1, le=100)] = 5


class InspirationConfig(_Section):
    """How many other programs are shown beside a parent: of the archive, and of the best."""

    archive: Annotated[int, Field(ge=0, le=100)] = 2
    top_k: Annotated[int, Field(ge=0, le=100)] = 2


class DatabaseConfig(_Section):
    """The store of a run.

    `url` is any SQLAlchemy URL; None: SQLite in the run's folder. `num_islands` None: one for each
    seed. With `stagnation` generations without a better program a new island starts from a program
    of the archive, up to `max_islands`; 0 means never.

    With `run`, the name of a search, every runner that is given the same database and name takes
    part in it. What a runner works on is another's when nothing was seen of it for `lease_s`
    seconds. A lost connection is tried again for `patience_s` seconds.
    """

    url: str | None = None
    run: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    lease_s: Annotated[float, Field(ge=1)] = 60.0
    patience_s: Annotated[float, Field(ge=0)] = 300.0
    num_islands: Annotated[int, Field(ge=1, le=1000)] | None = None
    max_islands: Annotated[int, Field(ge=1, le=1000)] = 6
    stagnation: Annotated[int, Field(ge=0)] = 4
    migration: MigrationConfig = MigrationConfig()
    archive: ArchiveConfig = ArchiveConfig()
    inspirations: InspirationConfig = InspirationConfig()

    @model_validator(mode="after")
    def _shared_by_a_server(self) -> "DatabaseConfig":
        if self.run is not None and not (self.url or "").startswith("postgres"):
            raise ValueError(
                f"a run that several runners share needs a url of PostgreSQL, got {self.url!r}"
            )
        return self

    @model_validator(mode="after")
    def _islands_fit(self) -> "DatabaseConfig":
        if self.num_islands is not None and self.num_islands > self.max_islands:
            raise ValueError(
                f"num_islands must be at most max_islands ({self.max_islands}), "
                f"got {self.num_islands}"
            )
        return self
