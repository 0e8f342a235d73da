"""How quick `warploom visualize` is in a real browser, by the number of programs.

    python bench/web_ui.py [--programs 10000 100000] [--json]

`first paint` is from the start of the navigation, of a fresh browser context, until the view has
drawn its programs. The others are the median time from an event until its picture is on the screen,
two frames of 16 ms included. It needs the extra `web`, playwright, and a Chromium.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Row, arguments, show

from warploom.reports.queries.runs import one_run
from warploom.testing.made_run import MadeRun

_ROUNDS = 7
_PICTURES = ("overview", "scores", "lineage", "islands", "plane")
_OTHERS = ("programs", "space", "similarity", "proposers", "program/77")
_LIMITS = {"first paint": 2000.0, "interaction": 100.0}
_TIMED = """async ([event, count]) => {
  const canvas = document.querySelector("main canvas");
  const box = canvas.getBoundingClientRect();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const at = (i) => ({ bubbles: true, cancelable: true, pointerId: 1,
    clientX: box.left + 90 + 31 * i, clientY: box.top + 60 + 17 * i });
  const events = {
    point: (i) => canvas.dispatchEvent(new PointerEvent("pointermove", at(i))),
    zoom: () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+" })),
    walk: () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" })),
    all: () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "0" })),
  };
  const times = [];
  for (let i = 0; i < count; i++) {
    await frame();
    const start = performance.now();
    events[event](i);
    await frame();
    await frame();
    times.push(performance.now() - start);
  }
  return times;
}"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run the command as a user would; gives the address."""
    command = [sys.executable, "-m", "warploom.cli", "visualize", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            yield line.split()[-1].rstrip("/")
        finally:
            server.terminate()


def rows_for(browser: Any, programs: int) -> Iterator[Row]:
    """Yield what was measured with a run of so many programs."""
    with tempfile.TemporaryDirectory() as place:
        made = MadeRun(Path(place) / "run", paid=True)
        made.begin_large(programs)
        key = one_run(made.folder).key
        with served(made.folder) as address:
            for view in (*_PICTURES, *_OTHERS):
                first = [_first_paint(browser, f"{address}/#/{key}/{view}", view) for _ in range(3)]
                yield _row(programs, view, "first paint", statistics.median(first))
            yield from _interactions(browser, f"{address}/#/{key}", programs)


def _first_paint(browser: Any, url: str, view: str) -> float:
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("main[aria-busy=false] h1", timeout=60_000)
    time = _drawn(page) if view in _PICTURES else page.evaluate("performance.now()")
    context.close()
    return float(time)


def _drawn(page: Any) -> float:
    """Return when the view drew its picture first; the pages' policy lets nothing wait in them."""
    while True:
        times = page.evaluate("performance.getEntriesByName('drawn').map(one => one.startTime)")
        if times:
            return float(times[0])
        page.wait_for_timeout(5)


def _interactions(browser: Any, base: str, programs: int) -> Iterator[Row]:
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    for view, title in (("lineage", "Lineage"), ("scores", "Scores over time")):
        page.goto(f"{base}/{view}")
        page.wait_for_selector(f"main[aria-busy=false] >> text={title}", timeout=60_000)
        _drawn(page)
        for event in ("point", "walk", "zoom", "all"):
            times = page.evaluate(_TIMED, [event, _ROUNDS])
            yield _row(programs, view, event, statistics.median(times))
    page.goto(f"{base}/programs")
    page.wait_for_selector("tbody tr")
    for name, act in _TABLE.items():
        times = [page.evaluate(_CHANGED, act) for _ in range(_ROUNDS)]
        yield _row(programs, "programs", name, statistics.median(times))
    context.close()


_TABLE = {"sort": "th:nth-child(2) button", "turn the page": ".pages button:last-child"}
_CHANGED = """selector => new Promise((done) => {
  const start = performance.now();
  const table = document.querySelector("main .card");
  const watcher = new MutationObserver(() => {
    watcher.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  });
  watcher.observe(table, { childList: true, subtree: true });
  document.querySelector(selector).click();
})"""


def _row(programs: int, view: str, what: str, time: float) -> Row:
    limit = _LIMITS.get(what, _LIMITS["interaction"])
    return {"programs": programs, "view": view, "what": what, "ms": time,
            "goal": f"< {limit:.0f}", "met": "yes" if time < limit else "no"}  # fmt: skip


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = arguments(__doc__ or "")
    parser.add_argument("--programs", type=int, nargs="+", default=[10_000, 100_000])
    asked = parser.parse_args()
    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        rows = [row for count in asked.programs for row in rows_for(browser, count)]
        browser.close()
    show(rows, asked.json, "warploom visualize in Chromium, milliseconds")


if __name__ == "__main__":
    main()
