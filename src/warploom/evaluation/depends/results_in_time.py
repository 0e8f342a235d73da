"""Whether a candidate's results are there at each moment at which the reference's are.

What a program reads back at its end says nothing of when it was computed: one that does its work
in the last iteration alone, or after what it times, reads back the same. So at points and stops
(behavior/iterations.h) memory is kept as it is, and told beside what is read back from there later.
Elements that the reference has stored by then, and that it reads back as they are then, must have
been stored by the candidate as well, and be what it reads back. Nothing is asked of what the
reference computes later: accumulators, and buffers that take turns. What is moved before it is read
back has no such past: see moved_results.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warploom.emulator import EmulatorRun, Stops, Version
from warploom.evaluation.compare.differential import decode, differing
from warploom.evaluation.compare.outputs import Key, Sample, label
from warploom.evaluation.depends.spoiler import Mask, Pair, Spoiler
from warploom.workload.outputs import Output

SLACK = 0.01
"""Of the elements: results may vary more than their tolerance now and then."""
_BY_CHANCE = 0.1
"""Of the elements: so many of another buffer, whose place this one took, may hold the same."""
_FIRST_TIMED = 4  # moments: what is there at the first point was not timed


def late_results(
    spoiler: Spoiler, expected: EmulatorRun, run: EmulatorRun, stops: Stops | None
) -> str:
    """Say which results are not there when the reference's are; "" if all are.

    Both runs are of one kind, and told what was there earlier. `stops` are the reference's.
    """
    for theirs, mine in _pairs(spoiler, expected, run):
        for moment, asked in _asked(theirs, stops):
            status = run.stats.get(f"version_{moment}")
            wanted = int(asked.sum())
            if status is None or wanted <= _BY_CHANCE * asked.size:
                continue  # it takes the time less often, as who polls does
            name = theirs.sample.key.buffer or "an output without a name"
            where = f"rank {theirs.sample.key.rank}'s {name} at {_named(moment)}"
            if not status:
                return f"something is on its way at {_named(moment)}, so that {where} is not known"
            # The reference's stores were not watched before it communicated: a candidate's may be
            # from its set-up on.
            stores = not expected.stats.get(f"unwatched_{moment}")
            late = int((asked & ~mine.stands(moment, stores=stores)).sum())
            if late > SLACK * wanted:
                return (
                    f"{late} of {wanted} elements of {where} are not there yet, and the "
                    "reference's are: each repetition must leave its results"
                )
    return ""


def asks(spoiler: Spoiler, expected: EmulatorRun, stops: Stops | None) -> bool:
    """Whether the reference's run has results of which `late_results` asks whether they are there.

    `stops` are the reference's own.
    """
    held = _held(spoiler, expected, spoiler.trusted)
    return any(asked.any() for theirs in held.values() for _, asked in _asked(theirs, stops))


def unseen(spoiler: Spoiler, expected: EmulatorRun, stops: Stops | None) -> frozenset[Key]:
    """Return which of the reference's results nothing says when they were computed.

    They came by MPI, or nobody stored them where they are read back while that was watched: a copy
    or a kernel moves them behind the part that is timed.
    """
    held = _held(spoiler, expected, spoiler.trusted)
    return frozenset(one.sample.key for one in held.values() if not one.stored_while_watched(stops))


def asked_at(
    spoiler: Spoiler, expected: EmulatorRun, run: EmulatorRun, stops: Stops | None
) -> Iterator[tuple[Key, int, Mask]]:
    """Yield which elements of each read-back both programs have computed by each moment."""
    for theirs, mine in _pairs(spoiler, expected, run):
        for moment, asked in _asked(theirs, stops):
            both = asked & mine.stands(moment, stores=False)
            if both.any():
                yield theirs.sample.key, moment, both


def earlier(spoiler: Spoiler, run: EmulatorRun, pair: Pair) -> dict[tuple[Key, int], Sample]:
    """Return what lay at each moment where a run reads back later."""
    samples = spoiler.samples(run, pair.facts)
    found: dict[tuple[Key, int], Sample] = {}
    labels = label(run.readbacks, pair.facts.sites)
    for labeled, readback in zip(labels, run.readbacks, strict=True):
        sample = samples.get(labeled.key)
        if sample is None:
            continue
        for version in readback.versions:
            then = sample if version.data is None else replace(sample, data=version.data)
            for moment in version.moments:
                found[sample.key, moment] = then
    return found


@dataclass(frozen=True, slots=True)
class _Held:
    """A read-back, and what was there earlier, by moment."""

    sample: Sample
    output: Output
    there: Mapping[int, Mask]
    stored: Mapping[int, Mask]

    def cut(self, size: int) -> "_Held":
        """Return it without what a host took beyond `size` bytes."""
        if len(self.sample.data) == size:
            return self
        elements = len(decode(self.sample.data[:size], self.output.dtype))
        return replace(
            self,
            sample=replace(self.sample, data=self.sample.data[:size]),
            there={moment: mask[:elements] for moment, mask in self.there.items()},
            stored={moment: mask[:elements] for moment, mask in self.stored.items()},
        )

    def stands(self, moment: int, *, stores: bool = True) -> Mask:
        """Return what was there then; with `stores`, stored anew where it is worth anything."""
        there = self.there.get(moment)
        if there is None:  # the memory was not there
            return np.zeros(len(decode(self.sample.data, self.output.dtype)), np.bool_)
        stored = self.stored[moment]
        return there if stored.all() or not stores else there & (stored | self._plain())

    def stored_while_watched(self, stops: Stops | None) -> bool:
        """Whether nearly all of it was stored at some time from the first moment on."""
        moments = sorted(self.stored)
        if stops is not None:
            moments = [m for m in moments if m % 2 or m == 2 * (stops.point + 1)]
            moments.sort(key=lambda m: m % 2 == 0)
        masks = [self.stored[moment] for moment in moments[1:]]  # the first knows none
        return bool(masks) and np.logical_or.reduce(masks).mean() >= 1 - SLACK

    def _plain(self) -> Mask:
        """Return which elements are 0, or as most are: padding that a program writes once."""
        values = decode(self.sample.data, self.output.dtype)
        known, counts = np.unique(values, return_counts=True)
        return (values == 0) | (values == known[counts.argmax()])


def _pairs(
    spoiler: Spoiler, expected: EmulatorRun, run: EmulatorRun
) -> Iterator[tuple[_Held, _Held]]:
    """Yield what both read back of the same size, with what was there earlier."""
    own = _held(spoiler, run, spoiler.candidate)
    for key, theirs in _held(spoiler, expected, spoiler.trusted).items():
        size = len(theirs.sample.data)
        if key in own and len(own[key].sample.data) >= size:
            yield theirs, own[key].cut(size)


def _held(spoiler: Spoiler, run: EmulatorRun, pair: Pair) -> dict[object, _Held]:
    samples = spoiler.samples(run, pair.facts)
    labels = label(run.readbacks, pair.facts.sites)
    found: dict[object, _Held] = {}
    for labeled, readback in zip(labels, run.readbacks, strict=True):
        sample = samples.get(labeled.key)
        if sample is not None:
            found[sample.key] = _with_versions(sample, spoiler.output_of(sample), readback.versions)
    return found


def _with_versions(sample: Sample, output: Output, versions: Sequence[Version]) -> _Held:
    elements = len(decode(sample.data, output.dtype))
    there: dict[int, Mask] = {}
    stored: dict[int, Mask] = {}
    for version in versions:
        same: Mask = np.ones(elements, np.bool_)
        anew: Mask = same
        if version.data is not None and version.stored is not None:
            same = ~differing(sample, replace(sample, data=version.data), output)
            bits = np.unpackbits(np.frombuffer(version.stored, np.uint8), bitorder="little")
            anew = np.logical_and.reduce(bits[: len(sample.data)].reshape(elements, -1), axis=1)
        there.update(dict.fromkeys(version.moments, same))
        stored.update(dict.fromkeys(version.moments, anew))
    return _Held(sample, output, there, stored)


def _asked(held: _Held, stops: Stops | None) -> Iterator[tuple[int, Mask]]:
    """Yield moments, and which elements must be there then.

    At stops that is what is computed in each repetition, and what a single one leaves for good.
    """
    if stops is None:
        points = (m for m in sorted(held.there) if m % 2 == 0 and m >= _FIRST_TIMED)
        yield from ((moment, held.there[moment] & held.stored[moment]) for moment in points)
        return
    moments = [moment for moment in sorted(held.there) if moment % 2]
    if not moments:
        return
    end = 2 * (stops.point + 1)
    whole = [*moments, *([end] if end in held.there else [])]
    always = np.logical_and.reduce([held.there[m] & held.stored[m] for m in whole])
    once = np.sum([held.stored[m] for m in moments[1:]], axis=0) == 1  # the first knows none
    from_now_on = np.ones_like(always)
    left: list[tuple[int, Mask]] = []
    for moment in reversed(moments):
        from_now_on = from_now_on & held.there[moment]
        single = once & held.stored[moment] & from_now_on
        left.append((moment, always if moment == moments[0] else always | single))
    yield from reversed(left)
    if end in held.there:
        yield end, always


def _named(moment: int) -> str:
    return f"{'stop' if moment % 2 else 'point'} {moment // 2}"
