"""`warploom visualize`."""

import contextlib
import json
import sys
import webbrowser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from warploom.cli.output import out, say
from warploom.core.errors import BadInputError, MissingToolError
from warploom.reports.queries.infos import RunInfo

_NEEDED = ("fastapi", "uvicorn")


def run_visualize(
    path: Path | None, *, url: str | None, host: str, port: int | None, token: str | None,
    open_page: bool, as_json: bool,
) -> int:  # fmt: skip
    """Serve the pages of runs until interrupted; returns the exit code.

    Raises:
        MissingToolError: the web packages are not installed.
        BadInputError: there is no run, the port is in use, or others could read without a token.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingToolError(
            f"the package {missing[0]} is needed to serve pages, and is not installed",
            hint="pip install 'warploom[web]'",
        )
    if path is not None and url is not None:
        raise BadInputError("name a folder or a database (--db), not both")
    from warploom.reports.web.guard import is_loopback
    from warploom.reports.web.hub import Hub
    from warploom.reports.web.server import app_for, listening, serve

    _require_token(host, token, local=is_loopback(host))
    hub = Hub(path, url)
    infos = hub.infos()
    _require_readable(infos)
    app = app_for(hub, token or "")
    place = listening(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}/"
    full = f"{address}?token={token}" if token else address
    if as_json:
        out(json.dumps({"url": full, "runs": [one.title for one in infos]}))
    else:
        out(f"{len(infos)} {'run' if len(infos) == 1 else 'runs'} at {full}")
        say("Ctrl-C ends it")
    sys.stdout.flush()
    if open_page:
        webbrowser.open(full)
    with contextlib.suppress(KeyboardInterrupt):
        serve(app, place)
    return 0


def _require_token(host: str, token: str | None, *, local: bool) -> None:
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable()):
        raise BadInputError(
            "--token must have 16 characters or more, all of them printable ASCII",
            hint="make one: python3 -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    if not local and token is None:
        raise BadInputError(
            f"--host {host} lets other machines in: that needs a --token which they must know",
            hint="make one: python3 -c 'import secrets; print(secrets.token_urlsafe())'",
        )


def _require_readable(infos: Sequence[RunInfo]) -> None:
    errors = [one for one in infos if one.error]
    if errors and len(errors) == len(infos):
        raise BadInputError(errors[0].error, file=errors[0].place)
    for one in errors:
        say(f"warning: {one.place}: {one.error}")
