"""A server in a thread, and a page whose complaints are kept."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from warploom.reports.web.hub import Hub
from warploom.reports.web.server import app_for, listening
from warploom.testing.made_run import MadeRun


@contextmanager
def serving(path: Path, token: str = "") -> Iterator[str]:
    """Serve the runs of a folder; gives the address."""
    hub = Hub(path, None)
    place = listening("127.0.0.1", 0)
    app = app_for(hub, token)
    config = uvicorn.Config(
        app, log_level="warning", timeout_graceful_shutdown=1
    )  # fmt: skip
    server = uvicorn.Server(config)
    app.state.leaving = lambda: server.should_exit
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        hub.close()
        place.close()


def add_files(made: MadeRun) -> None:
    """Give program 5 a timeline, a prompt and a reply."""
    (made.folder / "timelines").mkdir()
    spans = ",".join(
        f'{{"ph": "X", "name": "work {at}{_quoted(made.text)}", "cat": "kernel", "pid": {at % 2}, '
        f'"tid": 1, "ts": {9 * at}, "dur": 8.0, "args": {{"compute_us": 4.0, '
        f'"communication_us": 3.0, "waiting_us": 1.0}}}}'
        for at in range(12)
    )
    (made.folder / "timelines" / "5.json").write_text(f'{{"traceEvents": [{spans}]}}')
    call = made.folder / "llm" / "attempt-005--diff-1-abc"
    call.mkdir(parents=True)
    (call / "prompt.md").write_text(f"Make it faster.{made.text}")
    (call / "reply.md").write_text(f"Use more blocks.{made.text}")
    (call / "call.json").write_text('{"model": "m", "purpose": "diff", "cost_usd": "0.02"}')


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\x00", "").replace("\x1b", "")


class Watched:
    """A page whose complaints are kept. `kept` puts a screenshot where the environment says."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def kept(self, name: str) -> None:
        """Keep a screenshot in the folder that WARPLOOM_SCREENSHOTS names."""
        folder = os.environ.get("WARPLOOM_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))
