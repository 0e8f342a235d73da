"""Names what a program read back: which copy in the source made each run-time read-back.

The emulator reports a read-back as rank, bytes and source line. The analyzer knows which device
expression the copy on that line reads. Together they give a key, (rank, buffer, occurrence), that
a reference and a candidate share although their line numbers differ.

A program may also let its devices store into memory that the host reads in place: pinned and
managed memory, managed variables. What it takes from there by plain accesses is a result of that
allocation or variable, in whatever order it reads. Only the trusted program says which bytes these
are: a candidate may use further memory of that kind for its own work.

What an MPI call brings from memory of devices into the host's own is a read-back as well: of the
expression that the call receives into, or of the call's name where nobody knows that.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warploom.backends.protocol import Places, Readback
from warploom.emulator import Arrived
from warploom.evaluation.sites import Site
from warploom.workload.dtypes import dtype_of
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Key:
    """Which result: the `occurrence`-th (from 0) read-back of `buffer` on `rank`.

    Of memory that both sides see, `part` says which allocation of that name it is (from 0), and
    which chunk of it; `occurrence` is the how-manieth value of each byte.
    """

    rank: int
    buffer: str
    occurrence: int
    part: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The bytes of one read-back, and the line of the copy that made it.

    Those of the trusted program say which bytes nobody wrote (`unwritten.py`); None: all are
    somebody's. `readers` are the places that read it, each with those of its callers. `mpi`: it
    came by MPI, which only the emulator sees.
    """

    key: Key
    dtype: str
    data: bytes | memoryview
    file: str | None
    line: int | None
    unwritten: npt.NDArray[np.bool_] | None = field(default=None, compare=False)
    readers: tuple[Places, ...] = field(default=(), compare=False)
    mpi: bool = False


def label(readbacks: Iterable[Readback], sites: Sequence[Site]) -> tuple[Sample, ...]:
    """Give each read-back its key, in order. One from no known copy has an empty buffer name."""
    seen: Counter[tuple[int, str]] = Counter()
    parts: dict[tuple[int, str], list[tuple[int, int]]] = {}
    samples: list[Sample] = []
    for readback in readbacks:
        site = _site_of(readback, sites)
        buffer = site.buffer if site else ""
        dtype = dtype_of(site.dtype).name if site else "bytes"
        taken, arrived = readback.taken, readback.arrived
        if arrived is not None:
            buffer = _arrival(buffer, arrived)
            dtype = dtype_of(arrived.elements).name if dtype == "bytes" else dtype
        if taken is not None:
            buffer = buffer or taken.name
            known = parts.setdefault((readback.rank, buffer), [])
            if taken.allocation not in known:
                known.append(taken.allocation)
            which = known.index(taken.allocation)
            key = Key(readback.rank, buffer, taken.reading, (which, taken.chunk))
        else:
            place = (readback.rank, buffer)
            key = Key(readback.rank, buffer, seen[place])
            seen[place] += 1
        samples.append(
            Sample(
                key,
                dtype,
                readback.data,
                readback.file,
                readback.line,
                readers=readback.readers,
                mpi=arrived is not None,
            )
        )
    return tuple(samples)


def select(samples: Sequence[Sample], workload: Workload) -> dict[Key, Sample]:
    """Return the samples to compare by key: of the declared outputs, or all where none is.

    What the workload leaves out is not among them.
    """
    wanted = {output.buffer for output in workload.outputs}
    return {
        s.key: s
        for s in samples
        if (not wanted or s.key.buffer in wanted) and s.key.buffer not in workload.leave_out
    }


def output_of(sample: Sample, outputs: Sequence[Output]) -> Output:
    """Return how `sample` is compared: as the workload declares, or by its type's default."""
    for output in outputs:
        if output.buffer == sample.key.buffer:
            return output
    return Output.with_defaults(sample.key.buffer, sample.dtype)


def fitting(expected: Sample, got: Sample) -> bytes | memoryview:
    """Return what was got without what a host took beyond what the trusted program's host takes."""
    shared = expected.key.part is not None
    return got.data[: len(expected.data)] if shared else got.data


def filled(expected: Sample, data: bytes | memoryview) -> bytes | memoryview:
    """Return `data` with the reference's bytes where nobody wrote these; sizes must be equal."""
    if expected.unwritten is None:
        return data
    want, have = np.frombuffer(expected.data, np.uint8), np.frombuffer(data, np.uint8)
    return np.where(expected.unwritten, want, have).tobytes()


def _arrival(buffer: str, arrived: Arrived) -> str:
    """Return the name of what MPI brought: messages of any rank come in any order."""
    name = buffer or arrived.call
    return name if arrived.source is None else f"{name} from rank {arrived.source}"


def _site_of(readback: Readback, sites: Sequence[Site]) -> Site | None:
    taken = readback.taken
    if taken is not None and taken.name:
        return next((s for s in sites if s.shared and s.buffer == taken.name), None)
    if taken is not None:
        # Who allocates by a function of the program's own is named by the call of that.
        found = (_site_at(file, line, sites, shared=True) for file, line in reversed(taken.places))
        return next((site for site in found if site), None)
    if readback.file is None or readback.line is None:
        return None
    of_kind = [site for site in sites if site.mpi == (readback.arrived is not None)]
    return _site_at(readback.file, readback.line, of_kind, shared=False)


def _site_at(file: str, line: int, sites: Sequence[Site], *, shared: bool) -> Site | None:
    name = Path(file).name
    here = [
        site
        for site in sites
        if site.shared == shared
        and site.first <= line <= site.last
        and Path(site.file).name == name
    ]
    # A copy inside a helper's body may lie within the lines of a longer statement.
    return min(here, key=lambda site: site.last - site.first, default=None)
