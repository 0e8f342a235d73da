"""What a candidate's read-backs are held to: the reference's, and how far these vary themselves.

Atomics in floating point add in another order in each run, so that the trusted program's own
results differ from run to run: how far, sets the tolerance of outputs for which the workload
declares none. It is looked at only where a candidate is out of tolerance, and the candidate has no
part in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from warploom.backends.emulated import findings_of, run_options
from warploom.core.records import Finding, RunSpec, Severity, Timing, Verdict
from warploom.emulator import EmulatorRun, run
from warploom.evaluation.compare.difference import Difference
from warploom.evaluation.compare.differential import compare, decode, typical_magnitude
from warploom.evaluation.compare.outputs import Key, Sample, filled, label, output_of, select
from warploom.evaluation.compare.readers import Frames
from warploom.evaluation.compare.reference import Reference
from warploom.evaluation.runs.fresh_memory import judge_fresh_reads
from warploom.evaluation.survey import Survey
from warploom.workload.dtypes import DTYPES
from warploom.workload.outputs import Output

_MOST_WIDER = 100.0  # times the type's own tolerance; what varies by more is no result
_MOST = 0.1
_SLACK = 2.0  # two runs show less than what there is
_OTHER_ORDERS = (0x5EED, 0xCA5E, 0x0DD5)  # of schedules, for their seeds

Samples = Mapping[Key, Sample]


class Standard:
    """Compares runs with the reference's of the same inputs.

    With `frames` it must be read by the same code, too.
    """

    def __init__(self, reference: Reference, frames: Frames | None = None) -> None:
        self.reference = reference
        self._frames = frames
        self._again: dict[int, list[Samples]] = {}
        self._wider: dict[int, tuple[Output, ...]] = {}

    def compare(self, outcome: EmulatorRun, facts: Survey, seed: int) -> tuple[Difference, ...]:
        """Compare what `outcome` read back, with the reference's own variation allowed for."""
        declared = self.reference.workload.outputs
        expected = self.reference.samples[seed]
        got = select(label(outcome.readbacks, facts.sites), self.reference.workload)
        found = compare(expected, got, declared)
        if any(item.problem == "differs" for item in found) and self._widened(seed):
            found = compare(expected, got, (*self._widened(seed), *declared))
        return (*found, *self._frames.strays(expected, got)) if self._frames else found

    def output_of(self, sample: Sample, seed: int) -> Output:
        """Return how `sample` was compared."""
        return output_of(sample, (*self._wider.get(seed, ()), *self.reference.workload.outputs))

    def wider(self) -> tuple[Output, ...]:
        """Return the outputs that were given room, as wide as any seed needed."""
        found: dict[str, Output] = {}
        for outputs in self._wider.values():
            for output in outputs:
                known = found.get(output.buffer, output)
                found[output.buffer] = replace(output, rtol=max(output.rtol, known.rtol))
        return tuple(found.values())

    def varying(self) -> list[Finding]:
        """Say which outputs were given room because the reference's own vary."""
        return [
            Finding(
                kind="reference_varies",
                severity=Severity.WARNING,
                message=f"the reference's own {output.buffer} differs from run to run, by up to "
                f"{output.rtol / _SLACK:.3g} of its size: {output.rtol:.3g} is allowed",
                hint="declare a tolerance in [[outputs]] to hold candidates to another one",
            )
            for output in self.wider()
        ]

    def doubts(self, spec: RunSpec) -> list[Finding]:
        """Return what is wrong with the trusted program itself, for a candidate that failed.

        It has the same run as the candidate, with the race check, and must agree with itself.
        """
        found = self._defects(spec) or self._unsteady(spec.seed)
        return [replace(item, seed=spec.seed) for item in found]

    def trusted_findings(self, spec: RunSpec) -> list[Finding]:
        """Return what a run of the trusted program shows that is like the candidate's."""
        return findings_of(self._run_like(spec))

    def _run_like(self, spec: RunSpec) -> EmulatorRun:
        reference = self.reference
        options = run_options(reference.workload, spec, reference.facts.processes)
        [outcome] = judge_fresh_reads(reference.build, [run(reference.build, options)])
        return outcome

    def _defects(self, spec: RunSpec) -> list[Finding]:
        outcome = self._run_like(spec)
        if outcome.verdict is Verdict.OK:
            return []
        told = [item for item in findings_of(outcome) if item.severity is Severity.ERROR]
        return [
            replace(
                item,
                kind="reference_defect",
                message=f"the trusted program itself has this defect ({item.kind}): {item.message}",
                hint="mend the trusted program first: nothing can be said of a candidate before",
                timing=spec.timing,
            )
            for item in told[:1]
        ]

    def _unsteady(self, seed: int) -> list[Finding]:
        outputs = (*self._widened(seed), *self.reference.workload.outputs)
        expected = self.reference.samples[seed]
        for again in self._again[seed]:
            bad = next((d for d in compare(expected, again, outputs) if d.problem), None)
            if bad is not None:
                return [
                    Finding(
                        kind="reference_unsteady",
                        severity=Severity.ERROR,
                        message="the reference differs from itself between two runs of one seed: "
                        + bad.describe(),
                        file=bad.file,
                        line=bad.line,
                        hint="its outputs must depend on the seed alone; check it with warploom "
                        "check",
                    )
                ]
        return []

    def _widened(self, seed: int) -> tuple[Output, ...]:
        """Return outputs whose tolerance the reference's own variation widens."""
        if seed not in self._wider:
            self._again[seed] = self._repeat(seed)
            self._wider[seed] = tuple(self._room(seed))
        return self._wider[seed]

    def _repeat(self, seed: int) -> list[Samples]:
        """Run the trusted program in other orders; twice only, where these change nothing."""
        first, *more = (RunSpec(seed ^ other, Timing.RANDOM) for other in _OTHER_ORDERS)
        found = [self._once(seed, spec) for spec in (RunSpec(seed, Timing.LAZY), first)]
        expected = self.reference.samples[seed]
        if any(again is not None and _moved(expected, again) for again in found):
            found += [self._once(seed, spec) for spec in more]
        return [again for again in found if again is not None]

    def _once(self, seed: int, spec: RunSpec) -> Samples | None:
        """Return the read-backs of a run with the inputs of `seed`, None where it fails."""
        reference = self.reference
        usual = run_options(
            reference.workload, RunSpec(seed, Timing.EAGER), reference.facts.processes, race=False
        )
        options = replace(usual, run=spec, fresh=usual.fresh_word)  # the inputs stay
        outcome = run(reference.build, options)
        if outcome.verdict is not Verdict.OK:
            return None
        found = label(outcome.readbacks, reference.facts.sites)
        return select(found, reference.workload)

    def _room(self, seed: int) -> list[Output]:
        """Return wider outputs, of those for which the workload declares no tolerance."""
        declared = {output.buffer for output in self.reference.workload.outputs}
        found: dict[str, Output] = {}
        for key, sample in self.reference.samples[seed].items():
            output = output_of(sample, self.reference.workload.outputs)
            if key.buffer in declared or not DTYPES[output.dtype].is_float:
                continue
            others = [again[key] for again in self._again[seed] if key in again]
            room = _SLACK * max((variation(sample, o, output.dtype) for o in others), default=0.0)
            if output.rtol < room <= min(_MOST, _MOST_WIDER * output.rtol):
                known = found.get(key.buffer, output)
                found[key.buffer] = replace(output, rtol=max(room, known.rtol))
        return list(found.values())


def _moved(one: Samples, other: Samples) -> bool:
    return one.keys() != other.keys() or any(
        len(sample.data) != len(other[key].data) or filled(sample, other[key].data) != sample.data
        for key, sample in one.items()
    )


def variation(one: Sample, other: Sample, dtype: str) -> float:
    """Return the largest difference of two runs, as a share of `typical + |value|`.

    It is infinite where they differ otherwise than by amount.
    """
    if len(one.data) != len(other.data):
        return float("inf")
    with np.errstate(all="ignore"):
        a = decode(one.data, dtype).astype(np.float64)
        b = decode(filled(one, other.data), dtype).astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        share = np.abs(a - b) / (typical_magnitude(a) + np.abs(a))
    share = np.where(same, 0.0, np.nan_to_num(share, nan=np.inf))
    return float(share.max(initial=0.0))


def all_same(seeds: Sequence[Samples]) -> bool:
    """Whether the reference's results are the same for all seeds, by what somebody wrote."""
    first, *rest = seeds
    return all(_same(first, other) for other in rest)


def _same(one: Samples, other: Samples) -> bool:
    if one.keys() != other.keys():
        return False
    for key, sample in one.items():
        data = filled(sample, other[key].data) if _fits(sample, other[key]) else None
        if data is None or filled(other[key], data) != filled(other[key], sample.data):
            return False
    return True


def _fits(one: Sample, other: Sample) -> bool:
    return len(one.data) == len(other.data)
