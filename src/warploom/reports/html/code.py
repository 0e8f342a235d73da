"""Code and differences as HTML: a line each, told apart by class."""

from collections.abc import Collection

from warploom.reports.html.markup import Markup, tag

_MOST_LINES = 4000


def diff_block(diff: str) -> Markup:
    """Return a unified difference; a very long one is cut, and says so."""
    lines = diff.splitlines()
    shown = [tag("span", line, class_=_kind(line)) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(tag("span", f"... {len(lines) - _MOST_LINES} more lines", class_="hunk"))
    return tag("pre", *shown, tabindex=0, aria_label="difference")


def _kind(line: str) -> str | None:
    if line.startswith(("+++", "---", "@@")):
        return "hunk"
    return {"+": "add", "-": "del"}.get(line[:1])


def excerpt(lines: list[str], around: int, marked: Collection[int], context: int = 3) -> Markup:
    """Return the lines around one, counted from 1, with their numbers."""
    first, last = max(1, around - context), min(len(lines), around + context)
    return tag(
        "pre",
        *(
            tag("span", tag("span", at, class_="no"), lines[at - 1][:400],
                class_="mark" if at in marked else None)
            for at in range(first, last + 1)
        ),
        tabindex=0,
        aria_label="source",
    )  # fmt: skip
