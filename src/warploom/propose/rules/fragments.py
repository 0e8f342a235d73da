"""The fragments of CUDA text in `templates/` that preludes are assembled from."""

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """Return a template's text."""
    return (files("warploom.propose.rules") / "templates" / name).read_text(encoding="utf-8")
