"""Records of the third agent. All are frozen; `to_json` turns them into JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from warploom.core.records import Finding

TARGETS = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_120")
"""The architectures that a kernel can be made for."""


class Stage(StrEnum):
    """The five stages, in order."""

    INTERVIEW = "interview"
    CODEGEN = "codegen"
    CORRECTNESS = "correctness"
    PERFORMANCE = "performance"
    POLISH = "polish"


class OptimizationPriority(StrEnum):
    """What a search prefers: the least time of a call, or the least memory beside it."""

    LATENCY = "latency"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class TensorArg:
    """One tensor of a kernel: dense, row after row, aligned to its elements.

    `shape` is text over the symbols of the specification. `low` and `high` bound the values of its
    examples; `index_of` is the size that its integers count below, and `besides` what they may be
    beside that: a place to be left out, say.
    """

    name: str
    shape: tuple[str, ...]
    dtype: str
    low: float | None = None
    high: float | None = None
    index_of: str = ""
    besides: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PrecisionTolerance:
    """How far an output may be from the reference in double precision; the harness owns it.

    Per element: `rtol` x |expected|, `room` and half of the length of the longest `reduction`
    times what a rounding of each input (in the type `computed_in`) moves it, `room` times what
    those of all operations do, and three times what PyTorch itself is off by at its magnitude.
    `exact` is "bits" where numbers are moved only, "values" where they are chosen or change their
    sign, and else "": they are rounded.
    """

    dtype: str
    computed_in: str
    rtol: float
    room: float
    reduction: str = "1"
    exact: str = ""


@dataclass(frozen=True, slots=True)
class SymbolArg:
    """A size that a caller chooses: dimension `dim` of the input `input`; `example` is one.

    `multiple` is what the reference divides it by.
    """

    name: str
    input: int
    dim: int
    example: int
    multiple: int = 1


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """What a kernel must do, as the reference says.

    Its C entry point gets the inputs' and the outputs' pointers in this order, and the values of
    `symbols`. `operations` are those of its graph, `calls` what the reference calls itself;
    `reduced` are the sizes along which something is reduced, scanned or multiplied, `longest` is
    the length that is longest at the example's sizes.
    `ranks` is how many processes call it together; of several, each has a window of `window` bytes
    that the others reach. `conditions` are over the symbols: where one is broken, the reference
    does something else than the specification says, or fails.
    """

    name: str
    prompt: str
    target: str
    inputs: tuple[TensorArg, ...]
    outputs: tuple[TensorArg, ...]
    symbols: tuple[SymbolArg, ...]
    tolerances: tuple[PrecisionTolerance, ...]
    operations: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    reduced: tuple[str, ...] = ()
    longest: str = "1"
    constants: Mapping[str, float] = field(default_factory=dict[str, float])
    ranks: int = 1
    window: str = "0"
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelArtifact:
    """A kernel: its text, without includes, and who wrote it. `digest` names the text."""

    text: str
    origin: str
    digest: str
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    forms: tuple[str, ...] = ()


ON_GPU = "on-the-gpu"
"""The check of a candidate that ran on a GPU too."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that acceptance looked at: how often, and what it said."""

    name: str
    passed: bool
    times: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """Whether a compiler took the kernel; None: it was not asked, `note` says why."""

    tool: str
    ok: bool | None
    seconds: float = 0.0
    note: str = ""
    registers: int | None = None
    spills: int | None = None


@dataclass(frozen=True, slots=True)
class CorrectnessReport:
    """What acceptance found of one candidate. `skipped` are cases that were not tried, and why."""

    passed: bool
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    builds: tuple[BuildOutcome, ...]
    cases: int = 0
    skipped: tuple[str, ...] = ()
    seed: int = 0
    sandbox: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PerformanceReport:
    """How long a kernel takes. `time_source` says whether that is measured or modelled.

    `floor_ms` is what moving its inputs and outputs takes: measured, a copy of as many bytes;
    modelled, at the memory's bandwidth. `baseline_ms` is PyTorch's best mode where it is measured,
    else one kernel for each operation of the reference, modelled alike.
    """

    time_source: str
    machine: str
    sizes: Mapping[str, int]
    time_ms: float
    floor_ms: float
    baseline_ms: float
    bytes_moved: int
    kernels: int
    bottleneck: str
    tried: int = 1
    note: str = ""

    @property
    def share_of_floor(self) -> float:
        """How near the kernel comes to the least time, 0 to 1."""
        return self.floor_ms / self.time_ms if self.time_ms > 0 else 0.0


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What one stage did."""

    stage: Stage
    status: str
    seconds: float
    attempts: int = 1
    notes: tuple[str, ...] = ()
    dollars: float = 0.0
