"""`warploom plot KIND RUN -o FILE`."""

from collections.abc import Callable
from pathlib import Path

from warploom.cli.output import out, print_json, progress, say, short_path, warn_without_sandbox
from warploom.core.errors import BadInputError
from warploom.reports.formats.files import require_place, write_text
from warploom.reports.plots.canvas import MOVING, require_format, require_matplotlib, require_moving
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.runs import one_run

KINDS = ("improvement", "lineage", "islands", "pareto", "similarity", "cost", "timeline",
         "roofline", "replay", "path")  # fmt: skip


def run_plot(
    kind: str,
    run: Path,
    output: Path | None,
    *,
    number: int | None,
    finding: int | None,
    as_json: bool,
) -> int:
    """Draw one plot; returns the exit code.

    Raises:
        BadInputError: there is no such kind or run, or the run has not what the plot needs.
        MissingToolError: matplotlib is not installed.
    """
    if kind not in KINDS:
        raise BadInputError(f"there are the plots {', '.join(KINDS)}; got {kind!r}")
    if number is not None and kind not in ("timeline", "replay"):
        raise BadInputError("--program is for timeline and replay: others show the whole run")
    if finding is not None and kind != "replay":
        raise BadInputError("--finding is for replay: it names one of a program's findings")
    target = output or Path(f"{kind}.html" if kind == "path" else f"{kind}.svg")
    if kind != "path":
        require_format(target)
        require_matplotlib()
    elif target.suffix.lower() in MOVING:
        require_moving(target)
    elif target.suffix.lower() not in (".html", ".htm"):
        raise BadInputError("the path is written as .html, .gif or .mp4", file=str(target))
    require_place(target)
    source = one_run(run)
    with OpenRun.open(source) as opened:
        _draw(kind, opened, target, (number, finding), quiet=as_json)
    if as_json:
        print_json({"plot": str(target), "kind": kind, "run": source.name})
    else:
        out(f"{short_path(target)}: {kind} of {source.title}")
    return 0


def _draw(
    kind: str, run: OpenRun, target: Path, which: tuple[int | None, int | None], *, quiet: bool
) -> None:
    if kind == "path":
        _draw_path(run, target)
        return
    if kind == "timeline":
        _draw_timeline(run, target, which[0], quiet=quiet)
        return
    if kind == "replay":
        _draw_replay(run, target, which, quiet=quiet)
        return
    from warploom.reports.plots import kinds, timing

    drawing: dict[str, Callable[[OpenRun, Path], None]] = {
        "improvement": kinds.draw_improvement,
        "lineage": kinds.draw_lineage,
        "islands": kinds.draw_islands,
        "pareto": kinds.draw_pareto,
        "similarity": kinds.draw_similarity,
        "cost": kinds.draw_cost,
        "roofline": timing.draw_roofline,
    }
    drawing[kind](run, target)


def _draw_timeline(run: OpenRun, target: Path, number: int | None, *, quiet: bool) -> None:
    from warploom.reports.plots.timing import draw_timeline, kept_timeline

    asked = run.leader if number is None else number
    if asked is None:
        raise BadInputError("the run has no correct program yet", file=run.source.place)
    warn_without_sandbox()
    with progress(not quiet) as on_progress:
        shown = kept_timeline(run, asked, on_progress)
    draw_timeline(shown, asked, target)


def _draw_replay(
    run: OpenRun, target: Path, which: tuple[int | None, int | None], *, quiet: bool
) -> None:
    from warploom.reports.plots.replay import draw_replay, kept_replay, told_events

    warn_without_sandbox()
    with progress(not quiet) as on_progress:
        page = kept_replay(run, *which, on_progress)
    draw_replay(page, target)
    say(f"program {page.number}, finding {page.at}: {told_events(page.events)}")


def _draw_path(run: OpenRun, target: Path) -> None:
    if target.suffix.lower() in MOVING:
        from warploom.reports.plots.moving import write_moving

        write_moving(run, target)
        return
    from warploom.reports.plots.player import player_html

    write_text(target, player_html(run))
