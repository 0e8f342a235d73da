"""The table of plays, for people and for docs/security.md."""

from collections.abc import Sequence
from io import StringIO

from rich.console import Console
from rich.table import Table

from warploom.core.records import Json
from warploom.testing.attacks.record import Outcome, Played

_HEAD = ("attack", "class", "mode", "verdict", "caught by")


def summary(played: Sequence[Played]) -> dict[str, Json]:
    """Count the outcomes."""
    found: dict[str, Json] = {
        str(outcome): sum(item.outcome is outcome for item in played) for outcome in Outcome
    }
    return {**found, "plays": len(played), "programs": len({item.name for item in played})}


def table(played: Sequence[Played], *, markdown: bool = False) -> str:
    """Return all plays, and a last line that counts them."""
    rows = [
        (p.name, p.kind, str(p.mode), str(p.outcome), _mechanism(p))
        for p in sorted(played, key=lambda p: (p.kind, p.name, p.mode))
    ]
    counts = summary(played)
    named = ", ".join(f"{counts[str(o)]} {o}" for o in Outcome if counts[str(o)])
    last = f"{counts['programs']} programs, {counts['plays']} plays: {named}\n"
    if markdown:
        lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join(lines) + f"\n\n{last}"
    shown = Table(*_HEAD, highlight=False)
    for row in rows:
        shown.add_row(*row)
    text = StringIO()
    Console(file=text, width=160).print(shown, markup=False)
    return text.getvalue() + last


def _mechanism(played: Played) -> str:
    answer = played.answer
    if answer.problem:
        return answer.problem.replace("\n", " ")[:120]
    if answer.leaked:
        return f"leaked to {answer.leaked}"
    if answer.mechanism:
        return f"{answer.mechanism} ({answer.stage})" if answer.stage else answer.mechanism
    if answer.speedup is not None:
        return f"judged right, {answer.speedup:.2f} times as fast"
    return ""
