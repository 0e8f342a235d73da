"""`warploom explain`: the page of a kind of finding."""

import difflib

from warploom.cli.output import out, print_json
from warploom.core.errors import BadInputError
from warploom.core.finding_kinds import KINDS
from warploom.core.finding_pages import pages_folder
from warploom.core.records import to_json


def run_explain(kind: str | None, *, as_json: bool) -> int:
    """Print the page of `kind`, or all kinds where none is asked for; returns the exit code.

    Kinds without a page have their class, severity and cure.

    Raises:
        BadInputError: there is no such kind.
        MissingToolError: the pages are not installed.
    """
    if kind is None:
        if as_json:
            print_json({"kinds": [to_json(known) for known in KINDS.values()]})
        else:
            out("\n".join(f"{known.name:26}{known.cure}" for known in KINDS.values()))
        return 0
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=3, cutoff=0.7)
        raise BadInputError(
            f"there is no finding of the kind {kind!r}",
            hint=f"did you mean {', '.join(near)}?" if near else "`warploom explain` lists them",
        )
    known = KINDS[kind]
    text = f"{kind}: {known.kind_class}, {known.severity}. {known.cure}\n"
    if known.has_page:
        text = (pages_folder() / f"{kind}.md").read_text(encoding="utf-8")
    if as_json:
        print_json({"kind": kind, "page": text})
    else:
        out(text.rstrip("\n"))
    return 0
