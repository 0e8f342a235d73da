"""What explains a failure that nothing else explains.

The runtime suspects what is right in some programs and wrong in others, such as lanes of a warp
that hand values on by volatile accesses (access/volatile_lanes.h). Where a program's own check
fails, and no defect says why, that is told.
"""

from collections.abc import Sequence
from dataclasses import replace

from warploom.core.records import Verdict
from warploom.emulator import EmulatorRun


def with_suspicions(outcomes: Sequence[EmulatorRun]) -> list[EmulatorRun]:
    """Return `outcomes`, those of a failure that is not explained with what may explain it."""
    return [
        replace(outcome, findings=(*outcome.suspicions, *outcome.findings))
        if outcome.verdict is Verdict.FAILED and any(outcome.exit_codes.values())
        else outcome
        for outcome in outcomes
    ]
