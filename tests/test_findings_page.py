"""Every kind of finding that the runtime reports has a page, and the index names every page."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "findings"
KIND = re.compile(r'(?:\.kind = |kind = |return \{|fail\()"([a-z0-9_]{3,})"')


def kinds_of_the_runtime() -> set[str]:
    runtime = ROOT / "src" / "warploom" / "emulator" / "runtime"
    return {kind for path in runtime.rglob("*.cpp") for kind in KIND.findall(path.read_text())}


def test_every_kind_has_a_page() -> None:
    kinds = kinds_of_the_runtime()
    assert {"missing_wait", "deadlock", "collective_mismatch", "mpi_truncation"} <= kinds
    assert sorted(kinds - {path.stem for path in PAGES.glob("*.md")}) == []


def test_the_index_links_every_page() -> None:
    index = (ROOT / "docs" / "findings.md").read_text()
    linked = re.findall(r"\[`([a-z0-9_]+)`\]\(findings/([a-z0-9_]+)\.md\)", index)
    assert all(name == target for name, target in linked)
    assert sorted(name for name, _ in linked) == sorted(path.stem for path in PAGES.glob("*.md"))
