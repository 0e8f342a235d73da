"""News of a run as server-sent events: one each time that it has grown, or changed its state."""

import json
from collections.abc import AsyncIterator

import anyio
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from warploom.core.errors import WarploomError
from warploom.reports.web.answers import ERRORS
from warploom.reports.web.hub import Hub

_EVERY = 0.4  # seconds between two looks
_SILENCE = 15.0  # seconds after which a comment keeps the connection open

router = APIRouter(prefix="/api", responses=ERRORS)


@router.get("/runs/{key}/news", response_class=StreamingResponse)
async def news(request: Request, key: str) -> StreamingResponse:
    """Stream `event: grown` with {attempts, events, state}, now and at each change.

    Nothing is lost by a reload or a broken connection: the first event tells the present.
    """
    hub = request.app.state.hub
    assert isinstance(hub, Hub)
    await run_sync(hub.run, key)
    return StreamingResponse(
        _stream(request, hub, key),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _stream(request: Request, hub: Hub, key: str) -> AsyncIterator[str]:
    told, silent = "", 0.0
    yield "retry: 1000\n\n"
    while not request.app.state.leaving() and not await request.is_disconnected():
        try:
            now = await run_sync(_state_of, hub, key)
        except WarploomError as error:  # the database went away: say so, and look again
            now = json.dumps({"error": error.message})
        if now != told:
            told, silent = now, 0.0
            yield f"event: grown\ndata: {now}\n\n"
        elif silent >= _SILENCE:
            silent = 0.0
            yield ": still here\n\n"
        await anyio.sleep(_EVERY)
        silent += _EVERY


def _state_of(hub: Hub, key: str) -> str:
    run = hub.run(key)
    state = run.folder.state if run.source.folder else "stopped"
    return json.dumps(
        {"attempts": len(run.marks.marks), "events": len(run.marks.events), "state": state}
    )
