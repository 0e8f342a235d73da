"""`warploom explain`: the page of a kind of finding."""

import difflib
from pathlib import Path

from warploom.cli.output import out, print_json
from warploom.core.errors import BadInputError, MissingToolError

_PACKAGED = Path(__file__).parents[1] / "findings"
_CHECKOUT = Path(__file__).parents[3] / "docs" / "findings"


def pages_folder() -> Path:
    """Return the folder of the pages: the installed one, or that of the checkout.

    Raises:
        MissingToolError: neither is there.
    """
    for folder in (_PACKAGED, _CHECKOUT):
        if folder.is_dir():
            return folder
    raise MissingToolError(
        f"the pages of findings are needed in {_PACKAGED}", hint="install warploom again"
    )


def kinds_with_a_page() -> frozenset[str]:
    """Return the kinds that `warploom explain` knows; none where the pages are not installed."""
    try:
        return frozenset(path.stem for path in pages_folder().glob("*.md"))
    except MissingToolError:
        return frozenset()


def run_explain(kind: str | None, *, as_json: bool) -> int:
    """Print the page of `kind`, or all kinds where none is asked for; returns the exit code.

    Raises:
        BadInputError: there is no page of that kind.
        MissingToolError: the pages are not installed.
    """
    pages = {path.stem: path for path in sorted(pages_folder().glob("*.md"))}
    if kind is None:
        if as_json:
            print_json({"kinds": list(pages)})
        else:
            out("\n".join(pages))
        return 0
    if kind not in pages:
        near = difflib.get_close_matches(kind, pages, n=3, cutoff=0.7)
        raise BadInputError(
            f"there is no page for a finding of the kind {kind!r}",
            hint=f"did you mean {', '.join(near)}?"
            if near
            else "`warploom explain` lists all pages; docs/findings.md has a line on other kinds",
        )
    text = pages[kind].read_text(encoding="utf-8")
    if as_json:
        print_json({"kind": kind, "page": text})
    else:
        out(text.rstrip("\n"))
    return 0
