"""Who reads the results back: the frame, which is trusted, or a region, which is not.

A region that reads the right results itself may leave something else for the frame to read: what
is compared would not be what the program goes on with. So each result of a framed candidate must be
read where the trusted program reads it. The frames of both have the same text, on other lines.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from warploom.evaluation.compare.difference import Difference
from warploom.evaluation.compare.outputs import Key, Places, Sample
from warploom.evaluation.compare.reference import Reference, reference_for
from warploom.evaluation.reading import read_program
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.source.regions import Program
from warploom.workload.workload import Workload

Samples = Mapping[Key, Sample]
Reader = tuple[tuple[str, int], ...]
"""Places by what they are in both programs: the piece of the frame and the line there, or a region.

Lines of one region that call each other are one place.
"""


@dataclass(frozen=True, slots=True)
class Frames:
    """A candidate that keeps a frame, and by whom the frame's own program reads each buffer."""

    candidate: Program
    known: Mapping[str, Set[Reader]]

    def strays(self, expected: Samples, got: Samples) -> tuple[Difference, ...]:
        """Return the results of `expected` that the candidate reads at places of its own."""
        return tuple(
            Difference(key, sample.dtype, "elsewhere", 0, file=file, line=line)
            for key, sample in got.items()
            if key in expected
            for file, line in self._stray(sample)
        )

    def _stray(self, sample: Sample) -> list[tuple[str | None, int | None]]:
        """Return the first place that reads `sample` and is none of the frame's, if any does."""
        known = self.known.get(sample.key.buffer, frozenset())
        for places in sample.readers:
            if _reader(places, self.candidate) not in known:
                return [places[0] if places else (sample.file, sample.line)]
        return []


def frames_of(
    frame: Program,
    candidate: Path,
    reference: Reference,
    task: Workload,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> Frames:
    """Return by whom a candidate with this frame must be read.

    The trusted program of `reference` says it, or the frame's own program, `task`'s, where that is
    another one: then it runs once.

    Raises:
        BadInputError: the frame's own program fails.
    """
    if read_program(reference.workload.program).text != frame.text:
        seeds = list(reference.samples)[:1]
        nccl = reference.facts.nccl
        reference = reference_for(task, seeds, nccl=nccl, jobs=jobs, on_progress=on_progress)
    own = Program(frame.text, reference.workload.program)
    known: dict[str, set[Reader]] = {}
    for samples in reference.samples.values():
        for key, sample in samples.items():
            known.setdefault(key.buffer, set()).update(_readers(sample, own))
    return Frames(read_program(candidate), known)


def _readers(sample: Sample, program: Program) -> set[Reader]:
    return {_reader(places, program) for places in sample.readers}


def _reader(places: Places, program: Program) -> Reader:
    return tuple(_collapsed(_place(file, line, program) for file, line in places))


def _collapsed(places: Iterable[tuple[str, int]]) -> Iterable[tuple[str, int]]:
    before: tuple[str, int] | None = None
    for place in places:
        if place != before or not place[0].startswith("region "):
            yield place
        before = place


def _place(file: str, line: int, program: Program) -> tuple[str, int]:
    if Path(file).name != program.path.name:
        return Path(file).name, line
    start = 0
    for number, region in enumerate(program.regions):
        if line <= region.first_line:
            return f"frame {number}", line - start
        if line < region.last_line:
            return f"region {number}", 0
        start = region.last_line
    return f"frame {len(program.regions)}", line - start
