"""`warploom eval --suite`: synthesizes the tasks of a suite and prints a table of outcomes."""

import re
from pathlib import Path

from warploom.cli.first_build import tell_of_first_build
from warploom.cli.judge_options import SuiteChoices
from warploom.cli.output import out, print_json, say, warn_without_sandbox
from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.reference.client import require_torch
from warploom.synthesis.suite import TaskOutcome, files_left_out, find_suite, run_suite, table_text

_ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def require_candidate(candidate: Path | None, target: Path | None) -> tuple[Path, Path]:
    """Return both arguments of `eval`.

    Raises:
        BadInputError: one is missing.
    """
    if candidate is None or target is None:
        raise BadInputError(
            "eval needs a candidate and a program or workload, or --suite NAME",
            hint="warploom eval candidate.cu examples/moe; warploom eval --suite internal",
        )
    return candidate, target


def run_suite_command(choices: SuiteChoices, *, nvcc: bool, jobs: int | None, as_json: bool) -> int:
    """Synthesize a suite; returns 0 where every task is verified or refused by name."""
    require_torch()
    suite = choices.suite or ""
    tasks = find_suite(suite, choices.only or [], choices.limit)
    for file in files_left_out(suite):
        say(f"{file}: no reference or class Model in it, left out")
    warn_without_sandbox()
    if not as_json:
        tell_of_first_build()
    config = SynthesisConfig(tune=1, nvcc=nvcc, architectures=_ARCHITECTURES, jobs=jobs)
    place = choices.folder or Path("suite-" + re.sub(r"\W+", "-", suite).strip("-"))

    def tell(one: TaskOutcome) -> None:
        say(f"{one.task}: {one.status} {one.reason.splitlines()[0] if one.reason else ''}")

    outcomes = run_suite(tasks, config, place, resume=choices.resume, on_done=tell)
    table = table_text(outcomes)
    place.mkdir(parents=True, exist_ok=True)
    (place / "table.md").write_text(table)
    if as_json:
        items: list[Json] = [one.to_json() for one in outcomes]
        print_json({
            "suite": suite, "folder": str(place), "outcomes": items,
            "verified": sum(one.status == "verified" for one in outcomes),
        })  # fmt: skip
    else:
        out(table)
    return int(any(one.status not in ("verified", "refused") for one in outcomes))
