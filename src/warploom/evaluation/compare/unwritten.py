"""Which bytes of the trusted program's read-backs nobody has written.

Padding of structs, and the rest of a buffer that is longer than its contents, hold what fresh
memory holds: to compare it would hold a candidate to what is no result. The trusted program runs
once more with another word in fresh memory, and bytes that follow the word were written by nobody.
The candidate has no say in it: what the trusted program writes is compared, whoever leaves it out.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warploom.core.records import Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, Readback
from warploom.evaluation.compare.outputs import Sample
from warploom.evaluation.runs.emulated import run_all
from warploom.evaluation.runs.plan import ProgressCallback, counter

OTHER_FRESH = 0x7FFB7FFB
"""Not a number in every floating-point type, with no byte of the default word (`RunOptions`)."""

_CHANCE = 32  # more than twice as many as three values of 256
_MANY = 8192  # bytes, among which two in a row come about by chance
Mask = npt.NDArray[np.bool_]


def with_unwritten(
    program: EmulatorBuild,
    outcomes: Sequence[EmulatorRun],
    samples: Sequence[tuple[Sample, ...]],
    *,
    jobs: int | None,
    on_progress: ProgressCallback,
) -> list[tuple[Sample, ...]]:
    """Return the samples of `outcomes`, each with the bytes that nobody wrote.

    Only runs whose read-backs hold bytes of the fresh word are made again.
    """
    asked = [at for at, outcome in enumerate(outcomes) if _may_hold_fresh(outcome)]
    options = [replace(outcomes[at].options, fresh=OTHER_FRESH) for at in asked]
    finished = counter("reference", len(options), on_progress)
    found = list(samples)
    if not options:
        return found
    for at, other in zip(
        asked, run_all(program, options, jobs=jobs, on_done=finished), strict=True
    ):
        found[at] = _marked(outcomes[at], other, samples[at])
    return found


def _may_hold_fresh(outcome: EmulatorRun) -> bool:
    word = outcome.options.fresh_word
    return any(_looks_fresh(readback.data, word) for readback in outcome.readbacks)


def _looks_fresh(data: bytes | memoryview, word: int) -> bool:
    """Whether `data` holds bytes of fresh memory: more than chance lets them come about.

    Padding in each of many structs shows in their number, a lone gap by its bytes in a row.
    """
    first, high, second, other_high = word.to_bytes(4, "little")
    values = np.frombuffer(data, np.uint8)
    is_low = (values == first) | (values == second)
    is_high = (values == high) | (values == other_high)
    if np.count_nonzero(is_low | is_high) > max(1, values.size // _CHANCE):
        return True
    pairs = (is_low[:-1] & is_high[1:]) | (is_high[:-1] & is_low[1:])
    if values.size >= _MANY:
        pairs = pairs[:-1] & pairs[1:]
    return bool(pairs.any())


def _marked(
    one: EmulatorRun, other: EmulatorRun, samples: tuple[Sample, ...]
) -> tuple[Sample, ...]:
    if other.verdict is not Verdict.OK or not _alike(one.readbacks, other.readbacks):
        return samples  # it depends on such memory: no byte of it can be left out
    words = one.options.fresh_word, other.options.fresh_word
    pairs = zip(one.readbacks, other.readbacks, strict=True)
    masks = [unwritten_bytes(a.data, b.data, *words) for a, b in pairs]
    return tuple(
        replace(sample, unwritten=mask if mask.any() else None)
        for sample, mask in zip(samples, masks, strict=True)
    )


def _alike(one: Sequence[Readback], other: Sequence[Readback]) -> bool:
    def shape(readbacks: Sequence[Readback]) -> list[tuple[int, int, int]]:
        return [(item.rank, item.seq, len(item.data)) for item in readbacks]

    return shape(one) == shape(other)


def unwritten_bytes(
    one: bytes | memoryview, other: bytes | memoryview, word: int, other_word: int
) -> Mask:
    """Return which bytes follow what fresh memory held, wherever it was moved to."""
    a, b = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
    pairs = set(zip(word.to_bytes(4, "little"), other_word.to_bytes(4, "little"), strict=True))
    found = np.zeros(a.shape, np.bool_)
    for before, after in pairs:
        found |= (a == before) & (b == after)
    return found
