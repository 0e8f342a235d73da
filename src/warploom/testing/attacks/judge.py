"""Reads what `eval`, `transform` and `check` print as JSON: the verdict, and who made it."""

import json
from typing import Any, cast

from warploom.core.process import ProcessResult
from warploom.evaluation.records import LEVELS
from warploom.testing.attacks.record import Answer

_REFUSED = 2
_GOOD_OR_NOT = (0, 1)
_WORDS = 240


def read_evaluation(result: ProcessResult) -> Answer:
    """Read the answer of `warploom eval`."""
    data = _document(result)
    if isinstance(data, Answer):
        return data
    if "level_reached" not in data:
        return _refusal(data)
    return _of_evaluation(data, bool(data["passed"]))


def read_transform(result: ProcessResult) -> Answer:
    """Read the answer of `warploom transform`; what an agent proposed is its last stage's."""
    data = _document(result)
    if isinstance(data, Answer):
        return data
    if "verified" not in data:
        return _refusal(data)
    verified = bool(data["verified"])
    stages: list[Any] = data.get("stages") or []
    evaluation: Any = data.get("evaluation") or (stages[-1]["evaluation"] if stages else None)
    if evaluation is not None:
        return _of_evaluation(evaluation, verified)
    problem: str = stages[-1]["problem"] if stages else ""
    failed: list[str] = [str(step["error"]) for step in data["steps"] if step.get("error")]
    said = problem or " ".join(failed)
    if verified or not said:
        return Answer(verified, problem="a transform without an evaluation")
    return Answer(False, "refused", "proposal", said[:_WORDS])


def read_check(result: ProcessResult) -> Answer:
    """Read the answer of `warploom check`."""
    data = _document(result)
    if isinstance(data, Answer):
        return data
    if "verdict" not in data:
        return _refusal(data)
    passed = data["verdict"] == "ok"
    kind, message = _first(data)
    return Answer(passed, "" if passed else kind or str(data["verdict"]), "check", message)


def _of_evaluation(data: dict[str, Any], passed: bool) -> Answer:
    kind, message = _first(data)
    metrics: dict[str, float] = data.get("metrics") or {}
    speedup = metrics.get("speedup")
    if passed:
        return Answer(True, speedup=speedup)
    level = int(data["level_reached"])
    if not kind:
        bad = [c["buffer"] for c in data.get("comparisons", ()) if not c["passed"]]
        runs = [run["verdict"] for run in data.get("runs", ()) if run["verdict"] != "ok"]
        kind = "wrong_result" if bad else f"run {runs[0]}" if runs else "not verified"
    return Answer(False, kind, f"{level} {LEVELS[level]}", message, speedup)


def _first(data: dict[str, Any]) -> tuple[str, str]:
    """Return kind and words of the first error."""
    for item in data.get("findings", ()):
        if item["severity"] == "error":
            place = f"line {item['line']}: " if item.get("line") else ""
            return str(item["kind"]), f"{place}{item['message']}"[:_WORDS]
    return "", ""


def _document(result: ProcessResult) -> dict[str, Any] | Answer:
    """Return the JSON object that was printed, or why there is none."""
    if result.stopped is not None:
        return Answer(False, problem=f"stopped: {result.stopped} after {result.seconds:.0f} s")
    errors = result.stderr.decode(errors="replace").strip()
    if "Traceback" in errors:
        return Answer(False, problem=f"traceback: {errors[-_WORDS:]}")
    try:
        data: Any = json.loads(result.stdout)
    except ValueError:
        return Answer(False, problem=f"exit code {result.exit_code}, no JSON: {errors[-_WORDS:]}")
    if result.exit_code in (*_GOOD_OR_NOT, _REFUSED) or "verdict" in data:
        return data
    said = _refusal(data).message
    return Answer(False, problem=f"exit code {result.exit_code}: {said}")


def _refusal(data: dict[str, Any]) -> Answer:
    """Bad input, told before anything was judged."""
    error: Any = data.get("error", data)
    said: object = (
        cast("dict[str, object]", error).get("message") if isinstance(error, dict) else error
    )
    return Answer(False, "bad input", "refused", str(said)[:_WORDS])
