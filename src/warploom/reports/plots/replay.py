"""Replays the run that showed a finding, and draws what each rank did before it."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warploom.core.errors import BadInputError, WarploomError
from warploom.evaluation.check import check
from warploom.evaluation.runs.plan import ProgressCallback, parse_replay
from warploom.reports.formats.files import write_text
from warploom.reports.plots.canvas import ACCENT, BAD, DIM, figure
from warploom.reports.plots.keeping import room_for
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.replays import FindingPage, ReplayEvent, finding_page, replay_path
from warploom.store.records import StoredProgram
from warploom.workload.workload import load_target

_KINDS = (("", ACCENT, "event"), ("other", "#e69f00", "at the other access"),
          ("own", BAD, "at the finding's line"))  # fmt: skip


def kept_replay(
    run: OpenRun, number: int | None, at: int | None, on_progress: ProgressCallback
) -> FindingPage:
    """Return a finding with what led to it; run in the emulator where the folder has no replay.

    Without a `number` it is the newest program with a finding that a run showed, without `at` the
    first such finding of it.

    Raises:
        BadInputError: the run has no folder, workload or such finding, or it is not seen again.
    """
    folder = run.source.folder
    if folder is None:
        raise BadInputError("a replay needs the folder of the run", file=run.source.place)
    program = _program(run, number)
    place = _finding_at(program, at, folder)
    page = finding_page(program, place, folder)
    assert page is not None
    if not page.finding.replay:
        raise BadInputError(
            f"finding {place} of program {program.number} is of no run that could be repeated",
            file=str(folder),
        )
    if not page.replayed:
        spec = page.finding.replay
        text = _replay(run, folder, program, spec, on_progress)
        with room_for(folder, "replays") as kept:
            write_text(replay_path(kept, program.number, spec), text)
            page = finding_page(program, place, kept)
        assert page is not None
    if not page.events:
        raise BadInputError(
            f"the replay {page.finding.replay} of program {program.number} does not show its "
            f"{page.finding.kind} with what led there",
            file=str(folder), hint="the program's page in `warploom visualize` tells the finding",
        )  # fmt: skip
    return page


def draw_replay(page: FindingPage, path: Path) -> None:
    """Draw the events of each rank's host and kernels, in the order in which they happened."""
    lanes = sorted({(one.rank, one.lane != "host", one.lane) for one in page.events}, reverse=True)
    rows = {(rank, lane): at for at, (rank, _, lane) in enumerate(lanes)}
    order = {one.seq: at for at, one in enumerate(page.events, 1)}
    title = f"program {page.number}: before the {page.finding.kind}"
    with figure(path, title, height=max(3.0, 0.42 * len(lanes) + 1.5)) as (drawn, axes):
        for place, color, words in _KINDS:
            some = [one for one in page.events if one.place == place]
            axes.scatter([order[one.seq] for one in some],
                         [rows[one.rank, one.lane] for one in some], s=34 if place else 18,
                         color=color, label=words, zorder=3 if place else 2)  # fmt: skip
        axes.set_yticks(range(len(lanes)), [f"rank {r}, {lane}" for r, _, lane in lanes],
                        fontsize=8)  # fmt: skip
        axes.set_xlabel("events in their order")
        axes.set_ylim(-0.7, len(lanes) - 0.3)
        axes.tick_params(axis="x", colors=DIM)
        drawn.legend(ncols=3, fontsize=9, loc="outside lower center")


def _program(run: OpenRun, number: int | None) -> StoredProgram:
    if number is not None:
        return run.programs.get(number)
    rows = run.programs.columns(("number", "findings"))
    shown = [row[1] for row in rows if any(one.get("timing") for one in row[2])]
    if not shown:
        raise BadInputError("no program of the run has a finding that a run showed",
                            file=run.source.place)  # fmt: skip
    return run.programs.get(shown[-1])


def _finding_at(program: StoredProgram, at: int | None, folder: Path) -> int:
    found = program.outcome.findings
    if at is not None and at <= len(found):
        return at
    shown = [place for place, one in enumerate(found, 1) if one.get("timing")]
    if at is not None or not shown:
        have = f"{len(found)} findings" if found else "no finding"
        raise BadInputError(
            f"program {program.number} has {have}"
            + ("" if at is not None else ", of which no run showed any"),
            file=str(folder),
        )
    return shown[0]


def _replay(
    run: OpenRun, folder: Path, program: StoredProgram, spec: str, on_progress: ProgressCallback
) -> str:
    told = run.folder.run.get("workload")
    if not isinstance(told, str) or not Path(told).exists():
        raise BadInputError(f"the workload is not there any more: {told}", file=str(folder))
    workload = load_target(told)
    with tempfile.TemporaryDirectory(prefix="warploom-replay-") as place:
        text = Path(place) / workload.program.name
        text.write_bytes(program.code.encode("utf-8", "surrogateescape"))
        includes = (*workload.include_dirs, workload.program.parent)
        trial = replace(workload, program=text, include_dirs=includes)
        try:
            report = check(trial, replay=parse_replay(spec), on_progress=on_progress)
        except WarploomError as error:
            raise BadInputError(
                f"program {program.number} cannot be replayed: {error.message}", file=str(folder)
            ) from None
    findings: Sequence[object] = [item.to_json() for item in report.findings]
    return json.dumps({"replay": spec, "findings": findings})


def told_events(events: Sequence[ReplayEvent]) -> str:
    """Return how many events of how many ranks there are, in words."""
    ranks = len({one.rank for one in events})
    return f"{len(events)} events of {ranks} {'rank' if ranks == 1 else 'ranks'}"
