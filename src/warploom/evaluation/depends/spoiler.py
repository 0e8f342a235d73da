"""Runs programs while what moves between ranks, their inputs or their memory are altered.

What is made of it: dependence.py, input_origin.py and iterations.py.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from warploom.backends.emulated import ELEMENTS, run_options
from warploom.core.records import RunSpec
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, Spoil
from warploom.evaluation.compare.differential import differing
from warploom.evaluation.compare.outputs import Key, Sample, label, output_of, select
from warploom.evaluation.compare.reference import Reference
from warploom.evaluation.runs.emulated import run_all
from warploom.evaluation.runs.plan import ProgressCallback, counter
from warploom.evaluation.survey import Survey
from warploom.workload.outputs import Output

_GROUP = 8  # bytes of the widest element
# An altered run ends about as soon as it does otherwise, or never: what it reads as a size or
# a flag may be anything. One that takes longer than this, and as often the usual, is given up.
SECONDS, _SLOWER = 10.0, 10.0
# Of each ncclDataType_t. Bytes are altered one by one, so that it does not matter where a message
# begins, and whether a program moves words or bytes.
_OF_TYPES = (
    *("bytes", "bytes", "words", "words", "words", "words"),
    *("f2", "f4", "f8", "b2", "bytes", "bytes"),
)

Points = Mapping[int, tuple[int, ...]]
Mask = npt.NDArray[np.bool_]
Masks = Mapping[Key, Mask]
Samples = Mapping[Key, Sample]


def any_marked(marks: Masks) -> bool:
    """Whether an element of any output is marked."""
    return any(mask.any() for mask in marks.values())


def wrong_by_rank(marks: Masks, wrong: Masks) -> Iterator[tuple[int, int, int]]:
    """Yield each rank, its marked elements, and how many are wrong of the outputs that have some.

    An output that `wrong` says nothing of is wrong as a whole.
    """
    for rank in sorted({key.rank for key in marks}):
        keys = [key for key in marks if key.rank == rank]
        changed = sum(int(marks[key].sum()) for key in keys)
        off = sum(int(np.sum(wrong[key])) if key in wrong else marks[key].size for key in keys)
        yield rank, changed, off


@dataclass(frozen=True, slots=True)
class Pair:
    """A program, how its copies are named, and which of its records take the time."""

    program: EmulatorBuild
    facts: Survey
    points: Points = field(default_factory=dict[int, tuple[int, ...]])


_NOTHING_ELSE = Spoil()


class Spoiler:
    """Runs the reference and a candidate with the same inputs and the same alterations."""

    def __init__(
        self,
        reference: Reference,
        candidate: Pair,
        jobs: int | None,
        on_progress: ProgressCallback,
        outcomes: Iterable[EmulatorRun],
        wider: Sequence[Output] = (),
    ) -> None:
        self.reference = reference
        self._wider = tuple(wider)
        outcomes = tuple(outcomes)
        own = next(iter(reference.stats.values()))
        self.trusted = Pair(reference.build, reference.facts, points_of(own))
        nothing: Mapping[str, float] = {}
        ended = next((one.stats for one in outcomes if one.state == "finished"), nothing)
        self.candidate = replace(candidate, points=points_of(ended))
        # Where each process takes the time as often as the others, they can meet there.
        all_take_it = all(
            len(pair.points) == stats.get("processes", 0)
            for pair, stats in ((self.trusted, own), (self.candidate, ended))
        )
        counts = {len(p) for pair in (self.trusted, self.candidate) for p in pair.points.values()}
        self.meet = all_take_it and len(counts) == 1
        ours = (float(stats.get("seconds", 0)) for stats in reference.stats.values())
        self.usual = max((*ours, *(outcome.seconds for outcome in outcomes)))
        self.jobs = jobs
        self.on_progress = on_progress
        self.key = secrets.randbits(62)

    def run(
        self,
        pair: Pair,
        specs: Sequence[RunSpec],
        what: Sequence[str],
        how: Spoil = _NOTHING_ELSE,
        least_seconds: float = SECONDS,
    ) -> list[EmulatorRun]:
        """Run a program once for each of `specs` and each alteration of `what`.

        A run may take `least_seconds`, and ten times what runs take that are not altered.
        """
        seconds = least_seconds + _SLOWER * self.usual
        meet = self.meet and bool(pair.points)
        spoils = [
            replace(how, what=f"{self.key}:{one}", points=pair.points, meet=meet) for one in what
        ]
        options = [self._options(pair, spec, one, seconds) for spec in specs for one in spoils]
        finished = counter("spoil", len(options), self.on_progress)
        return run_all(pair.program, options, jobs=self.jobs, on_done=finished)

    def run_reference(
        self, specs: Sequence[RunSpec], what: Sequence[str], how: Spoil = _NOTHING_ELSE
    ) -> list[EmulatorRun]:
        """Run the trusted program in the same way."""
        return self.run(self.trusted, specs, what, how)

    def _options(self, pair: Pair, spec: RunSpec, spoil: Spoil, seconds: float) -> RunOptions:
        options = run_options(self.reference.workload, spec, pair.facts.processes, race=False)
        limits = replace(options.limits, seconds=min(options.limits.seconds, seconds))
        return replace(options, limits=limits, spoil=spoil)

    def words_uploaded(self, seed: int) -> int:
        """Return how many words of four bytes the reference moves between host and devices."""
        return int(self.reference.stats[seed].get("staged_bytes", 0)) // 4

    def samples(self, run: EmulatorRun, facts: Survey) -> dict[Key, Sample]:
        """Return what a run read back of the outputs, without what nobody writes in these."""
        found = select(label(run.readbacks, facts.sites), self.reference.workload)
        task = self.reference.workload
        for seed, samples in self.reference.samples.items():
            if task.args_for(seed) != run.options.args:
                continue
            for key, sample in samples.items():
                mask = sample.unwritten
                if mask is not None and key in found and len(found[key].data) == mask.size:
                    found[key] = replace(found[key], unwritten=mask)
        return found

    def output_of(self, sample: Sample) -> Output:
        """Return how `sample` is compared, with the room that the reference's own needs."""
        return output_of(sample, (*self._wider, *self.reference.workload.outputs))

    def changed(self, base: Samples, run: EmulatorRun, facts: Survey) -> dict[Key, Mask]:
        """Return which elements of each output differ from `base`, of those that were read back."""
        got = self.samples(run, facts)
        return {
            key: differing(sample, got[key], self.output_of(sample))
            for key, sample in base.items()
            if key in got
        }

    def untouched(self, base: Samples, run: EmulatorRun, facts: Survey) -> dict[Key, Mask]:
        """Return which elements are the same as in `base`, to the last bit.

        Where an output is compared byte by byte, its elements may be wider, and alterations change
        some of their bytes only: there, groups of bytes are the same or not.
        """
        got = self.samples(run, facts)
        outputs = self.reference.workload.outputs
        masks = {
            key: ~differing(
                sample, got[key], replace(output_of(sample, outputs), rtol=0.0, atol=0.0)
            )
            for key, sample in base.items()
            if key in got
        }
        return {
            key: _in_groups(mask) if mask.size == len(base[key].data) else mask
            for key, mask in masks.items()
        }

    def layout(self) -> str:
        """Return the name of the elements that most outputs consist of."""
        outputs = self.reference.workload.outputs
        sizes: Counter[str] = Counter()
        for samples in self.reference.samples.values():
            for sample in samples.values():
                dtype = output_of(sample, outputs).dtype
                if dtype in ELEMENTS:
                    sizes[ELEMENTS[dtype]] += len(sample.data)
        return sizes.most_common(1)[0][0] if sizes else "f4"

    def layouts(self) -> tuple[str, ...]:
        """Return what to take elements for, best first.

        That is what most of the data is that the reference's calls deliver, then what most outputs
        consist of. Both programs are altered by the same.
        """
        sizes: Counter[str] = Counter()
        for stats in self.reference.stats.values():
            for number, name in enumerate(_OF_TYPES):
                sizes[name] += int(stats.get(f"host_bytes_of_type_{number}", 0))
        found = (*(name for name, size in sizes.most_common(1) if size), self.layout())
        return tuple(dict.fromkeys((*found, "bytes")))


def points_of(stats: Mapping[str, float]) -> dict[int, tuple[int, ...]]:
    """Return the records of each process that it takes a time from, by their numbers."""
    found: dict[int, list[int]] = {}
    for name, value in stats.items():
        if name.startswith("point_"):
            found.setdefault(int(name.rpartition("_")[2]), []).append(int(value))
    return {rank: tuple(sorted(numbers)) for rank, numbers in found.items()}


def _in_groups(mask: Mask) -> Mask:
    """Return the mask of which groups of `_GROUP` elements are marked as a whole."""
    padded = np.pad(mask, (0, -mask.size % _GROUP), constant_values=True)
    return np.repeat(padded.reshape(-1, _GROUP).all(axis=1), _GROUP)[: mask.size]
