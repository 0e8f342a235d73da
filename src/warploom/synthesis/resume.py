"""What a run writes down at its begin, so that it can go on after whatever ended it.

A run follows from its seed, its reference and what models reply. These are kept: a run that goes on
takes the same steps again, and what was answered or refused before is read, not asked or run again.
"""

import json
from pathlib import Path
from typing import Any

from warploom.core.errors import BadInputError
from warploom.core.folder_lock import taken
from warploom.core.ids import digest
from warploom.core.records import Finding, Severity
from warploom.synthesis.records import BuildOutcome, Check, CorrectnessReport

BEGUN = "run.json"
_PAID = ("attempts", "llm")
"""What a run has that came to candidates."""
_SAME = ("prompt", "reference", "target", "proposer", "ranks")


def begin(folder: Path, facts: dict[str, Any], *, resume: bool) -> dict[str, Any]:
    """Write down how a run begins; with `resume`, return how the one in the folder did.

    Raises:
        BadInputError: there is none to resume, or it was asked something else; or one that came
            to candidates is there, and is not to be resumed.
    """
    path = folder / BEGUN
    if not resume:
        if path.exists() and any((folder / name).exists() for name in _PAID):
            raise taken(folder)
        path.write_text(json.dumps(facts, indent=2) + "\n")
        return facts
    try:
        known: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        raise BadInputError(
            "there is no run to resume", file=str(folder), hint="leave out --resume"
        ) from None
    other = [name for name in _SAME if known.get(name) != facts.get(name)]
    if other or not isinstance(known.get("seed"), int):
        raise BadInputError(
            f"the run to resume must have the same {(other or ['seed'])[0]}, but has another",
            file=str(folder),
        )
    return known


def facts_of(
    run: str, seed: int, prompt: str, reference: Path, target: str, proposer: str, ranks: int = 1
) -> dict[str, Any]:
    """Return what a run is made of; of one rank nothing is said."""
    text = reference.read_text(encoding="utf-8", errors="replace")
    return {"run": run, "seed": seed, "prompt": prompt, "reference": digest([text]),
            "target": target, "proposer": proposer,
            **({"ranks": ranks} if ranks > 1 else {})}  # fmt: skip


def refused_before(stem: Path, text: str, seed: int) -> CorrectnessReport | None:
    """Return the verdict that was written down for this text and trial, if it was a refusal.

    What was accepted is judged again: no file is taken for a proof.
    """
    try:
        same = stem.with_suffix(".cu").read_text(errors="surrogateescape") == text
        data: dict[str, Any] = json.loads(stem.with_suffix(".json").read_text())
    except (OSError, ValueError):
        return None
    if not same or data["passed"] or data["seed"] != seed:
        return None
    return CorrectnessReport(
        passed=False,
        checks=tuple(Check(**check) for check in data["checks"]),
        findings=tuple(
            Finding(f["kind"], Severity(f["severity"]), f["message"], f.get("hint", ""),
                    f.get("file"), f.get("line"))
            for f in data["findings"]
        ),
        builds=tuple(BuildOutcome(**build) for build in data["builds"]),
        cases=data["cases"], skipped=tuple(data["skipped"]), seed=seed, sandbox=data["sandbox"],
        seconds=data["seconds"],
    )  # fmt: skip
