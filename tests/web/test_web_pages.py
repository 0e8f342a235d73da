"""Every view in a real Chromium: on a finished run, on one that grows, and on a hostile one."""

import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from web_server import Watched, serving

from warploom.cli import main
from warploom.reports.queries.runs import one_run
from warploom.testing.made_run import MadeRun

VIEWS = ("overview", "scores", "lineage", "programs", "islands", "space", "proposers", "failures",
         "findings", "plane", "similarity", "summaries", "program/5")  # fmt: skip
TABS = ("difference", "code", "numbers", "lineage", "calls", "timeline")
HOSTILE = (
    "</script></title></textarea><script>window.hit=1;alert(1)</script>"
    '<img src=x onerror="window.hit=1"><svg onload=window.hit=1>"\'`{{7*7}}${window.hit=1}'
    "javascript:window.hit=1\x1b[31m"
)


def opened(watched: Watched, address: str, made: MadeRun, view: str) -> Any:
    """Open a view and wait until it has been drawn."""
    page = watched.page
    page.goto(f"{address}/#/{one_run(made.folder).key}/{view}")
    page.wait_for_selector("main[aria-busy=false] h1")
    page.wait_for_timeout(120)  # a picture is drawn with the next frame
    return page


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_shown_without_complaint_and_axe_finds_no_serious_problem(
    watched: Watched, address: str, finished: MadeRun, view: str
) -> None:
    page = opened(watched, address, finished, view)
    for theme in ("light", "dark"):  # the page draws itself anew when the system's theme changes
        page.emulate_media(color_scheme=theme)
        page.wait_for_selector(f"html[data-theme={theme}] main[aria-busy=false] h1")
        page.wait_for_timeout(120)
        watched.kept(f"{view.replace('/', '-')}-{theme}")
        assert "This cannot be shown" not in page.inner_text("main")
        assert len(page.inner_text("main")) > 80
        for canvas in page.locator("main canvas").all():
            assert _painted(canvas) > 3, "a picture has more than one color"
        assert serious_problems(page) == [], theme
    assert watched.complaints == []


def _painted(canvas: Any) -> int:
    """Return how many different colors a canvas holds."""
    return int(canvas.evaluate(
        """canvas => { const all = canvas.getContext("2d").getImageData(0, 0, canvas.width,
        canvas.height).data; const seen = new Set(); for (let i = 0; i < all.length; i += 4)
        seen.add(all[i] << 16 | all[i + 1] << 8 | all[i + 2]); return seen.size; }"""
    ))  # fmt: skip


def serious_problems(page: Any) -> list[str]:
    """Return what axe-core has to say of a page that is serious or worse."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {node['html']}: {node['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def test_a_programs_page_has_its_parts(watched: Watched, address: str, finished: MadeRun) -> None:
    page = opened(watched, address, finished, "program/5")
    shown = {
        "difference": ".line.add", "code": "text=#include <nccl.h>", "numbers": "text=compute_ms",
        "lineage": "text=From the seed to here", "calls": "text=Use more blocks.",
        "timeline": "text=moving data",
    }  # fmt: skip
    assert set(shown) == set(TABS)
    for tab, words in shown.items():
        page.click(f"[data-tab={tab}]")
        page.wait_for_selector(f"[role=tabpanel] >> {words}")
    assert watched.complaints == []


def test_a_finding_stands_at_its_line(watched: Watched, address: str, finished: MadeRun) -> None:
    page = opened(watched, address, finished, "programs")
    page.select_option("label:has-text('Show') select", "failed")
    page.wait_for_selector("tbody tr:first-child .chip.bad")  # the table before it has others
    page.click("tbody tr:first-child a")
    page.wait_for_selector(".note.error")
    assert "read is not ordered after the write" in page.inner_text(".note.error")
    assert page.locator(".line.hit.error i").inner_text() == "5"
    page.click("a:has-text('both places, the cure')")
    page.wait_for_selector("h1:has-text(', program ')")
    assert "--replay 3:lazy" in page.inner_text("main")
    assert "warploom plot replay RUN --program" in page.inner_text("main")


def test_the_table_filters_sorts_searches_and_turns(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "programs")
    total = page.locator(".pages")
    assert "of 60 programs" in total.inner_text()
    page.click(".pages button >> text=On")
    page.wait_for_selector(".pages >> text=51–60")
    page.fill("input[type=search]", "blocks=3")
    page.wait_for_selector(".pages >> text=1–12 of 12")
    page.click("th button >> text=program")
    page.wait_for_selector("th[aria-sort=ascending]")
    first = page.locator("tbody tr td:first-child").first.inner_text()
    assert first.strip("★ ") == "3"
    assert watched.complaints == []


def test_a_picture_can_be_walked_by_keys(watched: Watched, address: str, finished: MadeRun) -> None:
    page = opened(watched, address, finished, "lineage")
    page.focus("canvas")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    said = page.inner_text("#said")
    assert said.startswith("Program ")
    number = said.split()[1]
    page.keyboard.press("+")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h1:has-text('Program {number}')")
    assert watched.complaints == []


def test_the_heat_map_and_bars_can_be_walked_by_keys(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "failures")
    page.focus("svg.bars")
    page.keyboard.press("ArrowDown")
    first = page.inner_text("#said")
    page.keyboard.press("ArrowDown")
    second = page.inner_text("#said")
    assert re.fullmatch(r"\w+: \d+", first) and re.fullmatch(r"\w+: \d+", second)
    assert first != second == page.inner_text("#tip")
    page.keyboard.press("Tab")
    assert page.locator("#tip").is_hidden()
    page = opened(watched, address, finished, "similarity")
    page.focus("main canvas")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    said = re.fullmatch(r"Programs (\d+) and (\d+): [\d.-]+", page.inner_text("#said"))
    assert said is not None
    page.keyboard.press("Enter")
    page.wait_for_selector(f"h1:has-text('Program {said[1]}')")
    assert watched.complaints == []


def test_figures_are_rounded_and_colors_are_those_of_the_paper(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "lineage")
    page.focus("main canvas")
    page.keyboard.press("ArrowRight")
    tip = page.inner_text("#tip")
    assert re.search(r"^[\d.]{1,6} ms, score [\d.]{1,6}$", tip, re.MULTILINE), tip
    page.select_option("label:has-text('Color') select", "island")
    of_lineage = _legend(page, "island 1")
    page = opened(watched, address, finished, "islands")
    assert _legend(page, "island 1") == of_lineage
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark] main[aria-busy=false] .legend")
    assert _legend(page, "island 1") != of_lineage


def _legend(page: Any, words: str) -> str:
    return str(page.locator(f".legend span:has-text('{words}') circle").get_attribute("fill"))


def test_the_champions_two_judgments_are_told_apart(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "overview")
    assert "second judgment" in page.inner_text(".facts")
    assert "first judgment" in page.inner_text("main")
    again = page.inner_text(".fact:has-text('second judgment') b")
    page.click(".facts a")
    page.wait_for_selector(f".fact:has-text('first judgment; {again} in the second one')")


def test_the_whole_page_can_be_used_by_keys(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "overview")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.focus("nav a:has-text('Failures')")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Failures')")


TAKEN = {
    "overview": {"SVG": "<svg", "CSV": "number,", "JSON": "{"},
    "scores": {"SVG": "<svg", "CSV": "number,", "JSON": "{"},
    "lineage": {"SVG": "<svg", "CSV": "number,parent", "JSON": "{"},
    "programs": {"CSV": "number,parent", "JSON": "{"},
    "islands": {"SVG": "<svg", "CSV": "at,kind", "JSON": "{"},
    "space": {"CSV": "lever,value", "JSON": "["},
    "proposers": {"SVG": "<svg", "CSV": "kind,", "JSON": "{"},
    "failures": {"SVG": "<svg", "CSV": "kind,", "JSON": "["},
    "findings": {"SVG": "<svg", "CSV": "kind,", "JSON": "["},
    "plane": {"SVG": "<svg", "CSV": "number,x", "JSON": "{"},
    "similarity": {"SVG": "<svg", "CSV": "number,", "JSON": "{"},
    "summaries": {"CSV": "at,by", "JSON": "["},
    "program/5": {"JSON": "{", "Code": "// program"},
}


def test_everything_can_be_taken_home(watched: Watched, address: str, finished: MadeRun) -> None:
    assert set(TAKEN) == set(VIEWS)
    for view, buttons in TAKEN.items():
        page = opened(watched, address, finished, view)
        for button, begins in buttons.items():
            with page.expect_download(timeout=60_000) as waiting:  # a loaded machine
                page.click(f".head .tools >> text={button}")
            text = Path(waiting.value.path()).read_text()
            assert text.startswith(begins), (view, button)
    assert watched.complaints == []


def test_another_view_begins_at_its_top_and_the_keys_stay_in_the_menu(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "programs")
    page.evaluate("window.scrollTo(0, 900)")
    assert page.evaluate("window.scrollY") > 200
    page.focus("nav a:has-text('Similarity')")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Similarity')")
    assert page.evaluate("window.scrollY") == 0
    assert page.evaluate("document.activeElement.textContent") == "Similarity"


def answered_late(route: Any, seconds: float) -> None:
    time.sleep(seconds)
    route.continue_()


def test_the_view_that_was_asked_for_last_is_the_one_that_stays(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    key = one_run(finished.folder).key
    overview = opened(watched, address, finished, "overview").locator("main h1").first.inner_text()
    for first, late in (("plane", 0.0), ("lineage", 0.0), ("failures", 0.0), ("plane", 0.3)):
        page = opened(watched, address, finished, "scores")
        page.unroute_all()
        page.route("**/graph*", partial(answered_late, seconds=late))  # the run is not known yet
        page.reload()
        page.evaluate(
            "([a, b]) => { location.hash = a; setTimeout(() => { location.hash = b; }, 20); }",
            [f"#/{key}/{first}", f"#/{key}/overview"],
        )
        page.wait_for_timeout(1500)
        assert page.url.endswith("/overview")
        assert page.locator("main h1").first.inner_text() == overview


@pytest.mark.parametrize(
    ("address_of", "told"),
    [
        ("#/run/x", "no run here has the key"),
        ("#/%", "The address is damaged"),
        ("#/transform-0/result", "no transform or synthesis here has the key"),
    ],
)
def test_an_address_of_nothing_says_so_and_leads_on(
    watched: Watched, address: str, finished: MadeRun, address_of: str, told: str
) -> None:
    page = watched.page
    page.goto(f"{address}/{address_of}")
    page.wait_for_selector("h1:has-text('This cannot be shown')")
    assert told in page.inner_text("main")
    page.click("main a:has-text('All runs')")
    page.wait_for_selector(f"h1:has-text('{finished.folder.name}')")
    assert [one for one in watched.complaints if "404" not in one] == []


def test_light_and_dark_can_be_chosen_and_stay(
    watched: Watched, address: str, finished: MadeRun
) -> None:
    page = opened(watched, address, finished, "overview")
    before = page.locator("html").get_attribute("data-theme")
    page.click("#theme")
    page.reload()
    page.wait_for_selector("main[aria-busy=false] h1")
    assert page.locator("html").get_attribute("data-theme") != before


def test_several_runs_are_listed_and_one_that_is_broken_says_why(
    watched: Watched, tmp_path: Path
) -> None:
    for at, name in enumerate(("one", "two", "broken")):
        made = MadeRun(tmp_path / name, run=f"evolve-20260101-000000-{at:06d}")
        made.begin(3)
    (tmp_path / "broken" / "programs.db").write_bytes(b"no database" * 99)
    with serving(tmp_path) as address:
        page = watched.page
        page.goto(address)
        page.wait_for_selector("tbody tr")
        watched.kept("runs")
        assert "no warploom database" in page.inner_text("tr:has-text('broken')")
        assert serious_problems(page) == []
        page.click("a:has-text('two')")
        page.wait_for_selector("h1:has-text('two')")
        page.click(".brand")
        page.wait_for_selector("h1:has-text('Runs')")
        page.goto(f"{address}/#/{one_run(tmp_path / 'broken').key}/overview")
        page.wait_for_selector("text=This cannot be shown")
        assert [one for one in watched.complaints if "500" not in one] == []


def test_the_player_goes_along_the_path_to_the_best(watched: Watched, tmp_path: Path) -> None:
    made, target = MadeRun(tmp_path / "run"), tmp_path / "path.html"
    made.begin(0)
    made.grow(1, 40)  # the best of many is no seed
    assert main(["plot", "path", str(made.folder), "-o", str(target)]) == 0
    page = watched.page
    page.goto(target.as_uri())
    first = page.inner_text("#title")
    assert first.startswith("1 of ") and not first.startswith("1 of 1.")
    page.click("text=Next")
    assert page.inner_text("#title").startswith("2 of ")
    assert page.locator("#code .add, #code .del").count() > 0
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#title") == first
    page.click("text=Play")
    page.wait_for_selector("#title >> text=/^2 of /")
    watched.kept("player")
    assert watched.complaints == []
