"""Prompts from template files: `$name` is replaced, and a name that is not given is an error.

What users, programs and models wrote is fenced by `quoted`: a mark that holds a digest of the very
text stands around it, so that nothing inside can close it.
"""

import re
from functools import cache
from importlib.resources import files
from string import Template

from warploom.core.errors import BadInputError
from warploom.core.ids import digest

NAMES = (
    "system", "rewrite_single", "rewrite_stage_a", "rewrite_stage_b", "judge", "fix", "markers",
    "warmup", "diff", "full", "full_fresh", "full_structure", "full_tuning", "crossover", "summary",
    "novelty", "initial", "system_open", "rejected",
)  # fmt: skip
"""Every template: what each is for is its own first lines."""

_PATH = re.compile(r"(?:/[\w.+-]+)+/(?=[\w.+-]+\.(?:cu|cuh|h|cpp|so)\b)")
_FIELD = re.compile(r"\$(?:\{)?([a-z_]+)")


@cache
def _template(name: str) -> Template:
    if name not in NAMES:
        raise BadInputError(f"a prompt must be one of {', '.join(NAMES)}, got {name!r}")
    text = (
        files("warploom.propose.llm").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    )
    return Template(text)


def fields_of(name: str) -> frozenset[str]:
    """Return the names that a template needs."""
    return frozenset(_FIELD.findall(_template(name).template.replace("$$", "")))


def render(name: str, **fields: str) -> str:
    """Return a prompt.

    Raises:
        BadInputError: there is no such prompt, or the fields are not those that it needs.
    """
    template = _template(name)
    wanted, given = fields_of(name), frozenset(fields)
    if wanted != given:
        odd = ", ".join(sorted(wanted ^ given))
        raise BadInputError(f"prompt {name} needs {', '.join(sorted(wanted))}; differs in: {odd}")
    text = template.substitute(fields)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def quoted(what: str, text: str) -> str:
    """Return `text` between marks that name it as data."""
    mark = f"{what} {digest((what, text))[:12]}"
    body = text if text.endswith("\n") else f"{text}\n"
    return f"<<<<BEGIN {mark}>>>>\n{body}<<<<END {mark}>>>>"


def without_folders(text: str) -> str:
    """Return `text` with the folders taken out of the paths of source files.

    They say nothing to a model, and differ between runs: a repeated run must ask the same.
    """
    return _PATH.sub("", text)


def section(title: str, body: str) -> str:
    """Return a titled part of a prompt, or "" where there is nothing to say."""
    return f"## {title}\n\n{body.strip()}\n" if body.strip() else ""
