"""Calls that failed, and whose status the program drops: what follows works on something else."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warploom.emulator import EmulatorRun
from warploom.evaluation.survey import Survey

KIND = "api_error"


def with_ignored_errors(outcomes: Sequence[EmulatorRun], facts: Survey) -> list[EmulatorRun]:
    """Return `outcomes` with their failed calls as findings, where the text ignores the status.

    The runtime tells of each call that failed in a process which ended well; a program that looks
    at the status may have gone another way.
    """
    ignored = {
        (_name(item.file), item.line)
        for report in facts.reports
        for item in report.ignored_statuses
    }
    made: list[EmulatorRun] = []
    for outcome in outcomes:
        failed = [found for found in outcome.suspicions if found.kind == KIND]
        told = tuple(f for f in failed if (_name(f.file), f.line) in ignored)
        others = tuple(found for found in outcome.suspicions if found.kind != KIND)
        made.append(replace(outcome, findings=(*outcome.findings, *told), suspicions=others))
    return made


def _name(file: str | Path | None) -> str:
    return Path(file).name if file else ""
