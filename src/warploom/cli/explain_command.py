"""`warploom explain`: the page of a kind of finding."""

import difflib

from warploom.cli.output import out, print_json
from warploom.core.errors import BadInputError
from warploom.core.finding_pages import pages_folder


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
