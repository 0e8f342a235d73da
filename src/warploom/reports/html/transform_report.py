"""One page on a transform: its steps, its stages, and what proves that it changed no result."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from warploom.core.records import Json
from warploom.core.version import VERSION
from warploom.reports.html.code import diff_block
from warploom.reports.html.markup import Child, Markup, page, tag
from warploom.reports.queries.clean import clean
from warploom.reports.queries.runs import read_object

_Object = Mapping[str, Json]


def transform_facts(folder: Path) -> dict[str, Json]:
    """Return the report of a transform's folder; empty where it is none."""
    found = read_object(folder / "report.json")
    return found if isinstance(found.get("stages"), list) and "collectives" in found else {}


def transform_html(folder: Path, facts: _Object) -> str:
    """Return the report as one HTML page without script."""
    style = files("warploom.reports.html").joinpath("style.css").read_text(encoding="utf-8")
    good = facts.get("verified") is True
    stages, steps = _objects(facts.get("stages")), _objects(facts.get("steps"))
    judged = _object(facts.get("evaluation"))
    cost = sum(_number(one.get("cost")) for one in steps)
    cards = [
        ("verified" if good else "not verified", "outcome", "good" if good else "bad"),
        (_text(facts.get("api")).upper() or "-", _text(facts.get("api_reason")) or "API", None),
        (str(len(_objects(facts.get("collectives")))), "host collectives", None),
        (str(sum(int(_number(one.get("attempts"))) for one in stages)), "attempts", None),
        (f"{sum(_number(one.get('seconds')) for one in steps):.1f} s", "wall time", None),
        (f"${cost:.2f}", "for models", None),
    ]
    return page(
        f"{folder.name}: a transform",
        style,
        tag("h1", folder.name),
        tag("p", f"A transform by warploom {VERSION} of ", tag("code", _text(facts.get("source"))),
            class_="dim"),
        tag("div", *(tag("div", tag("b", value, class_=kind), tag("span", what), class_="card")
                     for value, what, kind in cards), class_="cards"),
        tag("h2", "Steps"),
        _table(steps, ("name", "status", "#seconds", "error")),
        tag("h2", "Stages"),
        _table(stages, ("stage", "passed", "#attempts", "origin", "summary", "problem",
                        "diagnosis")),
        *_proof(judged),
        *_change(folder, facts),
    )  # fmt: skip


def _proof(judged: _Object) -> Iterator[Markup]:
    if not judged:
        return
    runs = _objects(judged.get("runs"))
    yield tag("h2", "What was compared with the original program")
    yield _table(_objects(judged.get("comparisons")),
                 ("buffer", "dtype", "#compared", "#elements", "#failed", "#max_error", "rtol",
                  "passed"))  # fmt: skip
    yield tag("p", f"{len(runs)} of {_text(judged.get('planned'))} runs, "
              f"{_text(judged.get('ranks'))} ranks, NCCL {_text(judged.get('nccl'))} rules, "
              f"happens-before check on, sandbox: {_text(judged.get('sandbox'))}. "
              f"{_text(judged.get('proves_little'))}", class_="dim")  # fmt: skip
    yield _table(runs, ("timing", "#seed", "verdict", "state", "#seconds"))
    findings = _objects(judged.get("findings"))
    if findings:
        yield tag("h2", "Findings")
        yield _table(findings, ("severity", "kind", "message", "#line", "#runs"))


def _change(folder: Path, facts: _Object) -> Iterator[Child]:
    name = Path(_text(facts.get("source"))).stem
    try:
        diff = (folder / f"{name}.diff").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield tag("h2", "The whole change")
    yield diff_block(clean(diff))


def _table(rows: Sequence[_Object], names: Sequence[str]) -> Markup:
    """Return a table of objects' fields; a field that no object has a value of is left out."""
    shown = [name for name in names if any(_text(row.get(name.lstrip("#"))) for row in rows)]
    if not shown:
        return tag("p", "None.", class_="dim")
    heads = [tag("th", name.lstrip("#").replace("_", " "), scope="col", class_=_kind(name))
             for name in shown]  # fmt: skip
    lines = [
        tag("tr", *(tag("td", _text(row.get(name.lstrip("#"))), class_=_kind(name))
                    for name in shown))
        for row in rows
    ]  # fmt: skip
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines))


def _kind(name: str) -> str | None:
    return "num" if name.startswith("#") else None


def _text(value: Json) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _object(value: Json) -> _Object:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[_Object]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
