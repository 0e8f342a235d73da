"""The record of what the cascade said of a candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.backends import EMULATOR
from warploom.core.records import Json, to_json
from warploom.evaluation.compare.difference import Difference, Worst
from warploom.evaluation.merged_findings import MergedFinding
from warploom.evaluation.modelled_time import Benchmark
from warploom.evaluation.runs.record import RunRecord
from warploom.workload.outputs import Output

LEVELS = ("legality", "build", "verify", "benchmark", "score")
VERIFY = 2
"""The level up to which a candidate must pass to be verified."""
BENCHMARK, SCORE = 3, 4
"""The levels that model the time, and turn it into a score."""


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """One build: `tool` is "emulator" or "nvcc"; `ok` None means not run, and `note` says why."""

    tool: str
    ok: bool | None
    seconds: float = 0.0
    cached: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """How one output fared over all ranks and runs.

    `compared` read-backs of in all `elements` elements were compared, `failed` of them missed;
    `worst` is the worst element and `worst_rank` its rank. `weak` says why the reference's values
    cannot tell right from wrong ("" where they can).
    """

    buffer: str
    dtype: str
    rtol: float
    atol: float | None
    compared: int
    elements: int
    failed: int
    max_error: float
    worst: Worst | None
    worst_rank: int | None
    weak: str = ""

    @property
    def passed(self) -> bool:
        """Whether every read-back of this output matched."""
        return self.failed == 0 and self.compared > 0


@dataclass(frozen=True, slots=True)
class TakenTime:
    """What programs time themselves (CUDA events, MPI_Wtime), in milliseconds.

    `time_ms` and `baseline_ms` are medians over all runs of the candidate and of the trusted
    program, the slowest rank of each interval; `speedup` is the median over pairs of neighboring
    runs.
    """

    time_ms: float
    baseline_ms: float
    speedup: float

    @property
    def metrics(self) -> Mapping[str, float]:
        """All three, by name."""
        return {
            "time_ms": self.time_ms, "baseline_ms": self.baseline_ms, "speedup": self.speedup,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the cascade said of a candidate.

    `level_reached` is the last level that was run (0 legality, 1 build, 2 verify, 3 benchmark,
    4 score); `passed` says
    that it and all before it passed. `printed_verdict` and the runs' exit codes are the program's
    own words: a printed PASS means nothing, a non-zero exit code fails. `frame` is "kept" where
    the candidate contributed its regions only, "free" where its whole text was taken.
    `seeds` were drawn for this evaluation: `--seeds-from` repeats it.
    `dependence` says in which form spoil runs showed that the outputs depend on communication as
    the reference's do: "values", "elements", or "" (`evaluation/depends/dependence.py`).
    `left_out` are outputs that the workload or the user left out: nobody compared them.
    `time_source` is "modelled" where `benchmark` holds the emulator's modelled time. A backend that
    steers nothing gives `taken`: "measured" times where the frame is kept, "self-timed" ones where
    the candidate's whole text was taken and could time less than it does, and "own-network" where
    what it sent went over a network of ours, which says nothing of a card. "none": no time.
    `devices` are those of such a backend; `shared`: several ranks had one; `own_network`: what was
    sent went over a network of ours.
    """

    level_reached: int
    passed: bool
    findings: tuple[MergedFinding, ...]
    comparisons: tuple[OutputComparison, ...]
    printed_verdict: str
    runs: tuple[RunRecord, ...]
    builds: tuple[BuildRecord, ...]
    seconds: float
    time_source: str
    frame: str
    nccl: str
    ranks: int
    lsa_size: int | None
    planned: int
    seeds: tuple[int, ...]
    dependence: str
    sandbox: str
    program: Path
    reference: Path
    benchmark: Benchmark | None = None
    node_size: int | None = None
    left_out: tuple[str, ...] = ()
    backend: str = EMULATOR
    devices: tuple[str, ...] = ()
    shared: bool = False
    own_network: bool = False
    taken: TakenTime | None = None

    @property
    def metrics(self) -> Mapping[str, float]:
        """Time in milliseconds, its parts, and from level 4 on the score; empty without a time."""
        if self.taken is not None:
            return self.taken.metrics
        found = dict(self.benchmark.metrics) if self.benchmark else {}
        if self.level_reached < SCORE:
            found.pop("score", None)
        return found

    @property
    def proves_little(self) -> str:
        """Why outputs that match say little of the candidate; "" where they say enough."""
        kinds = {item.finding.kind for item in self.findings}
        if "seed_ignored" in kinds:
            return (
                "the inputs are the same for every seed, so that a candidate can hold the answers"
            )
        if self.comparisons and all(item.weak for item in self.comparisons):
            return "no output tells a right program from a wrong one"
        return ""

    @property
    def score(self) -> float | None:
        """10000 / (1 + milliseconds), None below level 4."""
        return self.metrics.get("score")

    @property
    def exit_code(self) -> int:
        """0 passed; 1 not good."""
        return 0 if self.passed else 1

    @property
    def verified(self) -> bool:
        """Whether the candidate passed all levels up to verification."""
        return self.passed and self.level_reached >= VERIFY

    def to_json(self) -> dict[str, Json]:
        """Return the evaluation as plain JSON values; `findings` are flat objects."""
        special = ("findings", "comparisons", "benchmark")
        names = [name for name in self.__slots__ if name not in special]
        data = to_json({name: getattr(self, name) for name in names})
        assert isinstance(data, dict)
        comparisons: list[Json] = []
        for item in self.comparisons:
            fields = to_json(item)
            assert isinstance(fields, dict)
            comparisons.append({**fields, "passed": item.passed})
        findings: list[Json] = [item.to_json() for item in self.findings]
        timed = self.benchmark.to_json() if self.benchmark else None
        return {
            **data,
            "findings": findings,
            "comparisons": comparisons,
            "proves_little": self.proves_little,
            "metrics": to_json(self.metrics),
            "benchmark": timed,
        }


def summarize(
    differences: Sequence[Difference], outputs: dict[str, Output], weak: dict[str, str]
) -> tuple[OutputComparison, ...]:
    """Return one comparison per buffer, in order of first appearance."""
    by_buffer: dict[str, list[Difference]] = {}
    for item in differences:
        by_buffer.setdefault(item.key.buffer, []).append(item)
    return tuple(
        _summary(buffer, items, outputs[buffer], weak.get(buffer, ""))
        for buffer, items in by_buffer.items()
    )


def _summary(buffer: str, items: list[Difference], output: Output, weak: str) -> OutputComparison:
    missed = [item for item in items if item.worst is not None]
    worst = max(missed, key=_excess, default=None)
    return OutputComparison(
        buffer=buffer,
        dtype=output.dtype,
        rtol=output.rtol,
        atol=output.atol,
        compared=len(items),
        elements=sum(item.elements for item in items),
        failed=sum(1 for item in items if item.problem),
        max_error=max(item.max_error for item in items),
        worst=worst.worst if worst else None,
        worst_rank=worst.key.rank if worst else None,
        weak=weak,
    )


def _excess(item: Difference) -> float:
    worst = item.worst
    if worst is None:
        return 0.0
    return worst.error / worst.tolerance if worst.tolerance > 0 else worst.error
