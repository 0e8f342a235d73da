"""JSON text and files from records, valid even where a number is not finite."""

import json
import math
from pathlib import Path

from warploom.core.records import Json, to_json


def dumps(value: object) -> str:
    """Return indented JSON of a record or plain value; NaN and infinities become strings."""
    return json.dumps(_finite(to_json(value)), indent=2, allow_nan=False)


def write_json(path: Path, value: object) -> None:
    """Write `value` to `path`, whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(dumps(value) + "\n", encoding="utf-8")
    fresh.replace(path)


def _finite(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
