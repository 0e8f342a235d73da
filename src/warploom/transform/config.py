"""What a transform is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.core.records import Api, Timing
from warploom.evaluation.runs.plan import ALL_TIMINGS
from warploom.propose.agent import OWN, AgentOptions
from warploom.propose.llm import ModelOptions
from warploom.workload.run_shape import ShapeChange
from warploom.workload.workload import Workload

AUTO = "auto"
PROPOSERS = (AUTO, "rules", "llm", "agent")
EMULATOR, CUDA = "emulator", "cuda"
BACKENDS = (AUTO, EMULATOR, CUDA)
API_TYPES = (*(str(api) for api in Api), AUTO)


@dataclass(frozen=True, slots=True)
class TransformConfig:
    """How to transform and judge a program.

    Attributes:
        api_type: `gin`, `lsa`, or `auto`: LSA where the workload says that all ranks share memory.
        two_stage: first the windows with the host collectives in place (A), verified, and then
            the collectives (B); otherwise both at once.
        max_iterations: attempts in single-stage mode.
        stage_a_iterations: attempts in stage A.
        stage_b_iterations: attempts in stage B.
        host_to_device: whether to replace the host's communication.
        plain: whether the rules try the plain form first (docs/transform.md).
        evolve_markers: whether to mark what may be changed later.
        warmup: whether to add a warm-up round to a program that times itself without one.
        diagnostic_rerun: run a candidate that failed again, with a synchronization after each
            launch, to name the kernel that failed.
        proposer: who proposes: `rules`; `llm`, a language model; `agent`, a coding agent; or
            `auto`: the rules, and where they refuse or fail a model, if `model` names one.
        model: which models propose, and what they may cost; None: no model takes part.
        agent: which coding agent proposes, and within which limits.
        shape: what is to be another `RunShape` than the workload's, such as `{"ranks": 2}`.
        defines: macros by name, added to the workload's.
        include_dirs: further include folders.
        nvcc: whether the output must compile with nvcc, where it is found.
        seeds: input seeds of the last stage; None: the workload's.
        inputs: the seeds themselves, to repeat a transform; None: drawn for each evaluation.
        timings: network timings, each run with every seed.
        jobs: runs at once; None: one per core.
        unsafe: run programs of a model or an agent also where this machine has no sandbox.
        backend: who judges the outcome, the emulator in any case: `emulator` alone; `cuda`, this
            machine's GPUs as well; `auto`: they too where all that they need is here.
    """

    api_type: str = AUTO
    two_stage: bool = True
    max_iterations: int = 5
    stage_a_iterations: int = 5
    stage_b_iterations: int = 10
    host_to_device: bool = True
    plain: bool = True
    evolve_markers: bool = True
    warmup: bool = True
    diagnostic_rerun: bool = True
    proposer: str = AUTO
    model: ModelOptions | None = None
    agent: AgentOptions = field(default_factory=AgentOptions)
    shape: ShapeChange = field(default_factory=ShapeChange)
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    include_dirs: tuple[Path, ...] = ()
    nvcc: bool = True
    seeds: int | None = None
    inputs: tuple[int, ...] | None = None
    timings: tuple[Timing, ...] = ALL_TIMINGS
    jobs: int | None = None
    backend: str = AUTO
    unsafe: bool = False

    def __post_init__(self) -> None:
        if self.api_type not in API_TYPES:
            raise BadInputError(
                f"the API must be one of {', '.join(API_TYPES)}, got {self.api_type!r}"
            )
        for name in ("max_iterations", "stage_a_iterations", "stage_b_iterations"):
            if getattr(self, name) < 1:
                raise BadInputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.timings:
            raise BadInputError("timings must name at least one network timing, got none")
        if self.backend not in BACKENDS:
            raise BadInputError(
                f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}"
            )
        if self.proposer not in PROPOSERS:
            raise BadInputError(
                f"proposer must be one of {', '.join(PROPOSERS)}, got {self.proposer!r}"
            )
        if self.needs_model and self.model is None:
            who = "the proposer llm" if self.proposer == "llm" else "warploom's own agent"
            raise BadInputError(
                f"{who} needs a model, but none is named",
                hint="name one, such as --model anthropic:claude-sonnet-5-5, or set WARPLOOM_MODEL",
            )

    @property
    def needs_model(self) -> bool:
        """Whether nothing can be proposed without a model."""
        return self.proposer == "llm" or (self.proposer == "agent" and self.agent.agent == OWN)

    @property
    def keeps_run(self) -> bool:
        """Whether something may have to be paid for, so that the run's folder is kept."""
        return self.model is not None or self.proposer == "agent"

    def applied_to(self, workload: Workload) -> Workload:
        """Return the workload with what this configuration changes."""
        return workload.with_overrides(
            defines=self.defines,
            include_dirs=self.include_dirs,
            seeds=self.seeds,
            **self.shape,
        )


def choose_api(api_type: str, workload: Workload) -> tuple[Api, str]:
    """Return the API to use, and why.

    Raises:
        BadInputError: LSA is asked for, but the workload's ranks do not all share memory; or the
            workload does not allow what was asked for.
    """
    ranks, lsa_size = workload.shape.ranks, workload.shape.lsa_size
    together = lsa_size is None or lsa_size >= ranks
    if api_type != AUTO:
        api = Api(api_type)
        if api not in workload.api:
            allowed = ", ".join(workload.api)
            raise BadInputError(f"the workload allows only the API {allowed}, got {api}")
        if api is Api.LSA and not together:
            raise BadInputError(
                f"LSA needs all {ranks} ranks in one LSA team, but lsa_size is {lsa_size}",
                hint="use --api gin",
            )
        return api, "asked for"
    if Api.LSA in workload.api and lsa_size is not None and together:
        return Api.LSA, f"the workload says that all {ranks} ranks share memory"
    if Api.GIN in workload.api:
        why = f"only {lsa_size} of {ranks} ranks share memory"
        if together:
            why = "the workload does not say that all ranks share memory"
        return Api.GIN, why
    if together:
        return Api.LSA, "the workload allows no other API"
    raise BadInputError(
        f"the workload allows only LSA, which needs all {ranks} ranks in one LSA team, "
        f"but lsa_size is {lsa_size}"
    )
