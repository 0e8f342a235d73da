"""The last step of a transform: its program beside the original on this machine's GPUs."""

from dataclasses import dataclass
from pathlib import Path

from warploom.backends import find_backend
from warploom.core.errors import BadInputError, MissingToolError, UnsupportedError
from warploom.core.records import Severity
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.observed.runs import form_of
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.evaluation.survey import survey_built
from warploom.transform.config import AUTO, CUDA, EMULATOR
from warploom.transform.records import StepStatus
from warploom.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class GpuVerdict:
    """How the step ended, and why it was skipped or failed; `evaluation` is what the GPUs said."""

    status: StepStatus
    why: str = ""
    evaluation: Evaluation | None = None


def require_hardware(backend: str, workload: Workload) -> None:
    """Raise where `backend` is `cuda` and something is missing, before anything is paid for.

    Raises:
        MissingToolError: a GPU, nvcc, NCCL, MPI or compute-sanitizer is missing.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    if backend == CUDA:
        gpus = find_backend(CUDA)
        gpus.machine(workload, form_of(survey_built(workload)))
        gpus.require_tools()


def judge_on_gpus(
    backend: str, program: Path, workload: Workload, on_progress: ProgressCallback
) -> GpuVerdict:
    """Run a program beside the workload's own on the GPUs, as `backend` asks.

    With `auto` GPUs take part where all that they need is here and the original runs on them; with
    `cuda` they must.

    Raises:
        MissingToolError: with `cuda`, something is missing.
        UnsupportedError: with `cuda`, the program starts its ranks in a way that we cannot.
    """
    if backend == EMULATOR:
        return GpuVerdict(StepStatus.SKIPPED, "switched off")
    try:
        result = evaluate(program, workload, backend=CUDA, on_progress=on_progress)
    except (MissingToolError, UnsupportedError) as error:
        if backend != AUTO:
            raise
        return GpuVerdict(StepStatus.SKIPPED, error.message)
    except BadInputError as error:  # the original fails on the GPUs
        status = StepStatus.SKIPPED if backend == AUTO else StepStatus.FAILED
        return GpuVerdict(status, error.message)
    if result.passed:
        return GpuVerdict(StepStatus.DONE, evaluation=result)
    errors = [i.finding for i in result.findings if i.finding.severity is Severity.ERROR]
    first = errors[0]
    if backend == AUTO and all(one.kind == "unsupported" for one in errors):
        return GpuVerdict(StepStatus.SKIPPED, first.message)  # such as GIN between these GPUs
    return GpuVerdict(StepStatus.FAILED, f"on the GPUs: {first.kind}: {first.message}", result)
