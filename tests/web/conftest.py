"""A server in a thread, and a real Chromium."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from web_server import Watched, add_files, serving

from warploom.testing.made_run import MadeRun

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
          "--disable-component-update"]  # fmt: skip


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> MadeRun:
    """A run of 60 programs that has ended, with a timeline and a model's call."""
    made = MadeRun(tmp_path_factory.mktemp("finished") / "moe-evolved", paid=True)
    made.begin(60)
    add_files(made)
    return made


@pytest.fixture(scope="session")
def address(finished: MadeRun) -> Iterator[str]:
    """A server that shows the finished run."""
    with serving(finished.folder) as place:
        yield place


def _browser() -> str | None:
    named = os.environ.get("WARPLOOM_TEST_BROWSER", "")
    found = [path for name in (named, *_BROWSERS) if name and (path := shutil.which(name))]
    return found[0] if found else None


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real Chromium: the system's, or the one that playwright has fetched.

    WARPLOOM_TEST_BROWSER names another; where CI sets it to "required", having none is an error.
    It ends with the module: while it lives, playwright's event loop runs in this thread, and no
    other test can run one.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=_browser(), args=_FLAGS)
        except playwright.Error as error:
            if os.environ.get("WARPLOOM_TEST_BROWSER") == "required":
                raise
            pytest.skip(f"no Chromium here (apt install chromium): {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def watched(chromium: Any) -> Iterator[Watched]:
    """A fresh page in a context of its own."""
    context = chromium.new_context(viewport={"width": 1360, "height": 900})
    context.set_default_timeout(30_000)  # a loaded machine
    yield Watched(context.new_page())
    context.close()
