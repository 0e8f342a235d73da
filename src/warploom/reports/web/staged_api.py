"""The API of transforms and syntheses: what their folders hold, as JSON."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from warploom.reports.queries.staged import StagedRun, staged_run, staged_text
from warploom.reports.web.answers import ERRORS, MissingTextError, attached
from warploom.reports.web.hub import Hub

router = APIRouter(prefix="/api/staged", responses=ERRORS)


def _hub(request: Request) -> Hub:
    hub = request.app.state.hub
    assert isinstance(hub, Hub)
    return hub


@router.get("/{key}")
def staged(request: Request, key: str) -> StagedRun:
    """Return a transform or a synthesis: its stages, attempts, checks and roofline."""
    return staged_run(_hub(request).staged(key))


@router.get("/{key}/text", response_class=PlainTextResponse)
def text(request: Request, key: str, name: str) -> PlainTextResponse:
    """Return one of the texts that the run names: a program, a difference, a candidate."""
    found = staged_text(_hub(request).staged(key), name)
    if found is None:
        raise MissingTextError(f"the run has no text {name!r}")
    return PlainTextResponse(found, headers=attached(name.rpartition("/")[2]))
