"""What the times of a run are of: the whole run of a program, or a region that it times."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from warploom.core.records import Json
from warploom.evaluation.times.scored_region import scored_words
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.views import Overview, overview_of


def overview_of_run(run: OpenRun) -> Overview:
    """Return a run in one look, and what its times are of."""
    view = overview_of(run.marks.marks, run.marks.events, run.marks.seconds)
    return replace(view, scored=scored_of(run, view.time_source))


def scored_of(run: OpenRun, time_source: str) -> str:
    """Return what a run's times are of, in words; "" where it has no times.

    Programs themselves tell whether a region was scored: then the whole run's time stands beside
    it. Which one, the report of a run that has ended says, or else its configuration.
    """
    leader = run.leader
    if time_source == "none" or leader is None:
        return ""
    outcome = run.programs.get(leader).outcome
    if outcome.time_ms is None:
        return ""
    if time_source == "modelled" and "whole_ms" not in outcome.public:
        return scored_words(0, time_source)
    return scored_words(_region(run), time_source)


def _region(run: OpenRun) -> int | None:
    facts = run.folder
    told = facts.report.get("scored_region")
    if isinstance(told, int) and told:
        return told
    chosen = _mapping(run.source.settings.get("workload")).get("scored_region")
    if isinstance(chosen, int):
        return chosen
    workload = facts.run.get("workload", run.marks.facts.get("workload"))
    return _of_workload(Path(workload)) if isinstance(workload, str) else None


def _of_workload(place: Path) -> int | None:
    try:
        file = place / "workload.toml" if place.is_dir() else place
        told = tomllib.loads(file.read_text(encoding="utf-8")).get("scored_region")
    except (OSError, ValueError):
        return None
    return told if isinstance(told, int) and told else None


def _mapping(value: Any) -> Mapping[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
