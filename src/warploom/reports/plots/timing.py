"""Plots of one program: when what ran on each rank, and how near to the machine's roof it is."""

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.emulator.running.topology import Topology, find_topology
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import BENCHMARK
from warploom.evaluation.runs.plan import ProgressCallback
from warploom.reports.formats.files import write_text
from warploom.reports.plots.canvas import ACCENT, DIM, INK, KINDS, figure
from warploom.reports.plots.keeping import room_for
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.roofs import peak_gflops
from warploom.reports.queries.timelines import ShownTimeline, timeline_of, timeline_path
from warploom.store.records import StoredProgram

_PARTS = (("compute", KINDS[0], "computing"), ("communication", KINDS[1], "moving data"),
          ("waiting", KINDS[7], "waiting"))  # fmt: skip


def kept_timeline(run: OpenRun, number: int, on_progress: ProgressCallback) -> ShownTimeline:
    """Return a program's modelled timeline; run in the emulator where the folder has none yet.

    It is kept there, unless the folder cannot be written.

    Raises:
        BadInputError: the run has no folder or workload any more, or the program is not correct.
    """
    folder = run.source.folder
    if folder is None:
        raise BadInputError("a timeline needs the folder of the run", file=run.source.place)
    found = timeline_of(folder, number)
    if found is None:
        text = _model(run, folder, run.programs.get(number), on_progress)
        with room_for(folder, "timelines") as place:
            write_text(timeline_path(place, number), text)
            found = timeline_of(place, number)
    assert found is not None, "what was just written can be read"
    return found


def draw_timeline(shown: ShownTimeline, number: int, path: Path) -> None:
    """Draw each rank's host and streams over time."""
    lanes = sorted({(one.rank, one.lane) for one in shown.spans}, reverse=True)
    rows = {lane: at for at, lane in enumerate(lanes)}
    height = max(3.0, 0.34 * len(lanes) + 1.2)
    with figure(path, f"program {number}: modelled timeline", height=height) as (_, axes):
        for one in shown.spans:
            row, at = rows[one.rank, one.lane], one.start
            if one.kind == "host":
                axes.barh(row, one.length, left=at, height=0.5, color="#d3dae4")
                continue
            for part, color, _ in _PARTS:
                length = cast("float", getattr(one, part))
                if length > 0:
                    axes.barh(row, length, left=at, height=0.62, color=color)
                at += length
        for _, color, words in _PARTS:
            axes.barh(0, 0, color=color, label=words)
        if any(one.kind == "host" for one in shown.spans):
            axes.barh(0, 0, color="#d3dae4", label="host")
        names = [f"rank {rank} {shown.lanes.get(f'{rank}/{lane}', '')}" for rank, lane in lanes]
        axes.set_yticks(range(len(lanes)), names, fontsize=8)
        axes.set_xlabel("microseconds")
        axes.legend(ncols=4, fontsize=9, loc="lower right", bbox_to_anchor=(1, 1))


def draw_roofline(run: OpenRun, path: Path) -> None:
    """Operations a second against operations a byte, below the roof of the run's machine.

    The programs' metrics must have `flops` and `bytes`, which a workload's own judge can tell.
    """
    points: list[tuple[float, float, int]] = []
    for _, number, correct, time, public in run.programs.columns(
        ("number", "correct", "time_ms", "public")
    ):
        flops, moved = public.get("flops"), public.get("bytes")
        time = time or public.get("time_ms")
        if correct and flops and moved and time:
            points.append((flops / moved, flops / (time * 1e6), number))
    if not points:
        raise BadInputError(
            "no program of this run has the metrics flops, bytes and time_ms, which a roofline "
            "needs", file=run.source.place,
            hint="a judge of the workload's own can report them (docs/workloads.md)",
        )  # fmt: skip
    machine = _machine(run)
    roof = peak_gflops(machine)
    memory = machine.values["dram_gbs"]
    edge = roof / memory
    with figure(path, f"{run.source.title}: roofline of {machine.name}") as (_, axes):
        low = min(edge, *(one[0] for one in points)) / 4
        high = max(edge, *(one[0] for one in points)) * 4
        axes.loglog(
            [low, edge, high],
            [low * memory, roof, roof],
            color=INK,
            linewidth=1.8,
            label="roof: memory, then arithmetic",
        )
        axes.scatter(
            [one[0] for one in points],
            [one[1] for one in points],
            color=ACCENT,
            s=30,
            label="programs",
        )
        axes.annotate(f"{roof:.0f} GFLOP/s", (high, roof), ha="right", va="bottom", color=DIM)
        axes.annotate(
            f"{memory:.0f} GB/s",
            (low, low * memory),
            xytext=(24, -8),
            color=DIM,
            textcoords="offset points",
        )
        _plain_numbers(axes)
        axes.legend(loc="lower right")
        axes.set_xlabel("operations for each byte")
        axes.set_ylabel("GFLOP/s")


def _plain_numbers(axes: Any) -> None:
    """Have axes with logarithms written out: powers would be mathematics, which text never is."""
    ticker: Any = import_module("matplotlib.ticker")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.set_minor_formatter(ticker.NullFormatter())


def _model(
    run: OpenRun, folder: Path, program: StoredProgram, on_progress: ProgressCallback
) -> str:
    if not program.outcome.correct:
        raise BadInputError(
            f"program {program.number} is not correct: only what passes verification is timed",
            file=str(folder),
        )
    workload = run.folder.run.get("workload")
    if not isinstance(workload, str) or not Path(workload).exists():
        raise BadInputError(f"the workload is not there any more: {workload}", file=str(folder))
    given = run.folder.run.get("inputs")
    inputs = [one for one in given if isinstance(one, int)] if isinstance(given, list) else None
    with tempfile.TemporaryDirectory(prefix="warploom-plot-") as place:
        text = Path(place) / "program.cu"
        text.write_bytes(program.code.encode("utf-8", "surrogateescape"))
        done = evaluate(
            text, Path(workload), level=BENCHMARK, inputs=inputs or None, topology=_machine(run),
            nvcc=False, trust_candidate=True, on_progress=on_progress,
        )  # fmt: skip
    if done.benchmark is None:
        first = done.findings[0].finding.message if done.findings else "it did not verify"
        raise BadInputError(f"program {program.number} cannot be timed: {first}", file=str(folder))
    return json.dumps(done.benchmark.timeline.chrome_trace())


def _machine(run: OpenRun) -> Topology:
    told: Json = run.folder.report.get("topology")
    return find_topology(told if isinstance(told, str) and told else "h200-8")
