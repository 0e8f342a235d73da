"""Keeps what was said of failed attempts, so that a run that resumes judges none of them again.

Only failures are taken from a folder: that a program is good is always judged anew.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from warploom.core.ids import digest
from warploom.core.jsontext import write_json
from warploom.core.version import VERSION
from warploom.evaluation.records import Evaluation
from warploom.transform.config import TransformConfig
from warploom.workload.workload import Workload

_FILE = "verdict.json"


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What was said of an attempt; `key` names the program and all that the verdict depends on."""

    key: str
    evaluation: Evaluation
    diagnosis: str


def verdict_key(text: str, workload: Workload, config: TransformConfig, about: str) -> str:
    """Return a digest of a program, what it is judged by, and `about` (stage, API, origin)."""
    settings = {
        name: value
        for name, value in asdict(workload).items()
        if name not in ("root", "program", "include_dirs")  # places, and the text is told apart
    }
    program = workload.program.read_bytes()
    judged_by = (
        config.nvcc, config.seeds, config.inputs, config.timings,
        config.diagnostic_rerun,
    )  # fmt: skip
    return digest(
        (
            VERSION, text.encode("utf-8", "surrogateescape"), program, repr(settings),
            repr(judged_by), about,
        )
    )  # fmt: skip


def load_failure(folder: Path, key: str) -> FailedAttempt | None:
    """Return what is kept of a failed attempt with this key; None where nothing is, or is sound."""
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        kept = TypeAdapter(FailedAttempt).validate_json(path.read_bytes())
    except ValidationError:  # of another version, or changed by hand: judged again
        return None
    return None if kept.key != key or kept.evaluation.passed else kept


def keep_failure(folder: Path, failed: FailedAttempt) -> None:
    """Write what was said of a failed attempt into its folder."""
    write_json(folder / _FILE, failed)
