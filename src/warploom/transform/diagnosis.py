"""Names the kernel of a candidate that failed at run time: a rerun that waits after each launch."""

from dataclasses import replace
from pathlib import Path

from warploom.backends.emulated import run_options
from warploom.core.errors import WarploomError
from warploom.core.records import RunSpec, Severity, Timing, Verdict
from warploom.emulator import build, run
from warploom.evaluation.records import Evaluation
from warploom.evaluation.survey import as_built, survey
from warploom.workload.workload import Workload

_VERIFY = 2


def diagnose(evaluation: Evaluation, path: Path, workload: Workload) -> str:
    """Return what the first failing run says when the host waits after every launch.

    A defect that is gone then lies between kernels or streams, which is worth knowing too. The
    result is "" where the candidate did not get as far as running.
    """
    if evaluation.level_reached < _VERIFY:
        return ""
    failed = next((run for run in evaluation.runs if run.verdict is not Verdict.OK), None)
    if failed is None:
        return ""
    facts = survey(workload, program=path, outputs=False)
    try:
        program = build(workload.build_spec(facts.nccl, path))
        form = as_built(facts, program).processes
        options = run_options(workload, RunSpec(failed.seed, Timing(failed.timing)), form)
        outcome = run(program, replace(options, sync_launches=True))
    except WarploomError as error:
        return f"the rerun was not possible: {error.message}"
    errors = [f for f in outcome.findings if f.severity is Severity.ERROR]
    named = next((f for f in errors if f.kernel), errors[0] if errors else None)
    where = f"{failed.timing} network, seed {failed.seed}"
    if named is None:
        return f"with a synchronization after every launch nothing is found ({where})"
    kernel = f"kernel {named.kernel}" if named.kernel else "the host"
    return f"{kernel}, line {named.line or '?'}: {named.message} ({where})"
