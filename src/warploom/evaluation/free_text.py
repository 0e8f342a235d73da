"""Level 0 of candidates that keep no frame: what is given to their text, and what is said of it."""

from collections.abc import Iterator
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.core.records import Finding, Severity
from warploom.evaluation.legality.expanded_rules import Given
from warploom.evaluation.survey import analyzed
from warploom.evaluation.transform_rule import TransformRule, call_findings
from warploom.toolchain.nvcc import user_contents
from warploom.workload.workload import Workload


def no_frame(trust_candidate: bool) -> Finding:
    """Return the warning that a candidate keeps no frame."""
    judged = (
        "is taken on trust, and only what it computes is judged"
        if trust_candidate
        else "is taken, and judged as a mutable region is"
    )
    return Finding(
        kind="no_frame",
        severity=Severity.WARNING,
        message=f"the trusted program has no mutable regions: the candidate's whole text {judged}",
    )


def given_by(task: Workload, nccl: str) -> Given:
    """Return what the workload's build gives to any candidate's text."""
    files = user_contents(task.build_spec(nccl))
    texts = {name: data.decode("utf-8", "surrogateescape") for name, data in files.items()}
    headers = {Path(name).name: text for name, text in texts.items()} | texts
    headers.pop(task.program.name, None)
    return Given(task.defines, headers)


def host_call_findings(
    task: Workload, nccl: str, path: Path, rule: TransformRule, name: str
) -> Iterator[Finding]:
    """Yield the host's calls that a program which was rewritten as a whole should not have."""
    try:
        _, reports = analyzed(task, nccl=nccl, program=path)
    except BadInputError as error:
        yield Finding("build", Severity.ERROR, error.message, error.hint, error.file, error.line)
        return
    yield from call_findings(reports, rule, name)
