"""The server: static pages, the API, and the port that it listens at."""

import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from warploom.core.errors import BadInputError, MissingToolError, WarploomError
from warploom.core.version import VERSION
from warploom.reports.web import answers, api, news, staged_api
from warploom.reports.web.guard import Guard
from warploom.reports.web.hub import Hub

DEFAULT_PORT = 8321
_CLOSING = 1  # seconds that streams have to end


def app_for(hub: Hub, token: str = "") -> FastAPI:
    """Return the application that shows a hub's runs.

    Raises:
        MissingToolError: the files of the pages are not installed.
    """
    static = Path(str(files("warploom.reports.web").joinpath("static")))
    if not (static / "index.html").is_file():
        raise MissingToolError(
            "the pages of warploom visualize are not installed", file=str(static),
            hint="install warploom again: pip install 'warploom[web]'",
        )  # fmt: skip

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        yield
        hub.close()

    app = FastAPI(
        title="warploom visualize", version=VERSION, docs_url=None, redoc_url=None, lifespan=life
    )
    app.state.hub = hub
    app.state.leaving = lambda: False
    app.include_router(api.router)
    app.include_router(staged_api.router)
    app.include_router(news.router)
    app.add_exception_handler(WarploomError, answers.told)
    app.add_exception_handler(OverflowError, answers.too_large)
    for kind in answers.DAMAGES:
        app.add_exception_handler(kind, answers.damaged)
    app.add_exception_handler(RequestValidationError, answers.refused)

    @app.get("/", include_in_schema=False)
    def index() -> FileResponse:  # pyright: ignore[reportUnusedFunction]
        return FileResponse(static / "index.html")

    app.mount("/static", StaticFiles(directory=static))
    app.add_middleware(Guard, token=token)
    return app


def listening(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a `port` at the usual one, or else at any.

    Raises:
        BadInputError: the port is in use, or the host is none of this machine's.
    """
    try:
        return _bound(host, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bound(host, 0)
        where = host if port is None else f"{host}:{port}"
        raise BadInputError(
            f"cannot listen at {where}: {error.strerror}",
            hint="name another --port (or leave it out to get a free one), and as --host an "
            "address of this machine",
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError:
        found.close()
        raise
    return found


def serve(app: FastAPI, place: socket.socket) -> None:
    """Serve until interrupted."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=_CLOSING,
        server_header=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    app.state.leaving = lambda: server.should_exit  # streams end by themselves
    server.run(sockets=[place])
