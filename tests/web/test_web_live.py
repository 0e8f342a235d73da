"""Every view in a real Chromium on a run that grows, and on one whose every text is hostile."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_web_pages import HOSTILE, TABS, VIEWS, opened
from web_server import Watched, add_files, serving

from warploom.testing.made_run import MadeRun

# --- a run that goes on ---


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[MadeRun, str]]:
    """A run whose lock is held, as a search holds it, and the address of its server."""
    made = MadeRun(tmp_path / "live", paid=True)
    made.begin(4, finished=False)
    handle = os.open(made.folder / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with serving(made.folder) as address:
        yield made, address
    os.close(handle)


def test_candidates_appear_as_they_land(watched: Watched, live: tuple[MadeRun, str]) -> None:
    made, address = live
    count = 4
    for view in VIEWS[:-1]:
        page = opened(watched, address, made, view)
        assert page.inner_text("#status") == f"running, {count} programs"
        before = page.inner_text("main"), page.locator("main canvas").count() and _picture(page)
        made.grow(count + 1, 9)
        count += 9
        page.wait_for_selector(f"#status >> text={count} programs")
        page.wait_for_timeout(400)
        after = page.inner_text("main"), page.locator("main canvas").count() and _picture(page)
        watched.kept(f"live-{view}")
        if view != "summaries":
            assert after != before, view
    assert watched.complaints == []


def _picture(page: Any) -> str:
    return str(page.locator("main canvas").first.evaluate("canvas => canvas.toDataURL()"))


def test_a_reload_in_the_middle_of_the_stream_loses_nothing(
    watched: Watched, live: tuple[MadeRun, str]
) -> None:
    made, address = live
    page = opened(watched, address, made, "programs")
    made.grow(5, 2)
    page.reload()
    made.grow(7, 2)
    page.wait_for_selector("#status >> text=8 programs")
    page.wait_for_selector(".pages >> text=of 8 programs")
    assert page.locator("tbody tr").count() == 8


def test_an_empty_run_is_followed(watched: Watched, tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "empty")
    made.begin(0, finished=False)
    with serving(made.folder) as address:
        page = opened(watched, address, made, "overview")
        assert "No program has been judged yet" in page.inner_text("main")
        made.grow(1, 2)
        page.wait_for_selector("main canvas")
        for view in VIEWS[:-1]:
            opened(watched, address, made, view)
        assert watched.complaints == []


def test_a_server_that_went_away_is_told(watched: Watched, tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.begin(3)
    with serving(made.folder) as address:
        page = opened(watched, address, made, "overview")
    page.wait_for_selector("#status >> text=no connection")
    page.click("nav a:has-text('Failures')")
    page.wait_for_selector("text=/does not answer|cannot be shown/")


# --- hostile text ---


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MadeRun, str]]:
    made = MadeRun(tmp_path_factory.mktemp("hostile") / "run<b>x", text=HOSTILE, paid=True)
    made.begin(16)
    add_files(made)
    with serving(made.folder) as address:
        yield made, address


def test_script_in_any_field_stays_text(watched: Watched, hostile: tuple[MadeRun, str]) -> None:
    made, address = hostile
    for view in VIEWS:
        page = opened(watched, address, made, view)
        for tab in TABS if view.startswith("program/") else ():
            page.click(f"[data-tab={tab}]")
            page.wait_for_timeout(150)
        for canvas in page.locator("main canvas").all():
            canvas.hover()
        for picture in page.locator("main svg.bars").all():
            picture.press("ArrowDown")
        page.wait_for_timeout(100)
        watched.kept(f"hostile-{view.replace('/', '-')}")
        assert page.evaluate("window.hit") is None, view
        assert page.locator("main script, main img, main iframe, main object").count() == 0, view
        assert page.locator("svg[onload]").count() == 0, view
        links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.href)")
        assert all(link.startswith((f"{address}/", "blob:")) for link in links), view
        assert watched.complaints == [], view


def test_a_page_of_another_site_reads_nothing(
    watched: Watched, address: str, finished: MadeRun, tmp_path: Path
) -> None:
    page = watched.page
    other = MadeRun(tmp_path / "other")
    other.begin(1)
    with serving(other.folder) as elsewhere:
        page.goto(f"{elsewhere}/openapi.json".replace("127.0.0.1", "localhost"))
        read = page.evaluate(
            "url => fetch(url).then(answer => answer.text()).catch(error => 'refused')",
            f"{address}/api/runs",
        )
        assert read == "refused"
        read = page.evaluate(
            """url => new Promise(done => {
                const one = document.createElement('script');
                one.src = url;
                one.onload = () => done('ran');
                one.onerror = () => done('refused');
                document.documentElement.append(one);
            })""",
            f"{address}/static/main.js",
        )
        assert read == "refused"


def test_a_programs_page_stays_while_others_land(
    watched: Watched, live: tuple[MadeRun, str]
) -> None:
    made, address = live
    page = opened(watched, address, made, "program/3")
    before = page.inner_text("main h1")
    made.grow(5, 4)
    page.wait_for_selector("#status >> text=8 programs")
    assert page.inner_text("main h1") == before
    page.click("[data-tab=code]")
    page.wait_for_selector("[role=tabpanel] >> text=#include <nccl.h>")
    watched.kept("live-program")
    assert watched.complaints == []
