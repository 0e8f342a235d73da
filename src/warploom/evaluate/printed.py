"""What a program prints about itself. Recorded in every report, believed in none."""

import re

_FAIL = re.compile(r"\b(?:FAIL(?:ED|URE)?|MISMATCH(?:ES)?|INCORRECT)\b", re.IGNORECASE)
_PASS = re.compile(r"\b(?:PASS(?:ED)?|SUCCESS(?:FUL|FULLY)?|CORRECT)\b", re.IGNORECASE)
_NONE_WRONG = re.compile(r"\b(?:0|no|zero)\s+(?:mismatch(?:es)?|fail(?:ed|ures?))", re.IGNORECASE)


def printed_verdict(text: str) -> str:
    """Return "FAIL" where any line says so, "PASS" where one does and none fails, else ""."""
    plain = _NONE_WRONG.sub("", text)
    if _FAIL.search(plain):
        return "FAIL"
    return "PASS" if _PASS.search(plain) else ""
