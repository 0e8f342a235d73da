"""Where work is done, and within which limits."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Seconds = Annotated[float, Field(gt=0)]
_LINE = re.compile(r"[^\n\r\0]+\Z")
_WORD = re.compile(r"[A-Za-z0-9_.+@/:-]+\Z")
_OURS = {
    "array": "jobs are handed out one by one, or as an array of our own",
    "export": "jobs.environment names variables that jobs get",
    "export-file": "jobs.environment names variables that jobs get",
    "get-user-env": "jobs.environment names variables that jobs get",
    "job-name": "it tells whose jobs these are",
    "output": "submitit's folder has what jobs print",
    "error": "submitit's folder has what jobs print",
    "wrap": "the batch script is submitit's",
}
"""Options of sbatch that would break the search, or hand keys to jobs, and why not."""


class _Section(BaseModel):
    """A frozen part of a configuration: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def _lines(given: tuple[str, ...]) -> tuple[str, ...]:
    for line in given:
        if not _LINE.match(line):
            raise ValueError(f"each must be one line, and not empty, got {line!r}")
    return given


class SlurmConfig(_Section):
    """What a Slurm job asks for.

    `setup` are lines of shell before the job's Python; `modules` and `conda` are short for such
    lines. With `image` the job's Python is in a container, which `container` starts: `docker`,
    `apptainer`, or `pyxis` (srun's `--container-image`); it sees the run's folder and the folders
    `mounts`. `python` is the job's Python, default: this one, or `python3` in a container or a
    conda environment. `parameters` are any others of sbatch; true is an option without a value.
    `minutes` is the job's limit, None: `jobs.timeout_s` and some minutes, or an hour. `poll_s` is
    between looks at the queue.
    """

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    nodes: Annotated[int, Field(ge=1, le=10_000)] = 1
    minutes: Annotated[int, Field(ge=1)] | None = None
    setup: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    conda: str | None = None
    container: Literal["docker", "apptainer", "pyxis"] = "docker"
    image: str | None = None
    mounts: tuple[str, ...] = ()
    python: str | None = None
    parameters: dict[str, str | int | bool] = Field(default_factory=dict[str, str | int | bool])
    poll_s: Seconds = 2.0

    @field_validator("setup")
    @classmethod
    def _one_line_each(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return _lines(given)

    @field_validator("image")
    @classmethod
    def _an_image(cls, given: str | None) -> str | None:
        if given is not None and not given.strip():
            raise ValueError("must name the container's image, which has warploom in it")
        return given

    @property
    def foreign(self) -> bool:
        """Whether the job's Python is another one than ours."""
        return bool(self.image or self.conda or self.python)

    @field_validator("parameters")
    @classmethod
    def _not_ours(cls, given: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
        for name in given:
            why = _OURS.get(name.replace("_", "-"))
            if why is not None:
                raise ValueError(f"must leave --{name.replace('_', '-')} to warploom: {why}")
        return given

    @field_validator("modules")
    @classmethod
    def _plain_words(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for word in given:
            if not _WORD.match(word):
                raise ValueError(f"each must be the name of a module, got {word!r}")
        return given


class RayConfig(_Section):
    """How Ray is reached: `address` of its head, `auto` for one that runs on this machine."""

    address: str = "auto"


class JobConfig(_Section):
    """Where work is done.

    `engine` is `local` (processes of this machine; `auto` is the same, or `inline` where one worker
    is asked for), `inline` (this process), `slurm` or `ray`. Lost work (crashed, cancelled, timed
    out or stuck jobs) is done again `retries` times. `timeout_s` is how long a piece of work may
    run, `start_timeout_s` how long it may wait for a cluster to begin it; None: for ever.
    `cpus`, `gpus` and `memory_gb` are those of each piece of work; on this machine the GPUs are
    handed out. `environment` names variables that work gets beside the usual ones, which have no
    keys among them.
    """

    engine: Literal["auto", "inline", "local", "slurm", "ray"] = "auto"
    retries: Annotated[int, Field(ge=0, le=100)] = 1
    timeout_s: Seconds | None = None
    start_timeout_s: Seconds | None = None
    cpus: Annotated[int, Field(ge=1, le=4096)] = 1
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    environment: tuple[str, ...] = ()
    slurm: SlurmConfig = SlurmConfig()
    ray: RayConfig = RayConfig()

    @property
    def remote(self) -> bool:
        """Whether work is done by a cluster, whose machines have cores of their own."""
        return self.engine in ("slurm", "ray")
