"""What a synthesis may be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMSettings
from warploom.llm.transport import Transport
from warploom.synthesis.records import OptimizationPriority

BACKENDS = ("emulator", "cuda")
"""Where kernels are judged and timed: `cuda` is a GPU as well as the emulator."""
STAGES = ("codegen", "correctness", "performance")
"""The stages that ask models."""
PROPOSERS = ("rules", "llm", "given")
"""Who writes kernels; `given` is a file of the user's."""
MOST_RANKS = 8
"""The most processes that a kernel is made for: the GPUs of one machine."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How many further candidates each stage may ask for."""

    codegen: int = 3
    correctness: int = 5
    performance: int = 3

    def __post_init__(self) -> None:
        for name in ("codegen", "correctness", "performance"):
            if not 0 <= getattr(self, name) <= 100:
                raise BadInputError(f"retries of {name} must be 0 to 100")


@dataclass(frozen=True, slots=True)
class SynthesisConfig:
    """How to synthesize.

    `proposer` writes the kernels; `backend` cuda judges and times them on a GPU too; `tune` is how
    many settings of the parameters are tried; `nvcc` says whether the real compiler judges too, for
    `architectures`. `seed` repeats a run: None draws a secret one. `seconds` bounds each run of a
    candidate. `models` are asked by the proposer llm,
    a stronger one later; `unsafe` runs their kernels where there is no sandbox. `resume`
    goes on with the run that the folder holds. `stage_models` are asked in a stage instead.
    `ranks` call the kernel together, each on a GPU of its own. `kernel` is the file that the
    proposer `given` brings.
    """

    proposer: str = "rules"
    backend: str = "emulator"
    tune: int = 4
    nvcc: bool = True
    architectures: tuple[str, ...] = ()
    seed: int | None = None
    seconds: float = 120.0
    jobs: int | None = None
    priority: OptimizationPriority = OptimizationPriority.LATENCY
    retries: Retries = field(default_factory=Retries)
    models: tuple[str | Transport, ...] = ()
    budget: Budget = field(default_factory=Budget)
    settings: LLMSettings = field(default_factory=LLMSettings)
    unsafe: bool = False
    resume: bool = False
    ranks: int = 1
    stage_models: Mapping[str, tuple[str | Transport, ...]] = field(
        default_factory=dict[str, tuple[str | Transport, ...]]
    )
    kernel: Path | None = None

    def __post_init__(self) -> None:
        if (self.kernel is None) == (self.proposer == "given"):
            raise BadInputError("a kernel is given by --kernel FILE, without --proposer")
        if self.proposer == "llm" and not self.models:
            raise BadInputError("--proposer llm needs a model", hint="--model anthropic:NAME")
        wrong = [name for name in self.stage_models if name not in STAGES]
        if wrong:
            raise BadInputError(f"models are asked in {', '.join(STAGES)}, not in {wrong[0]!r}")
        if self.proposer not in PROPOSERS:
            raise BadInputError(
                f"a proposer must be {' or '.join(PROPOSERS)}, got {self.proposer!r}"
            )
        if self.backend not in BACKENDS:
            raise BadInputError(f"a backend must be {' or '.join(BACKENDS)}, got {self.backend!r}")
        if not 1 <= self.ranks <= MOST_RANKS:
            raise BadInputError(f"ranks must be 1 to {MOST_RANKS}, got {self.ranks}")
        if not 1 <= self.tune <= 64:
            raise BadInputError(f"tune must be 1 to 64 settings (--tune), got {self.tune}")
        if self.seconds <= 0:
            raise BadInputError(f"seconds must be more than 0, got {self.seconds}")
