"""Whether results follow the inputs that are there when an iteration begins.

A result of an earlier iteration can be kept where no counter sees it: in memory of the host, from
where it comes back as arguments of kernels, in files, or in messages of a rank to itself. It is
right as long as all iterations have the same inputs. So the inputs turn into others between
iterations, wherever they lie in memory that devices see (behavior/turned_inputs.h): the same words
in both programs. What the trusted program computes from then on, a candidate must compute as well,
at each of the moments at which it did before.

Words of integers (indices, choices of a router) say nothing by themselves, so that arrays of them
turn as a whole, by quarters (behavior/turned_arrays.h). A program may take such an array for more
than data: then the trusted program itself fails, or uses what it did not compute, and nothing is
asked. Nor is it of a candidate that uploads its integers in another form.

This asks nothing that other inputs would not ask. It needs a reference whose iterations depend on
nothing but what was uploaded, which altered memory has shown by then (iterations.py).
"""

from dataclasses import dataclass, replace

from warploom.core.records import RunSpec, Verdict
from warploom.emulator import EmulatorRun, Spoil
from warploom.evaluation.compare.differential import differing
from warploom.evaluation.compare.outputs import Key
from warploom.evaluation.depends.results_in_time import SLACK, asked_at, earlier
from warploom.evaluation.depends.same_work import works_otherwise
from warploom.evaluation.depends.spoiler import Mask, Masks, Spoiler, any_marked, wrong_by_rank

_WORDS = 2048  # of inputs that turn, about, and at most (behavior/turned_inputs.cpp)


@dataclass(frozen=True, slots=True)
class Kinds:
    """How the reference and the candidate ran while memory was altered, and those runs.

    `steady`: inputs may change before the first stop as well, where the program takes the time.
    """

    spec: RunSpec
    reference: tuple[Spoil, EmulatorRun]
    candidate: tuple[Spoil, EmulatorRun]
    steady: bool = False

    @property
    def before(self) -> str:
        """How it is said that inputs change before the first stop as well."""
        return "+" if self.steady else ""


def outdated(spoiler: Spoiler, kinds: Kinds) -> str:
    """Say which results are not those of the inputs that were there; "" if all are."""
    share = max(1, spoiler.words_uploaded(kinds.spec.seed) // _WORDS)
    numbers = _reference(spoiler, kinds, f"/{share}")
    message = _otherwise(spoiler, kinds, numbers, "=")
    if message or not numbers.stats.get("arrays"):
        return message
    arrays = _reference(spoiler, kinds, "~")
    if not _goes_by_data(spoiler, kinds, arrays):
        return ""
    return _otherwise(spoiler, kinds, arrays, "~")


def _reference(
    spoiler: Spoiler, kinds: Kinds, turns: str, *, only_counts: bool = True
) -> EmulatorRun:
    """Run the reference while inputs turn; memory is altered as well, or left as it is."""
    how = replace(kinds.reference[0], only_counts=only_counts, turns=kinds.before + turns)
    [run] = spoiler.run_reference([kinds.spec], _what(spoiler), how)
    return run


def _what(spoiler: Spoiler) -> list[str]:
    """Return what is altered of what moves between ranks: nothing."""
    return [f"{spoiler.layout()}:none"]


def _goes_by_data(spoiler: Spoiler, kinds: Kinds, turned: EmulatorRun) -> bool:
    """Whether other arrays are inputs like any other to the reference.

    It must not break its own memory, nor return what it did not compute from them: that would
    change with what memory holds.
    """
    if turned.state != "finished" or turned.verdict is Verdict.DEFECT or not turned.inputs:
        return False
    altered = _reference(spoiler, kinds, "~", only_counts=False)
    values = spoiler.samples(turned, spoiler.reference.facts)
    return altered.state == "finished" and not any_marked(
        spoiler.changed(values, altered, spoiler.reference.facts)
    )


def _otherwise(spoiler: Spoiler, kinds: Kinds, theirs: EmulatorRun, what: str) -> str:
    """Turn the same in the candidate, and say what is not as in the reference; "" if all is."""
    (_, expected), (how, run) = kinds.reference, kinds.candidate
    base = spoiler.reference.samples[kinds.spec.seed]
    marks = spoiler.changed(base, theirs, spoiler.reference.facts)
    if theirs.state != "finished" or not theirs.inputs or not any_marked(marks):
        return ""
    turned = replace(how, only_counts=True, turns=kinds.before + what + ",".join(theirs.inputs))
    [mine] = spoiler.run(spoiler.candidate, [kinds.spec], _what(spoiler), turned)
    if what == "~" and not set(theirs.inputs) <= set(mine.inputs):
        return ""
    if mine.state != "finished":
        return (
            f"the end of the run ({mine.state}) is another where inputs change between iterations"
        )
    return (
        _at_the_end(spoiler, theirs, mine, marks)
        or _before(spoiler, kinds, theirs, mine)
        or _works_by_inputs((expected, theirs), (run, mine))
    )


def _at_the_end(spoiler: Spoiler, theirs: EmulatorRun, mine: EmulatorRun, marks: Masks) -> str:
    values = spoiler.samples(theirs, spoiler.reference.facts)
    wrong = spoiler.changed(values, mine, spoiler.candidate.facts)
    for rank, changed, off in wrong_by_rank(marks, wrong):
        if changed and off > SLACK * changed:
            return _told(changed, off, f"the outputs of rank {rank}")
    return ""


def _before(spoiler: Spoiler, kinds: Kinds, theirs: EmulatorRun, mine: EmulatorRun) -> str:
    """Compare what lay, when earlier iterations had ended, where results are read back later."""
    plain = kinds.reference[1], kinds.candidate[1]
    before = earlier(spoiler, plain[0], spoiler.trusted)
    wanted = earlier(spoiler, theirs, spoiler.trusted)
    got = earlier(spoiler, mine, spoiler.candidate)
    for key, moment, asked in asked_at(spoiler, *plain, kinds.reference[0].stops):
        place = key, moment
        if place not in before or place not in wanted or place not in got:
            continue
        output = spoiler.output_of(wanted[place])
        sizes = {len(one[place].data) for one in (before, wanted, got)}
        if len(sizes) > 1:
            continue
        changed: Mask = asked & differing(before[place], wanted[place], output)
        off = int((changed & differing(wanted[place], got[place], output)).sum())
        if off > SLACK * int(changed.sum()):
            return _told(int(changed.sum()), off, _place(key, moment))
    return ""


def _place(key: Key, moment: int) -> str:
    when = f"{'stop' if moment % 2 else 'point'} {moment // 2}"
    return f"rank {key.rank}'s {key.buffer or 'output'} at {when}"


def _told(changed: int, off: int, where: str) -> str:
    return (
        f"where inputs change between iterations, {changed} elements of {where} change in the "
        f"reference, and {off} are not as they are there: they are of earlier inputs"
    )


def _works_by_inputs(
    reference: tuple[EmulatorRun, EmulatorRun], candidate: tuple[EmulatorRun, EmulatorRun]
) -> str:
    """Say whether a candidate does other work where inputs change, and the reference does not."""
    before, after = candidate
    if not works_otherwise(before.stats, after.stats):
        return ""
    if works_otherwise(reference[0].stats, reference[1].stats):
        return ""
    return (
        "the work of the run is another where inputs change between iterations, and the "
        "reference's is not"
    )
