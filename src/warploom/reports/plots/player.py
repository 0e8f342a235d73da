"""The code along the path to the best, step by step: one HTML file that plays itself.

Its only script is ours, named in the page's policy by its hash, so that nothing else can run.
"""

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.resources import files

from warploom.core.errors import BadInputError
from warploom.reports.html.charts import short
from warploom.reports.html.markup import Markup, tag
from warploom.reports.queries.clean import clean
from warploom.reports.queries.opened import OpenRun
from warploom.reports.queries.views import path_to
from warploom.source import unified_diff
from warploom.store.records import StoredProgram

_MOST_STEPS = 500


@dataclass(frozen=True, slots=True)
class Step:
    """One program of the path. `text` is its difference from the one before (`kind` "diff")."""

    title: str
    about: str
    kind: str
    text: str


def player_html(run: OpenRun) -> str:
    """Return the page.

    Raises:
        BadInputError: the run has no correct program yet.
    """
    steps = steps_of(run)
    room = files("warploom.reports.plots")
    script = room.joinpath("player.js").read_text(encoding="utf-8")
    style = files("warploom.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    proof = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{proof}'"
    # JSON in a script element that is no script: `<` must not end it.
    data = json.dumps([asdict(one) for one in steps]).replace("<", "\\u003c")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{run.source.title}: the path to the best"),
        Markup(f"<style>{style}</style>"),
    )
    body = tag(
        "body",
        tag("h1", f"{run.source.title}: the path to the best"),
        tag("p", tag("button", "Play", id="play", type="button"), " ",
            tag("button", "Previous", id="back", type="button"), " ",
            tag("button", "Next", id="on", type="button"), " ",
            tag("input", id="at", type="range", min=0, max=len(steps) - 1, value=0,
                aria_label="step")),
        tag("h2", id="title"), tag("p", id="about", class_="dim"),
        tag("pre", id="code", tabindex=0, aria_label="change"),
        Markup(f'<script type="application/json" id="data">{data}</script>'),
        Markup(f"<script>{script}</script>"),
    )  # fmt: skip
    return "<!doctype html>\n" + tag("html", head, body, lang="en").html + "\n"


def steps_of(run: OpenRun) -> list[Step]:
    """Return the steps from the seed to the best program, the last ones where they are very many.

    Raises:
        BadInputError: the run has no correct program yet.
    """
    leader = run.leader
    if leader is None:
        raise BadInputError("the run has no correct program yet", file=run.source.place)
    path = [one.number for one in path_to(leader, run.marks.marks)]
    numbers = path if len(path) <= _MOST_STEPS else [path[0], *path[1 - _MOST_STEPS :]]
    programs = run.programs.get_all(numbers)
    return [_step(before, one) for before, one in zip([None, *programs], programs, strict=False)]


def _step(before: StoredProgram | None, one: StoredProgram) -> Step:
    time, score = one.outcome.time_ms, one.outcome.score
    told = f"{short(time)} ms" if time is not None else f"score {short(score or 0.0)}"
    changes = "; ".join(one.lineage.changes)
    text = one.code if before is None else unified_diff(before.code, one.code, context=8)
    return Step(
        clean(f"Program {one.number}: {told}"), clean(f"{one.lineage.operator}: {changes}"),
        "code" if before is None else "diff", clean(text),
    )  # fmt: skip
