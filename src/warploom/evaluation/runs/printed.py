"""What a program prints about itself. Recorded in every report, believed in none."""

import re
from collections.abc import Mapping, Sequence

from warploom.core.records import Finding, Severity
from warploom.emulator import EmulatorRun
from warploom.evaluation.runs.emulated import ended

_FAIL = re.compile(r"\b(?:FAIL(?:ED|URE)?|MISMATCH(?:ES)?|INCORRECT)\b", re.IGNORECASE)
_PASS = re.compile(r"\b(?:PASS(?:ED)?|SUCCESS(?:FUL|FULLY)?|CORRECT)\b", re.IGNORECASE)
_NONE_WRONG = re.compile(r"\b(?:0|no|zero)\s+(?:mismatch(?:es)?|fail(?:ed|ures?))", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w.])[A-Za-z]{3,}(?!\w)")  # no unit, and no part of a number
_NO_NUMBER = frozenset({"nan", "inf"})


def printed_verdict(text: str) -> str:
    """Return "FAIL" where any line says so, "PASS" where one does and none fails, else ""."""
    plain = _NONE_WRONG.sub("", text)
    if _FAIL.search(plain):
        return "FAIL"
    return "PASS" if _PASS.search(plain) else ""


def printed_findings(
    outcomes: Sequence[EmulatorRun], printed: Mapping[int, str]
) -> list[tuple[Finding, ...]]:
    """Return what a transform's runs print otherwise than the original, numbers aside (level 2).

    A program that ends before its own check says less, and one that judges itself says more. Words
    are compared, as lines of several ranks may run into each other.

    Args:
        outcomes: the candidate's runs.
        printed: what the original printed, by seed.
    """
    found: list[tuple[Finding, ...]] = []
    for run in outcomes:
        spec = run.options.run
        before = printed.get(spec.seed)
        if before is None or not ended(run) or run.state != "finished":
            continue
        missing = sorted(_words(before) - _words(run.stdout))
        verdicts = len(_PASS.findall(run.stdout)), len(_PASS.findall(before))
        what = f"{missing[0]!r} is not printed any more" if missing else ""
        if not missing and verdicts[0] > verdicts[1]:
            what = f"a verdict is printed {verdicts[0]} times, and {verdicts[1]} before"
        if what:
            message = f"not verified: the program's own check was changed: {what}"
            hint = "a transform reaches the original's last statement, and prints what it prints"
            found.append(
                (Finding("edited_check", Severity.ERROR, message, hint, seed=spec.seed,
                         timing=spec.timing),)
            )  # fmt: skip
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text)) - _NO_NUMBER
