"""The one way in which HTML is made here: elements whose texts and attributes are escaped.

A plain string is text and is always escaped; only `Markup`, which `tag` returns, is put in as it
is. So nobody has to remember to escape anything.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from warploom.core.visible import visible
from warploom.reports.queries.clean import clean

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_VOID = frozenset(("br", "hr", "img", "meta", "link", "input", "col"))


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML that was made by `tag`, and needs no escaping."""

    html: str


Child: TypeAlias = "str | int | float | Markup | Iterable[Child] | None"


def tag(name: str, /, *children: Child, **attributes: str | int | float | None) -> Markup:
    """Return an element; `class_` is the attribute `class`, `_` in other names is a dash.

    An attribute that is None is left out.
    """
    assert _NAME.fullmatch(name)
    parts = [f"<{name}"]
    for key, value in attributes.items():
        word = key.rstrip("_").replace("_", "-")
        assert _NAME.fullmatch(word)
        if value is not None:
            parts.append(f' {word}="{escape(clean(visible(str(value))), quote=True)}"')
    inside = join(children).html
    if name in _VOID:
        assert not inside
        return Markup("".join([*parts, ">"]))
    return Markup("".join([*parts, ">", inside, f"</{name}>"]))


def join(children: Iterable[Child]) -> Markup:
    """Return children one behind another; strings are escaped."""
    return Markup("".join(_html(child) for child in children))


def _html(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child.html
    if isinstance(child, str | int | float):
        return escape(clean(visible(str(child))), quote=True)
    return join(child).html


def page(title: str, style: str, *body: Child) -> str:
    """Return a whole document that may run no script and load nothing.

    `style` is CSS of ours. The policy forbids what the escaping should make impossible.
    """
    assert "</" not in style
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", *body), lang="en").html + "\n"
