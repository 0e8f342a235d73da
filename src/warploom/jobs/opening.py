"""Makes the engine that a configuration asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.jobs.config import JobConfig
from warploom.jobs.inline import InlineEngine
from warploom.jobs.local import LocalEngine
from warploom.jobs.protocol import Engine


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine works.

    `folder` is for what it must keep; a cluster's nodes must see it under the same name. `preload`
    names modules that the work needs. `gpus` are the GPUs of this machine that may be handed out.
    """

    folder: Path
    preload: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()


def open_engine(config: JobConfig, slots: int, place: Place) -> Engine:
    """Return the engine for `slots` pieces of work at once.

    Raises:
        BadInputError: this machine has fewer GPUs than the slots need.
        MissingToolError: a package or program that the engine needs is not there.
    """
    if config.engine == "slurm":
        from warploom.jobs.slurm import SlurmEngine

        return SlurmEngine(config, slots, place.folder)
    if config.engine == "ray":
        from warploom.jobs.ray import RayEngine

        return RayEngine(config, slots)
    if config.engine == "inline" or (config.engine == "auto" and slots == 1 and not config.gpus):
        return InlineEngine()
    gpus = _handed_out(config.gpus, slots, place.gpus)
    return LocalEngine(slots, place.preload, environment=config.environment, gpus=gpus)


def _handed_out(count: int, slots: int, gpus: Sequence[str]) -> list[str]:
    """Return the GPUs of each slot."""
    if not count:
        return []
    if len(gpus) < count * slots:
        raise BadInputError(
            f"{slots} workers with {count} GPUs each need {count * slots}, "
            f"but there are {len(gpus)} here",
            hint="set evolution.workers or jobs.gpus lower",
        )
    return [",".join(gpus[at * count : (at + 1) * count]) for at in range(slots)]
