"""`evaluate`: judges a candidate level by level and stops at the first failure.

0. legality: the candidate contributes its mutable regions only, and these hold nothing forbidden;
1. build: for the emulator, and with nvcc against the real headers where they are at hand;
2. verify: differential against the reference, seeds x timings, each with the happens-before check;
3. benchmark: modelled time on a topology, of runs whose outputs are compared as well;
4. score: 10000 / (1 + milliseconds).

The levels themselves are methods of `levels.Judge`. `evaluate` is one function of plain records: it
needs no database and no model, and can run anywhere.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warploom.backends import EMULATOR, Backend, find_backend
from warploom.backends.emulated import machine_for
from warploom.core.records import Timing
from warploom.emulator import Topology, find_topology
from warploom.emulator.running.topology import DEFAULT_TOPOLOGY, check_fit
from warploom.evaluation.levels import Judge
from warploom.evaluation.observed.evaluation import evaluate_observed, require_observable
from warploom.evaluation.records import BENCHMARK, Evaluation
from warploom.evaluation.runs.plan import (
    ALL_TIMINGS,
    ProgressCallback,
    ignore_progress,
    verify_plan,
    with_clock,
)
from warploom.evaluation.runs.secret_seeds import draw_seeds, require_seeds
from warploom.evaluation.transform_rule import TransformRule
from warploom.source.regions import Program
from warploom.workload.paths import require_file
from warploom.workload.workload import Workload, load_target


def evaluate(
    candidate: Program | Path | str,
    workload: Workload | Path | str,
    *,
    level: int = 2,
    frame: Program | None = None,
    rule: TransformRule | None = None,
    reference: Path | Workload | None = None,
    nccl: str | None = None,
    nvcc: bool = True,
    seeds: int | None = None,
    inputs: Sequence[int] | None = None,
    timings: Sequence[Timing] = ALL_TIMINGS,
    jobs: int | None = None,
    topology: Topology | None = None,
    trust_candidate: bool = False,
    backend: Backend | str = EMULATOR,
    tools: Sequence[str] | None = None,
    on_progress: ProgressCallback = ignore_progress,
) -> Evaluation:
    """Judge a candidate.

    Args:
        candidate: the proposed program, or the path of its text.
        workload: what it is to do, or the path of that.
        level: the last level to run: 0 legality, 1 build, 2 verify, 3 benchmark, 4 score.
        frame: the trusted program whose frame the candidate must keep. Default: the workload's
            program if it has mutable regions; without any, the candidate's whole text is taken,
            which the evaluation says, and judged as a mutable region is.
        rule: what else holds for a candidate that rewrites the whole program.
        reference: the program that says what is right, or a workload with further sources of its
            own; default: the workload's.
        nccl: NCCL version whose rules hold; default: the workload's, or the newest at hand.
        nvcc: whether to compile with nvcc too, where it is found.
        seeds: how many secret seeds to draw; default: the workload's.
        inputs: these seeds instead, to repeat an evaluation.
        timings: network timings, each run with every seed.
        jobs: runs at once; default: one per core.
        topology: the machine whose time levels 3 and 4 model; default: the packaged h200-8.
        trust_candidate: the candidate is the user's own program: where it has no frame to keep,
            its text is not judged at level 0, which the evaluation says.
        backend: what runs both programs: "emulator", "cuda", or a backend of your own, whose
            level 2 is `observed.evaluation`'s and the last.
        tools: another backend's tools under which the candidate runs; default: all.
        on_progress: told of each finished step.

    Raises:
        BadInputError: the workload is wrong, its trusted program fails, its ranks do not fit
            the topology, or something is asked for that only the emulator can.
        MissingToolError: there is no C++ compiler, or something that the backend needs is missing.
        UnsupportedError: the program starts its ranks in a way that the backend cannot.
    """
    started = time.monotonic()
    task = workload if isinstance(workload, Workload) else load_target(workload)
    count = task.seeds if seeds is None else seeds
    drawn = draw_seeds(count) if inputs is None else require_seeds(inputs)
    runner = find_backend(backend)
    if not runner.steers:
        require_observable(runner, candidate, level, special=(frame, rule, reference))
        assert isinstance(candidate, Path | str)
        return evaluate_observed(
            Path(candidate), task, runner, level=level, seeds=drawn, tools=tools, jobs=jobs,
            on_progress=on_progress,
        )  # fmt: skip
    machine = None
    if level >= BENCHMARK:
        machine = topology or find_topology(DEFAULT_TOPOLOGY)
        check_fit(machine, task.shape.ranks, task.shape.lsa_size)
        # Verified on the machine that is timed: a clock would tell two machines apart.
        task = replace(task, machine=machine)
    trusted_task = task
    if reference is not None:
        whole = isinstance(reference, Workload)
        trusted_task = reference if whole else replace(task, program=require_file(reference))
    with tempfile.TemporaryDirectory(prefix="warploom-") as folder:
        judge = Judge(
            task, trusted_task, rule, nccl, nvcc, jobs, on_progress, Path(folder), machine,
            trust_candidate=trust_candidate,
        )  # fmt: skip
        plan = verify_plan(drawn, timings)
        if machine_for(task) is not None:
            plan = with_clock(plan)
        parts, path = judge.cascade(candidate, frame, level, plan)
    return judge.evaluation(parts, path, plan, time.monotonic() - started)
