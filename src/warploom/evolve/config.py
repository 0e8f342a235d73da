"""The configuration of a search. `docs/evolve.md` lists the keys.

It is composed of YAML groups (`groups/SECTION/NAME.yaml`), a file of the user's, and dotted
overrides, in this order; `compose.py` does that.
"""

import shlex
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from warploom.jobs.config import JobConfig
from warploom.store.config import DatabaseConfig, SelectionConfig


def _plain(value: object) -> object:
    """Macros are text: a number in YAML stands for its digits."""
    return str(value) if isinstance(value, int | float) else value


Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Operator = Literal[
    "single", "several", "crossover", "predicted", "diff", "full", "llm_crossover", "fix",
]  # fmt: skip


RULES = ("single", "several", "crossover", "predicted")
"""The operators that need no model."""
MODEL_KINDS = ("diff", "full", "llm_crossover", "fix")
"""The operators that ask a model: the kinds of `PromptSampler`."""


class _Section(BaseModel):
    """A frozen part of the configuration: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class BudgetConfig(_Section):
    """How long to search. A run stops at whatever comes first.

    `generation_size` attempts make a generation: nobody waits for one to fill. `max_evaluations`
    None: `num_generations` times `generation_size`; seeds do not count. `plateau` is after how many
    generations without an accepted improvement the run stops, 0: never. `workers` None: one per
    core, or 2 where a seed asks for the same run again. `max_tries` is how many proposals may be
    turned away as known before every single step from every program is looked at.
    """

    num_generations: Annotated[int, Field(ge=1)] = 10
    generation_size: Annotated[int, Field(ge=1)] = 4
    max_evaluations: Annotated[int, Field(ge=0)] | None = None
    max_hours: Positive | None = None
    max_dollars: Positive | None = None
    plateau: Annotated[int, Field(ge=0)] = 5
    workers: Annotated[int, Field(ge=1, le=1024)] | None = None
    max_tries: Annotated[int, Field(ge=1, le=10_000)] = 25

    @property
    def evaluations(self) -> int:
        """How many attempts may be made besides the seeds."""
        if self.max_evaluations is not None:
            return self.max_evaluations
        return self.num_generations * self.generation_size


class JudgingConfig(_Section):
    """How candidates are judged and timed.

    `topology` is the machine whose time is modelled: a packaged profile or a TOML file. `seeds` is
    the number of secret inputs that all candidates of the run are verified and timed with;
    `confirm_seeds` that of the other inputs with which a champion is judged once more. An
    improvement below `noise`, as a share of the time, is none. `nvcc`: whether candidates must
    compile with nvcc, where it is found.

    With `backend` cuda candidates are verified by the emulator and timed on this machine's GPUs, at
    the workload's `time_sizes`, each in turns with the host-driven program: `repeats` pairs of runs
    for each input. With `gpu_command`, srun for instance, they are timed where that command starts
    another one, so that only this needs GPUs.
    """

    backend: Literal["emulator", "cuda"] = "emulator"
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    gpu_command: str | None = None
    topology: str = "h200-8"
    seeds: Annotated[int, Field(ge=1, le=100)] = 1
    confirm_seeds: Annotated[int, Field(ge=1, le=100)] = 2
    noise: Share = 0.005
    nvcc: bool = True

    @field_validator("gpu_command")
    @classmethod
    def _a_command(cls, given: str | None) -> str | None:
        if given is not None and not shlex.split(given):
            raise ValueError("must be a command, such as 'srun --gpus=2 --ntasks=1'")
        return given

    @model_validator(mode="after")
    def _only_with_gpus(self) -> "JudgingConfig":
        if self.gpu_command is not None and self.backend != "cuda":
            raise ValueError("gpu_command is for backend=cuda, which takes times on GPUs")
        return self


class NoveltyConfig(_Section):
    """What is too much like what is there already.

    The same text, comments and blanks aside, is always known. A text by rules is known too
    from the cosine similarity `similarity` on to a program with the same directives; what a model
    proposes, from `model_similarity` on, None: never, as it may change what no directive names.
    With `judge` a model is asked about what a model proposes from `judge_similarity` on.
    """

    similarity: Share = 0.995
    model_similarity: Share | None = None
    judge: bool = False
    judge_similarity: Share = 0.95


class PhaseConfig(_Section):
    """One phase: how parents are drawn, and the weights of operators where nothing is learned."""

    selection: SelectionConfig = SelectionConfig()
    operators: dict[Operator, Annotated[float, Field(ge=0)]] = Field(
        default_factory=lambda: {**dict.fromkeys(RULES, 1.0), "predicted": 9.0}
    )

    @model_validator(mode="after")
    def _some_operator(self) -> "PhaseConfig":
        if not any(self.operators.values()):
            raise ValueError("one operator at least must have a weight above 0")
        return self

    def weights(self, *, rules: bool, models: bool) -> dict[str, float]:
        """Return the weights of the operators that can be used."""
        allowed = (*(RULES if rules else ()), *(MODEL_KINDS if models else ()))
        return {str(name): weight for name, weight in self.operators.items() if name in allowed}


def _explore() -> PhaseConfig:
    return PhaseConfig(
        selection=SelectionConfig(strategy="weighted", sharpness=1.0),
        operators={
            "single": 0.5, "several": 0.5, "crossover": 0.5, "predicted": 4.5,
            "diff": 3.0, "full": 2.0, "llm_crossover": 1.0, "fix": 1.0,
        },
    )  # fmt: skip


def _exploit() -> PhaseConfig:
    return PhaseConfig(
        selection=SelectionConfig(strategy="power_law", exponent=2.0),
        operators={
            "single": 0.5, "several": 0.25, "crossover": 0.5, "predicted": 3.75,
            "diff": 4.0, "full": 1.0, "llm_crossover": 2.0, "fix": 1.0,
        },
    )  # fmt: skip


class PhasesConfig(_Section):
    """Explore for the first `explore_share` of the evaluations, then exploit."""

    explore_share: Share = 0.5
    explore: PhaseConfig = Field(default_factory=_explore)
    exploit: PhaseConfig = Field(default_factory=_exploit)


class BanditConfig(_Section):
    """How operators and steps are learned.

    With the probability `share` UCB1 picks the operator (`exploration` is the factor of its bonus),
    else the weights of the phase do; after `patience` rewards it is half of `share`. `decay` is
    what an older reward counts for after each newer one. Steps are drawn by exp(mean gain /
    `temperature`), the gain being the logarithm of the speed-up; a failure counts as a gain of
    -`failure`. `most_steps` is what the operator `several` takes at once.
    """

    share: Share = 0.7
    patience: Annotated[float, Field(ge=0)] = 20.0
    exploration: Annotated[float, Field(ge=0)] = 0.5
    decay: Annotated[float, Field(gt=0, le=1)] = 0.98
    temperature: Positive = 0.1
    failure: Annotated[float, Field(ge=0)] = 0.2
    most_steps: Annotated[int, Field(ge=2, le=20)] = 4


class ModelsConfig(_Section):
    """Which language models propose, and within which caps.

    `names` are model strings (docs/providers); a bandit picks one for each proposal, by gain
    (`exploration` is the factor of UCB1's bonus) and dollars (`cost_weight`). `judge` answers
    questions of novelty and sums up, None: the first of `names`. `price` is dollars for a million
    tokens in and out, of all names, where no price is known. `max_tokens` and `max_requests` are
    caps beside `evolution.max_dollars`. `retries` is how often a model is told why its reply was
    not used, and asked once more. `concurrency` proposals are asked for at once. `task` says what
    the program is for, `island_tasks` what each island is to try. `unsafe` has what
    they write judged on machines without a sandbox too.
    """

    names: tuple[str, ...] = ()
    judge: str | None = None
    price: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_requests: Annotated[int, Field(ge=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1024)] = 32_768
    context_tokens: Annotated[int, Field(ge=1024)] = 48_000
    retries: Annotated[int, Field(ge=0, le=20)] = 1
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    timeout_s: Positive = 600.0
    exploration: Annotated[float, Field(ge=0)] = 1.0
    cost_weight: Share = 0.5
    task: str = ""
    island_tasks: dict[int, str] = Field(default_factory=dict[int, str])
    unsafe: bool = False

    @property
    def judging(self) -> str:
        """Who answers questions of novelty and sums up; "" without models."""
        return self.judge or (self.names[0] if self.names else "")

    @property
    def asked(self) -> tuple[str, ...]:
        """All models that may be asked."""
        return tuple(dict.fromkeys((*self.names, *((self.judge,) if self.judge else ()))))


class SummaryConfig(_Section):
    """Each `interval` generations the search is summed up, 0: never.

    With `model` a model does so, where there are some; else, and without any, counting.
    """

    interval: Annotated[int, Field(ge=0)] = 3
    model: bool = True


class WorkloadConfig(_Section):
    """What is changed of the workload; None leaves a value as it is."""

    ranks: Annotated[int, Field(ge=1)] | None = None
    lsa_size: Annotated[int, Field(ge=1)] | None = None
    node_size: Annotated[int, Field(ge=1)] | None = None
    processes: Annotated[int, Field(ge=1)] | None = None
    nccl: str | None = None
    scored_region: Annotated[int, Field(ge=0)] | None = None
    defines: dict[str, Annotated[str, BeforeValidator(_plain)]] = Field(
        default_factory=dict[str, str]
    )
    time_sizes: dict[str, Annotated[str, BeforeValidator(_plain)]] = Field(
        default_factory=dict[str, str]
    )


class EvolutionConfig(_Section):
    """All that decides how a search goes, apart from the workload and the seed.

    `apis` are the device APIs to start from; each that verifies is a seed with an island of its
    own.
    """

    evolution: BudgetConfig = BudgetConfig()
    database: DatabaseConfig = DatabaseConfig()
    evaluation: JudgingConfig = JudgingConfig()
    jobs: JobConfig = JobConfig()
    novelty: NoveltyConfig = NoveltyConfig()
    phases: PhasesConfig = Field(default_factory=PhasesConfig)
    bandit: BanditConfig = BanditConfig()
    models: ModelsConfig = ModelsConfig()
    summary: SummaryConfig = SummaryConfig()
    workload: WorkloadConfig = WorkloadConfig()
    apis: tuple[Literal["gin", "lsa"], ...] = ("gin", "lsa")

    @model_validator(mode="after")
    def _some_api(self) -> "EvolutionConfig":
        if not self.apis or len(set(self.apis)) != len(self.apis):
            raise ValueError("apis must name one API at least, and each once")
        return self

    @model_validator(mode="after")
    def _models_fit(self) -> "EvolutionConfig":
        models = self.models
        if models.names and self.evolution.max_dollars is None and models.max_tokens is None:
            raise ValueError(
                "models need a cap on a whole run: set evolution.max_dollars or models.max_tokens"
            )
        if not models.names and (models.judge or self.novelty.judge):
            raise ValueError("models.names must name a model where a model is to judge, got none")
        for name in ("explore", "exploit"):
            phase: PhaseConfig = getattr(self.phases, name)
            usable = phase.weights(rules=True, models=bool(models.names))
            if not any(usable.values()):
                raise ValueError(
                    f"phases.{name}.operators needs a weight for {', '.join(RULES)} where "
                    "models.names is empty"
                )
        return self
