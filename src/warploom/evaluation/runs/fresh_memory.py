"""Whether reads of memory that nobody has written matter.

The runtime fills fresh memory with one word and says where a program reads it. A run is a function
of its options, so the same run with another word there shows whether what the program returns
depends on it: then the read is an error. Otherwise it was read in passing: padding that is copied
along, or a value that is thrown away.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from warploom.core.records import Finding, Severity, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, FreshRead, Readback, RunOptions, run
from warploom.evaluation.runs.emulated import ended

if TYPE_CHECKING:  # it takes long to import, and most checks have nothing to compare
    import numpy as np
    import numpy.typing as npt

OTHER_WORDS = (0x7B7B7B7B, 0, 1, 0xFBFBFBFB)
"""Words to fill fresh memory with instead.

A large number in every floating-point type, which a maximum shows as well; what fresh memory often
holds on a GPU, so that a program which relies on it works; a flag that is set; and a large negative
number, which a minimum shows.
"""

_EXPONENTS = 61, 193  # of float32, biased by 127: 2^-66 to 2^66


def drawn_words(seed: int) -> tuple[int, ...]:
    """Return further words, drawn by a run's seed, which an evaluation keeps secret.

    A negative and a positive number of any size, a small integer, and any bits but a NaN's: what
    goes by a range of values gets one within it at times, as on a GPU.
    """
    draw = Random(seed)  # noqa: S311 (the seed itself is secret)

    def number(sign: int) -> int:
        return sign << 31 | draw.randint(*_EXPONENTS) << 23 | draw.getrandbits(23)

    words = (number(1), number(0), draw.randint(2, 1 << 16), draw.getrandbits(32))
    return tuple(word & 0xBFFFFFFF if word >> 23 & 0xFF == 0xFF else word for word in words)


_RACES = frozenset(
    (
        "data_race", "shared_memory_race", "missing_wait", "destination_overwrite",
        "readback_before_sync", "scope_too_narrow", "source_reuse", "overlapping_puts",
    )
)  # fmt: skip
_MOST_REPEATED = 3  # outcomes of one program that are repeated with other words
_MOST_PLACES = 8  # places that are told apart: each takes a run
_UNSTEADY = (
    "; whether it matters cannot be told, as the program returns something else each time it runs "
    "with the same options"
)
_UNSHOWN = "; nothing comes back to the host that could show whether it matters"
_MORE_TIME = 3  # times the limit, for a repeat that meets it
_PIECE = 4 << 20  # bytes that are compared at a time: read-backs may be larger than memory

Place = tuple[str | None, int | None, str | None]
Wrong = Callable[[EmulatorRun], bool]


def _not_known_as_wrong(_: EmulatorRun) -> bool:
    return False


def judge_fresh_reads(
    program: EmulatorBuild,
    outcomes: Sequence[EmulatorRun],
    wrong: Wrong = _not_known_as_wrong,
) -> list[EmulatorRun]:
    """Return `outcomes` with what there is to say of their `fresh_reads` among their findings.

    Each place is judged in the first outcome that has it, by repeating that run with other words in
    fresh memory. A place where a race is found is left to the race: the word is read because its
    writer comes late. A read that nobody could judge, because the run does not end or returns
    something else each time, is a warning; an error where such a run is `wrong`. Where that is
    known, every outcome with a new place is repeated.
    """
    judged: dict[Place, bool] = {}
    unsteady: set[Place] = set()
    repeated = 0
    most = _MOST_REPEATED if wrong is _not_known_as_wrong else len(outcomes)
    for outcome in outcomes:
        places = {_place(read.finding) for read in _without_races(outcome)} - judged.keys()
        if places and ended(outcome) and repeated < most:
            repeated += 1
            steady = _Steady(program, outcome, wrong)
            blamed = _blamed(steady, outcome, places)
            if blamed or not steady.varies:
                judged |= {place: place in blamed for place in places}
            else:
                unsteady |= places
    return [_with_verdicts(outcome, judged, unsteady) for outcome in outcomes]


def _place(finding: Finding) -> Place:
    return finding.file, finding.line, finding.kernel


def _without_races(outcome: EmulatorRun) -> list[FreshRead]:
    late: set[tuple[str | None, int | None]] = set()
    for found in outcome.findings:
        # Equal stores are a warning: they bring no other value late.
        if found.kind in _RACES and found.severity is Severity.ERROR:
            late.add((found.file, found.line))
            if found.other:
                late.add((found.other.file, found.other.line))
    return [
        read for read in outcome.fresh_reads if (read.finding.file, read.finding.line) not in late
    ]


def _blamed(steady: "_Steady", outcome: EmulatorRun, places: set[Place]) -> set[Place]:
    """Return those of `places` whose fresh memory changes what `outcome` returns."""
    sites: dict[Place, list[int]] = {}
    for read in outcome.fresh_reads:
        sites.setdefault(_place(read.finding), []).append(read.site)
    for word in (*OTHER_WORDS, *drawn_words(outcome.options.run.seed)):
        if not steady.differs_with(word):
            continue
        if len(places) == 1 or len(places) > _MOST_PLACES:
            return places
        blamed = {place for place in places if steady.differs_with(word, sites[place])}
        return blamed or _needed(steady, word, {place: sites[place] for place in places})
    return set()


def _needed(steady: "_Steady", word: int, sites: dict[Place, list[int]]) -> set[Place]:
    """Return those of the places that do together what none does alone.

    One is left out after the other: where the result still differs, it is no part of the cause.
    What computes with the memory is kept rather than what copies it.
    """
    needed = set(sites)
    for place in sorted(sites, key=lambda place: (place[2] is not None, str(place))):
        rest = needed - {place}
        if rest and steady.differs_with(word, [site for one in rest for site in sites[one]]):
            needed = rest
    return needed


class _Steady:
    """Compares runs with `outcome`, by what does not differ from run to run anyway.

    A program that prints the time of day is judged by what else it returns.
    """

    def __init__(self, program: EmulatorBuild, outcome: EmulatorRun, wrong: Wrong) -> None:
        self._program, self._outcome, self._wrong = program, outcome, wrong
        self._again: EmulatorRun | None = None
        self.varies = False
        """Whether it was seen to return something else with equal options."""

    def run(self, options: RunOptions) -> EmulatorRun:
        """Run the program with other options.

        A run that meets its time limit where the first did not has more time: on a busy machine the
        limit says nothing of what the program reads.
        """
        again = run(self._program, options)
        if again.state != "timeout" or self._outcome.state == "timeout":
            return again
        seconds = _MORE_TIME * options.limits.seconds
        return run(self._program, replace(options, limits=replace(options.limits, seconds=seconds)))

    def differs_with(self, word: int, sites: Sequence[int] | None = None) -> bool:
        """Whether the program returns something else with `word`, everywhere or at `sites`."""
        options = replace(self._outcome.options, trace=0)
        if sites is None:
            return self.differs(self.run(replace(options, fresh=word)), word)
        other = replace(options, fresh_sites=tuple(sites), fresh_other=word)
        return self.differs(self.run(other), word)

    def differs(self, other: EmulatorRun, word: int) -> bool:
        """Whether `other`, with `word` in fresh memory, returns something else."""
        first = self._outcome
        if _equal(first, other, word, printed=True):
            return False
        if ended(other) and self._wrong(other) and not self._wrong(first):
            return True
        if self._again is None:
            self._again = self.run(replace(first.options, trace=0))
        own = first.options.fresh_word
        printed = _equal(first, self._again, own, printed=True)
        if not printed:
            self.varies = self.varies or not _equal(first, self._again, own, printed=False)
            if self.varies or _equal(first, other, word, printed=False):
                return False
        return not self._nobody_looks(other, word, printed=printed)

    def _nobody_looks(self, other: EmulatorRun, word: int, *, printed: bool) -> bool:
        """Whether nothing differs but read-backs that are overwritten before anybody reads them."""
        first = self._outcome
        if not _same_conduct(first, other, printed=printed):
            return False
        words = first.options.fresh_word, word
        pairs = enumerate(zip(first.readbacks, other.readbacks, strict=True))
        differing = [at for at, (a, b) in pairs if not same_data(a, b, *words)]
        if any(first.readbacks[at].taken for at in differing):  # the host has read these
            return False
        # What the host takes of shared memory is numbered apart, and may be more here.
        looks = run(self._program, replace(other.options, looks=True)).readbacks
        unread = {(item.rank, item.seq) for item in looks if item.unread and not item.taken}
        return all(
            (first.readbacks[at].rank, first.readbacks[at].seq) in unread for at in differing
        )


def _equal(one: EmulatorRun, other: EmulatorRun, other_word: int, *, printed: bool) -> bool:
    """Whether two runs return the same, where `other` has another word in fresh memory.

    Words that were merely copied may differ.
    """
    if not _same_conduct(one, other, printed=printed):
        return False
    words = one.options.fresh_word, other_word
    return all(same_data(a, b, *words) for a, b in zip(one.readbacks, other.readbacks, strict=True))


def _same_conduct(one: EmulatorRun, other: EmulatorRun, *, printed: bool) -> bool:
    """Whether two runs return the same but for what their read-backs hold."""
    if printed and (one.stdout, one.stderr) != (other.stdout, other.stderr):
        return False
    return _conduct(one) == _conduct(other) and len(one.readbacks) == len(other.readbacks)


def _conduct(outcome: EmulatorRun) -> tuple[object, ...]:
    findings = {
        (found.kind, found.severity, found.file, found.line, found.kernel)
        for found in outcome.findings
    }
    return outcome.state, dict(outcome.exit_codes), findings


def same_data(one: Readback, other: Readback, word: int, other_word: int) -> bool:
    """Whether two read-backs differ only in bytes of fresh memory.

    `word` and `other_word` are what fresh memory held in the two runs.
    """
    import numpy as np

    if (one.rank, one.seq, len(one.data)) != (other.rank, other.seq, len(other.data)):
        return False
    fresh_a, fresh_b = (_fresh_bytes(r, w) for r, w in ((one, word), (other, other_word)))
    a, b = (np.frombuffer(readback.data, dtype=np.uint8) for readback in (one, other))
    for start in range(0, len(a), _PIECE):
        x, y = a[start : start + _PIECE], b[start : start + _PIECE]
        if np.array_equal(x, y):
            continue
        if not np.all((x == y) | ((x == fresh_a[: len(x)]) & (y == fresh_b[: len(y)]))):
            return False
    return True


def _fresh_bytes(readback: Readback, word: int) -> "npt.NDArray[np.uint8]":
    """Return what a piece of `readback` would hold had nobody written it: the word, by address."""
    import numpy as np

    pattern = np.frombuffer(word.to_bytes(4, "little"), dtype=np.uint8)
    start = readback.device_offset % 4
    return np.resize(np.roll(pattern, -start), min(_PIECE, len(readback.data)))


def _with_verdicts(
    outcome: EmulatorRun, judged: dict[Place, bool], unsteady: set[Place]
) -> EmulatorRun:
    """Return `outcome` with what there is to say, causes first.

    Nothing else may explain why a program fails: then a read that changes nothing is worth a word;
    but not where the run met a limit.
    """
    reads = _without_races(outcome)
    told = [
        replace(
            read.finding,
            severity=Severity.ERROR,
            message=f"{read.finding.message}; what the program returns depends on it",
        )
        for read in reads
        if judged.get(_place(read.finding))
    ]
    unexplained = outcome.verdict is Verdict.FAILED and not told
    shown = outcome.readbacks or outcome.stats.get("host_looked")
    for read in reads:
        place = _place(read.finding)
        if unexplained and read.suspected and not ended(outcome):
            continue
        if unexplained:
            doubt = ""
        elif read.suspected or judged.get(place):
            continue
        elif place not in judged:
            doubt = _UNSTEADY if place in unsteady else ""
        elif not shown:
            doubt = _UNSHOWN
        else:
            continue
        message = read.finding.message + doubt
        told.append(replace(read.finding, severity=Severity.WARNING, message=message))
    return replace(outcome, findings=(*told, *outcome.findings), fresh_reads=())
