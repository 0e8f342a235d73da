"""Whether a candidate's results depend on variables that nobody sets.

Most units hold a pattern there, so that such results are wrong. What this adds: what the compiler
is sure of (of dangling pointers, too), and candidates with units that are not compiled so, because
g++ may clear more than it should (emulator/building/unset_values.py). These are built twice more.
What g++ clears is the same in both, so that only what depends on the variables differs.
"""

from collections.abc import Callable
from dataclasses import replace

from warploom.core.records import Finding, Severity, Verdict
from warploom.emulator import EmulatorBuild, EmulatorRun, build, run

_MESSAGE = "the results depend on what a variable holds that is not set before it is read"
_HINT = "give each variable a value where it is declared: what it holds is not defined"


def unset_findings(
    program: EmulatorBuild,
    trusted: EmulatorBuild,
    first: EmulatorRun,
    is_wrong: Callable[[EmulatorRun], bool],
) -> list[Finding]:
    """Return what says that a candidate depends on what nobody sets.

    Args:
        program: the candidate.
        trusted: the program that it is compared with: what it uses unset is no fault here.
        first: a run of the candidate.
        is_wrong: whether the results of a run are not those of the reference.
    """
    known = {(one.kind, one.message) for one in trusted.warned}
    found = [
        one.finding(Severity.ERROR)
        for one in program.warned
        if (one.kind, one.message) not in known
    ]
    if found or program.filled or first.verdict != Verdict.OK:
        return found
    options = replace(first.options, trace=0)
    filled = [
        build(replace(program.spec, filled=how), overlay=program.overlay)
        for how in ("pattern", "zero")
    ]
    runs = [run(one, options) for one in filled]
    if len({(run.verdict, is_wrong(run)) for run in runs}) == 1:
        return []
    file = str(program.spec.program)
    return [Finding("uninitialized_read", Severity.ERROR, _MESSAGE, _HINT, file)]
