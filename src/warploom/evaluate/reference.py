"""Runs the trusted program once per input seed and remembers what it read back, by content."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.records import RunSpec, Timing, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, build, run
from warploom.evaluate.outputs import Key, Sample, label, select
from warploom.evaluate.plan import ProgressCallback, counter
from warploom.evaluate.runs import findings_of, run_all, run_options
from warploom.evaluate.survey import Survey, survey
from warploom.evaluate.transform_rule import Traffic
from warploom.evaluate.workload import Workload
from warploom.toolchain.cache import cache_root, cached_folder

_FORMAT = "2"
Samples = Mapping[Key, Sample]


@dataclass(frozen=True, slots=True)
class Reference:
    """What the trusted program says is right: its read-backs for each input seed.

    `traffic` is how its data went from rank to rank, for each seed.
    """

    workload: Workload
    facts: Survey
    build: EmulatorBuild
    samples: Mapping[int, Samples]
    traffic: Mapping[int, Traffic]


def reference_for(
    workload: Workload,
    seeds: Sequence[int],
    *,
    nccl: str | None = None,
    jobs: int | None = None,
    on_progress: ProgressCallback,
) -> Reference:
    """Return the trusted program's outputs for `seeds`, from the cache or by running it.

    Each run is on an eager network without the race check: the reference is trusted, and what it
    computes does not depend on the network. `recheck` looks whether that holds.

    Raises:
        BadInputError: the trusted program itself fails, or reads nothing back.
    """
    facts = survey(workload, nccl=nccl)
    program = build(workload.build_spec(facts.nccl))
    keys = {seed: _key(program, workload, facts, seed) for seed in seeds}
    missing = [seed for seed in seeds if not _folder(keys[seed]).is_dir()]
    fresh = _run(program, workload, facts, missing, jobs, on_progress)
    samples: dict[int, Samples] = {}
    traffic: dict[int, Traffic] = {}
    for seed in seeds:
        found = fresh.get(seed)
        if found is not None:
            _store(keys[seed], found)
        else:
            found = _load(_folder(keys[seed]))
        samples[seed] = select(found.samples, workload.outputs)
        traffic[seed] = found.traffic
    _require_outputs(workload, samples)
    return Reference(workload, facts, program, samples, traffic)


@dataclass(frozen=True, slots=True)
class _Kept:
    """One run: its read-backs and its traffic."""

    samples: tuple[Sample, ...]
    traffic: Traffic


def recheck(reference: Reference, seed: int) -> Samples:
    """Return the trusted program's read-backs for `seed` on a lazy network, run anew."""
    workload = reference.workload
    options = run_options(
        workload, RunSpec(seed, Timing.LAZY), reference.facts.processes, race=False
    )
    outcome = run(reference.build, options)
    _require_success(workload, outcome, seed)
    return select(label(outcome.readbacks, reference.facts.sites), workload.outputs)


def _run(
    program: EmulatorBuild,
    workload: Workload,
    facts: Survey,
    seeds: Sequence[int],
    jobs: int | None,
    on_progress: ProgressCallback,
) -> dict[int, _Kept]:
    if not seeds:
        return {}
    options = [
        run_options(workload, RunSpec(seed, Timing.EAGER), facts.processes, race=False)
        for seed in seeds
    ]
    finished = counter("reference", len(options), on_progress)
    outcomes = run_all(program, options, jobs=jobs, on_done=finished)
    for seed, outcome in zip(seeds, outcomes, strict=True):
        _require_success(workload, outcome, seed)
    return {
        seed: _Kept(label(outcome.readbacks, facts.sites), Traffic.of(outcome.stats))
        for seed, outcome in zip(seeds, outcomes, strict=True)
    }


def _require_success(workload: Workload, outcome: EmulatorRun, seed: int) -> None:
    if outcome.verdict == Verdict.OK:
        return
    first = next(iter(findings_of(outcome)), None)
    why = first.message if first else f"exit codes {dict(outcome.exit_codes)}"
    raise BadInputError(
        f"the trusted program must succeed, but with seed {seed} it ended as "
        f"{outcome.verdict} ({outcome.state}): {why}",
        file=str(first.file if first and first.file else workload.program),
        line=first.line if first else None,
        hint=f"look at it with: warploom check {workload.program}",
    )


def _require_outputs(workload: Workload, samples: Mapping[int, Samples]) -> None:
    name = str(workload.program)
    if not any(samples.values()):
        raise BadInputError(
            "the trusted program must copy its results from device to host, but no such copy was "
            "made" + (" of the workload's outputs" if workload.outputs else ""),
            file=name,
            hint="without a read-back there is nothing to compare a candidate with",
        )
    read = {key.buffer for found in samples.values() for key in found}
    for output in workload.outputs:
        if output.buffer not in read:
            raise BadInputError(
                f"every output must be read back, but {output.buffer!r} never was",
                file=name,
                hint="outputs.buffer is the device expression as written in the copy",
            )


def _key(program: EmulatorBuild, workload: Workload, facts: Survey, seed: int) -> str:
    return digest(
        (
            _FORMAT,
            program.key,
            facts.processes,
            str(workload.ranks),
            str(workload.lsa_size),
            str(workload.node_size),
            str(seed),
            *workload.args_for(seed),
        )
    )


def _folder(key: str) -> Path:
    return cache_root() / "reference" / key


def _store(key: str, kept: _Kept) -> None:
    def write(folder: Path) -> None:
        index = [
            {
                "rank": s.key.rank,
                "buffer": s.key.buffer,
                "occurrence": s.key.occurrence,
                "dtype": s.dtype,
                "bytes": len(s.data),
                "file": s.file,
                "line": s.line,
            }
            for s in kept.samples
        ]
        (folder / "index.json").write_text(json.dumps(index))
        (folder / "traffic.json").write_text(json.dumps(astuple(kept.traffic)))
        (folder / "data.bin").write_bytes(b"".join(s.data for s in kept.samples))

    cached_folder("reference", key, write)


def _load(folder: Path) -> _Kept:
    data = memoryview((folder / "data.bin").read_bytes())
    samples: list[Sample] = []
    at = 0
    for item in json.loads((folder / "index.json").read_text()):
        key = Key(item["rank"], item["buffer"], item["occurrence"])
        blob = bytes(data[at : at + item["bytes"]])
        at += item["bytes"]
        samples.append(Sample(key, item["dtype"], blob, item["file"], item["line"]))
    traffic = Traffic(*json.loads((folder / "traffic.json").read_text()))
    return _Kept(tuple(samples), traffic)
