"""Runs of transform and synthesize as their folders hold them: stages, attempts, comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from warploom.core.ids import digest
from warploom.core.records import Json
from warploom.reports.queries.clean import clean
from warploom.reports.queries.details import ShownFinding, finding_of
from warploom.reports.queries.roofs import MemoryRoof, memory_roof
from warploom.reports.queries.runs import read_object

Kind = Literal["transform", "synthesis"]
_Object = Mapping[str, Json]
_REPORT = "report.json"
_BROKEN_OFF = 130  # what a synthesis writes down as its end until it has come to another one
_MOST_RUNS = 500
_MOST_ATTEMPTS = 500


@dataclass(frozen=True, slots=True)
class StagedSource:
    """The folder of a transform or a synthesis. Its key begins with its kind."""

    kind: Kind
    folder: Path

    @property
    def key(self) -> str:
        """A short word for it in addresses; the same each time."""
        return f"{self.kind}-{digest((str(self.folder),))[:10]}"


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage: how it went. `problem` says why it did not pass."""

    name: str
    status: str
    attempts: int
    origin: str
    seconds: float
    cost: float
    notes: list[str]
    problem: str


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One candidate of a synthesis, and the check that it failed first."""

    number: int
    passed: bool
    checks: int
    failed_check: str
    detail: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check of acceptance."""

    name: str
    passed: bool
    times: int
    detail: str


@dataclass(frozen=True, slots=True)
class ComparedBuffer:
    """One output that was compared with the original program's, or the reference's."""

    buffer: str
    dtype: str
    compared: int
    elements: int
    failed: int
    max_error: float | None
    rtol: float | None
    atol: float | None
    passed: bool


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run of the verification."""

    timing: str
    seed: str
    verdict: str
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StagedRun:
    """A transform or a synthesis as its pages show it. `texts` are names to ask for.

    `unfinished`: it goes on, or was broken off and can be resumed.
    """

    kind: Kind
    title: str
    place: str
    verified: bool
    unfinished: bool
    error: str
    facts: dict[str, str]
    stages: list[StageRow]
    attempts: list[AttemptRow]
    checks: list[CheckRow]
    compared: list[ComparedBuffer]
    runs: list[JudgedRun]
    findings: list[ShownFinding]
    proof: str
    roof: MemoryRoof | None
    texts: list[str]


def kind_of(folder: Path) -> Kind | None:
    """Return what the report of a folder is of; None where it is none of the two."""
    report = read_object(folder / _REPORT)
    if isinstance(report.get("stages"), list) and "collectives" in report:
        return "transform"
    return "synthesis" if {"spec", "kernel", "stages"} <= report.keys() else None


def find_staged(path: Path | None) -> list[StagedSource]:
    """Return the transforms and syntheses of a folder and of two levels below, newest first."""
    place = (path or Path()).absolute()
    if not place.is_dir():
        return []
    kind = kind_of(place)
    if kind is not None:
        return [StagedSource(kind, place)]
    if (place / "run.json").is_file():
        return []
    found = [*place.glob(f"*/{_REPORT}"), *place.glob(f"*/*/{_REPORT}")]
    found = [one for one in found if not (one.parent.parent / "run.json").is_file()]
    newest = sorted(found, key=lambda one: one.stat().st_mtime, reverse=True)[:_MOST_RUNS]
    kinds = [(kind_of(one.parent), one.parent) for one in newest]
    return [StagedSource(kind, folder) for kind, folder in kinds if kind is not None]


def staged_run(source: StagedSource) -> StagedRun:
    """Read what a folder holds now."""
    report = read_object(source.folder / _REPORT)
    judged = _object(report.get("evaluation"))
    correctness = _object(report.get("correctness"))
    found = _objects(judged.get("findings")) or _objects(correctness.get("findings"))
    return StagedRun(
        kind=source.kind,
        title=source.folder.name,
        place=str(source.folder),
        verified=report.get("verified") is True,
        unfinished=report.get("error_code") == _BROKEN_OFF,
        error=_text(report.get("error")),
        facts=_facts(source.kind, report),
        stages=[_stage(one) for one in _objects(report.get("stages"))],
        attempts=list(_attempts(source.folder / "attempts")),
        checks=[_check(one) for one in _objects(correctness.get("checks"))],
        compared=[_compared(one) for one in _objects(judged.get("comparisons"))],
        runs=[_judged(one) for one in _objects(judged.get("runs"))],
        findings=[finding_of(one, "") for one in found],
        proof=_proof(judged, correctness),
        roof=memory_roof(_object(report.get("performance"))),
        texts=sorted(_texts(source)),
    )


def staged_text(source: StagedSource, name: str) -> str | None:
    """Return a text of a folder by its name; None where it has none of that name."""
    path = _texts(source).get(name)
    if path is None:
        return None
    try:
        return clean(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _texts(source: StagedSource) -> dict[str, Path]:
    folder = source.folder
    patterns = {
        "transform": ("*.cu", "*.diff", "stages/*.cu"),
        "synthesis": ("*.cu", "*.py", "spec.json", "attempts/*.cu", "package/VERIFICATION.md"),
    }[source.kind]
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    return {
        clean(path.relative_to(folder).as_posix()): path
        for path in found[: 2 * _MOST_ATTEMPTS]
        if path.is_file() and path.resolve().is_relative_to(folder.resolve())
    }


def _facts(kind: Kind, report: _Object) -> dict[str, str]:
    performance, spec = _object(report.get("performance")), _object(report.get("spec"))
    judged = _object(report.get("evaluation"))
    named: dict[str, Json] = {
        "source": report.get("source") or report.get("reference"),
        "run": report.get("run"),
        "API": report.get("api"),
        "host collectives": len(_objects(report.get("collectives"))) if kind == "transform" else "",
        "lines added": report.get("added_lines"),
        "lines removed": report.get("removed_lines"),
        "ranks": judged.get("ranks"),
        "NCCL": judged.get("nccl"),
        "kernel": spec.get("name"),
        "prompt": spec.get("prompt"),
        "target": spec.get("target"),
        "kernels": performance.get("kernels"),
        "settings tried": performance.get("tried"),
        "seconds": report.get("seconds"),
        "dollars for models": report.get("dollars", report.get("cost")),
    }
    return {name: text for name, value in named.items() if (text := _text(value))}


def _stage(one: _Object) -> StageRow:
    passed = one.get("passed")
    status = _text(one.get("status")) or ("passed" if passed is True else "failed")
    notes = _strings(one.get("notes"))
    summary = _text(one.get("summary"))
    told = (_text(one.get("problem")), _text(one.get("diagnosis")))
    return StageRow(
        _text(one.get("stage")), status, int(_number(one.get("attempts")) or 0),
        _text(one.get("origin")), _number(one.get("seconds")) or 0.0,
        _number(one.get("dollars", one.get("cost"))) or 0.0,
        [*([summary] if summary else []), *notes], " ".join(filter(None, told)),
    )  # fmt: skip


def _attempts(folder: Path) -> Iterator[AttemptRow]:
    for path in sorted(folder.glob("*.json"))[:_MOST_ATTEMPTS]:
        told = read_object(path)
        checks = [_check(one) for one in _objects(told.get("checks"))]
        failed = next((one for one in checks if not one.passed), None)
        text = path.with_suffix(".cu")
        yield AttemptRow(
            int(path.stem) if path.stem.isdecimal() else 0, told.get("passed") is True, len(checks),
            failed.name if failed else "", failed.detail if failed else "",
            f"attempts/{clean(text.name)}" if text.is_file() else "",
        )  # fmt: skip


def _check(one: _Object) -> CheckRow:
    return CheckRow(
        _text(one.get("name")), one.get("passed") is True, int(_number(one.get("times")) or 0),
        _text(one.get("detail")),
    )  # fmt: skip


def _compared(one: _Object) -> ComparedBuffer:
    return ComparedBuffer(
        _text(one.get("buffer")), _text(one.get("dtype")), int(_number(one.get("compared")) or 0),
        int(_number(one.get("elements")) or 0), int(_number(one.get("failed")) or 0),
        _number(one.get("max_error")), _number(one.get("rtol")), _number(one.get("atol")),
        one.get("passed") is True,
    )  # fmt: skip


def _judged(one: _Object) -> JudgedRun:
    return JudgedRun(
        _text(one.get("timing")), _text(one.get("seed")), _text(one.get("verdict")),
        _text(one.get("state")), _number(one.get("seconds")) or 0.0,
    )  # fmt: skip


def _proof(judged: _Object, correctness: _Object) -> str:
    if correctness:
        skipped = _strings(correctness.get("skipped"))
        left = f" Not tried: {'; '.join(skipped)}." if skipped else ""
        return (
            f"{_text(correctness.get('cases'))} cases, seed {_text(correctness.get('seed'))} drawn "
            f"for this run, sandbox: {_text(correctness.get('sandbox'))}.{left}"
        )
    if not judged:
        return ""
    runs = len(_objects(judged.get("runs")))
    little = _text(judged.get("proves_little"))
    return (
        f"{runs} of {_text(judged.get('planned'))} runs on {_text(judged.get('ranks'))} ranks "
        f"under NCCL {_text(judged.get('nccl'))} rules, each with the happens-before check; "
        f"sandbox: {_text(judged.get('sandbox'))}. {little}".strip()
    )


def _text(value: Json) -> str:
    if value is None or isinstance(value, list | dict):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return clean(f"{value:.4g}" if isinstance(value, float) else str(value))


def _strings(value: Json) -> list[str]:
    return [_text(one) for one in value] if isinstance(value, list) else []


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _object(value: Json) -> _Object:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> Sequence[_Object]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
