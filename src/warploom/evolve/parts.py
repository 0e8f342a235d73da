"""What a run is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.evaluation.runs.plan import ProgressCallback
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.desk import ModelDesk
from warploom.evolve.evaluator import Evaluator
from warploom.evolve.result import Status
from warploom.evolve.seeds import SeedSource
from warploom.evolve.space import Space
from warploom.evolve.team import Alone, Team
from warploom.jobs import Engine

StatusCallback = Callable[[Status], None]


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is made of; None stands for the default, and for no models."""

    config: EvolutionConfig
    evaluator: Evaluator | None
    seeds: SeedSource
    space: Space | None
    on_progress: ProgressCallback
    on_status: StatusCallback
    desk: ModelDesk | None = None
    team: Team = field(default_factory=Alone)
    engine: Engine | None = None
