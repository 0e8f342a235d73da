"""The pages on kinds of findings: `docs/findings`, which an installed package has as a folder."""

from pathlib import Path

from warploom.core.errors import MissingToolError

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


def page_of(kind: str) -> str:
    """Return the page of a kind, in Markdown; "" where there is none."""
    return _page(kind) if kind in kinds_with_a_page() else ""


def _page(kind: str) -> str:
    return (pages_folder() / f"{kind}.md").read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    """Return the text below a heading of a page; title "" asks for what stands before the first."""
    wanted, found = title == "", list[str]()
    for line in page.splitlines():
        if line.startswith("# "):
            continue
        if line.startswith("## "):
            wanted = line == f"## {title}"
        elif wanted:
            found.append(line)
    return "\n".join(found).strip()
