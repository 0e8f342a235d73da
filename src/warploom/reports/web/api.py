"""The API of the pages: what is known of runs, as JSON. Described at /openapi.json."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

from warploom.reports.queries.details import ModelCall, ProgramDetail, calls_of, detail_of
from warploom.reports.queries.found import FoundKind, found_in
from warploom.reports.queries.graph import Graph, graph_of
from warploom.reports.queries.infos import RunInfo
from warploom.reports.queries.nearness import (
    Likeness,
    Matrix,
    Plane,
    embeddings_in,
    likeness_of,
    plane_of,
)
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.ordering import Order
from warploom.reports.queries.programs import (
    MOST_ON_A_PAGE,
    ProgramFilter,
    ProgramPage,
    SortKey,
    Status,
)
from warploom.reports.queries.replays import FindingPage, finding_page
from warploom.reports.queries.scored import overview_of_run
from warploom.reports.queries.space import Lever, space_of
from warploom.reports.queries.table import csv_lines
from warploom.reports.queries.timelines import ShownTimeline, timeline_of
from warploom.reports.queries.views import (
    Failure,
    Group,
    Migration,
    Overview,
    Summary,
    failures_of,
    groups_of,
    members_of,
    migrations_of,
    summaries_of,
)
from warploom.reports.queries.weights import bandit_settings, weights_of
from warploom.reports.web.answers import ERRORS, MissingTextError, attached
from warploom.reports.web.hub import Hub

_MOST_ALIKE = 60
_WORD = 300
_MOST = 2**63 - 1  # that a database holds

router = APIRouter(prefix="/api", responses=ERRORS)


def _hub(request: Request) -> Hub:
    hub = request.app.state.hub
    assert isinstance(hub, Hub)
    return hub


def _run(request: Request, key: str) -> OpenRun:
    return _hub(request).run(key)


TheHub = Annotated[Hub, Depends(_hub)]
Run = Annotated[OpenRun, Depends(_run)]


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run in one look, and what its folder says."""

    info: RunInfo
    overview: Overview
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Islands:
    """Each island's correct programs, and every copy between them."""

    members: dict[int, list[int]]
    groups: list[Group]
    migrations: list[Migration]


@dataclass(frozen=True, slots=True)
class Proposers:
    """What operators, proposers and models came to. `models` are those that were asked.

    `weights` are their indices in the bandit that chooses among them: the highest is asked next.
    """

    operators: list[Group]
    proposers: list[Group]
    models: list[Group]
    weights: dict[str, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """How two programs' texts differ, as a unified difference."""

    before: int
    after: int
    diff: str


@router.get("/runs")
def runs(hub: TheHub) -> list[RunInfo]:
    """Return the runs that are shown here; new ones are looked for."""
    hub.find()
    return hub.infos()


@router.get("/runs/{key}")
def overview(key: str, hub: TheHub, run: Run) -> RunPage:
    """Return a run in one look."""
    view = hub.kept(
        key, "overview",
        overview_of_run,
    )  # fmt: skip
    info = next(one for one in hub.infos() if one.key == key)
    told = run.folder
    return RunPage(info, view, {**run.marks.facts, **told.run, **told.report})


def _wanted(
    sort: SortKey = "number",
    descending: bool = False,
    status: Status = "all",
    island: Annotated[int | None, Query(ge=0, le=_MOST)] = None,
    generation: Annotated[int | None, Query(ge=0, le=_MOST)] = None,
    operator: Annotated[str, Query(max_length=_WORD)] = "",
    proposer: Annotated[str, Query(max_length=_WORD)] = "",
    model: Annotated[str, Query(max_length=_WORD)] = "",
    failure: Annotated[str, Query(max_length=_WORD)] = "",
    search: Annotated[str, Query(max_length=_WORD)] = "",
) -> Order:
    wanted = ProgramFilter(status, island, operator, proposer, model, failure, generation, search)
    return Order(wanted, sort, descending)


@router.get("/runs/{key}/programs")
def programs(
    key: str,
    hub: TheHub,
    run: Run,
    wanted: Annotated[Order, Depends(_wanted)],
    offset: Annotated[int, Query(ge=0, le=_MOST)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ON_A_PAGE)] = 100,
) -> ProgramPage:
    """Return a page of programs, filtered and sorted."""
    if wanted.from_marks:
        numbers = hub.order(key, wanted)
        rows = run.programs.rows(numbers[offset : offset + limit])
        return ProgramPage(len(numbers), offset, rows)
    return run.programs.page(
        wanted.filter, wanted.sort, descending=wanted.descending, offset=offset, limit=limit
    )


@router.get("/runs/{key}/programs.csv", response_class=StreamingResponse)
def programs_csv(run: Run, wanted: Annotated[Order, Depends(_wanted)]) -> StreamingResponse:
    """Return all programs that the filter lets through, as CSV."""
    rows = run.programs.all(wanted.filter, wanted.sort, descending=wanted.descending)
    lines: Iterator[str] = csv_lines(rows)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8",
                             headers=attached("programs.csv"))  # fmt: skip


@router.get("/runs/{key}/programs/{number}")
def program(run: Run, number: int) -> ProgramDetail:
    """Return a program, whole; a very long text is cut."""
    return detail_of(run.programs.get(number), run.marks.marks, run.marks.events)


@router.get("/runs/{key}/programs/{number}/code", response_class=PlainTextResponse)
def code(run: Run, number: int) -> PlainTextResponse:
    """Return a program's text as it is."""
    one = run.programs.get(number)
    name = f"program-{number}.{'py' if one.language == 'python' else 'cu'}"
    content = one.code.encode("utf-8", "surrogateescape")
    return PlainTextResponse(content, headers=attached(name))


@router.get("/runs/{key}/programs/{number}/diff")
def diff(run: Run, number: int, to: int) -> Difference:
    """Return how a program differs from another one, `to`."""
    from warploom.reports.queries.clean import clean

    return Difference(to, number, clean(run.programs.diff(to, number)))


@router.get("/runs/{key}/programs/{number}/calls")
def calls(run: Run, number: int) -> list[ModelCall]:
    """Return the prompts and replies of language models for an attempt."""
    run.programs.get(number)
    return calls_of(run.source.folder, number)


@router.get("/runs/{key}/programs/{number}/timeline")
def timeline(run: Run, number: int) -> ShownTimeline | None:
    """Return when what ran on each rank and stream, where `warploom plot timeline` kept it."""
    run.programs.get(number)
    return timeline_of(run.source.folder, number)


@router.get("/runs/{key}/programs/{number}/findings/{at}")
def finding(run: Run, number: int, at: int) -> FindingPage:
    """Return a finding, counted from 1: its two places, its cure, what each rank did before it."""
    found = finding_page(run.programs.get(number), at, run.source.folder)
    if found is None:
        raise MissingTextError(f"program {number} has no finding {at}")
    return found


@router.get("/runs/{key}/graph")
def graph(run: Run, after: Annotated[int, Query(ge=0)] = 0) -> Graph:
    """Return the programs behind the first `after` as columns, for views that draw them all."""
    return graph_of(run.marks.marks, run.marks.events, after)


@router.get("/runs/{key}/islands")
def islands(key: str, hub: TheHub) -> Islands:
    """Return islands and migrations."""

    def make(run: OpenRun) -> Islands:
        marks, events = run.marks.marks, run.marks.events
        return Islands(members_of(marks, events), groups_of(marks, "island"), migrations_of(events))

    return hub.kept(key, "islands", make)


@router.get("/runs/{key}/failures")
def failures(key: str, hub: TheHub) -> list[Failure]:
    """Return failures by kind."""
    return hub.kept(key, "failures", lambda run: failures_of(run.marks.marks))


@router.get("/runs/{key}/findings")
def findings(key: str, hub: TheHub) -> list[FoundKind]:
    """Return findings by kind, warnings included."""
    return hub.kept(key, "findings", lambda one: found_in(
        one.programs.columns(("number", "findings"))))  # fmt: skip


@router.get("/runs/{key}/proposers")
def proposers(key: str, hub: TheHub) -> Proposers:
    """Return what operators, proposers and models came to, and what they cost."""

    def make(run: OpenRun) -> Proposers:
        marks = run.marks.marks
        models = [one for one in groups_of(marks, "model") if one.name]
        weights = weights_of(marks, bandit_settings(run.source.settings))
        return Proposers(
            groups_of(marks, "operator"), groups_of(marks, "proposer"), models, weights
        )

    return hub.kept(key, "proposers", make)


@router.get("/runs/{key}/space")
def space(key: str, hub: TheHub) -> list[Lever]:
    """Return which directives were tried, and how they scored."""
    names = ("number", "directives", "changes")
    return hub.kept(
        key, "space", lambda one: space_of(one.marks.marks, one.programs.columns(names), one.leader)
    )


@router.get("/runs/{key}/plane")
def plane(key: str, hub: TheHub) -> Plane:
    """Return programs in two dimensions by their embeddings, with groups."""
    return hub.kept(key, "plane", lambda one: plane_of(*_embeddings(one)))


@router.get("/runs/{key}/similarity")
def similarity(
    key: str, hub: TheHub, count: Annotated[int, Query(ge=1, le=_MOST_ALIKE)] = 40
) -> Likeness:
    """Return how like each other the best programs are."""

    def make(one: OpenRun) -> Likeness:
        numbers, vectors = _embeddings(one)
        return likeness_of(numbers, vectors, one.marks.marks, count)

    return hub.kept(key, f"similarity {count}", make)


@router.get("/runs/{key}/summaries")
def summaries(run: Run) -> list[Summary]:
    """Return what the search said of itself, oldest first."""
    return summaries_of(run.marks.events)


def _embeddings(run: OpenRun) -> tuple[list[int], Matrix]:
    return embeddings_in(run.programs.columns(("number", "embedding")))
