"""The runtime, the judges, the pages and their index keep to one list of kinds of finding."""

import ast
import re
from pathlib import Path

from warploom.core.finding_kinds import KINDS
from warploom.emulator.building.runtime_build import RUNTIME_DIR
from warploom.testing.finding_kinds import HEADER, header_text

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "findings"
PACKAGE = ROOT / "src" / "warploom"
MAKERS = ("Finding", "Refused", "Warn", "refused")  # what findings are made by, kind first


def kinds_in_calls() -> set[str]:
    """Return the literal kinds that Python makes findings of."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in MAKERS:
                continue
            named = [item.value for item in node.keywords if item.arg == "kind"]
            for first in [*named, *node.args][:1]:
                if isinstance(first, ast.Constant) and re.fullmatch("[a-z_]+", str(first.value)):
                    found.add(str(first.value))
    return found


def test_the_runtime_has_the_names_of_the_list() -> None:
    assert header_text() == HEADER.read_text(), "run python -m warploom.testing.finding_kinds"
    texts = [path.read_text() for path in RUNTIME_DIR.rglob("*.cpp")]
    assert sum(text.count("kinds::") for text in texts) > 200
    literal = re.compile(r'(?:\.kind = |\bkind = |\bfail\()"')
    assert not [text for text in texts if literal.search(text)]


def test_what_the_runtime_reports_has_a_page() -> None:
    used = {
        kind
        for path in RUNTIME_DIR.rglob("*.cpp")
        for kind in re.findall(r"kinds::(\w+)", path.read_text())
    }
    assert {"missing_wait", "deadlock", "collective_mismatch", "mpi_truncation"} <= used
    assert sorted(kind for kind in used if not KINDS[kind].has_page) == []


def test_the_judges_keep_to_the_list() -> None:
    made = kinds_in_calls()
    assert {"frame_edit", "forbidden_call", "no_readback", "host_collective"} <= made
    assert sorted(made - KINDS.keys()) == []


def test_the_list_says_which_have_a_page() -> None:
    paged = sorted(kind.name for kind in KINDS.values() if kind.has_page)
    assert paged == sorted(path.stem for path in PAGES.glob("*.md"))
    assert all(kind.cure.endswith(".") for kind in KINDS.values())


def test_the_index_links_every_page() -> None:
    index = (ROOT / "docs" / "findings.md").read_text()
    linked = re.findall(r"\[`([a-z0-9_]+)`\]\(findings/([a-z0-9_]+)\.md\)", index)
    assert all(name == target for name, target in linked)
    assert sorted(name for name, _ in linked) == sorted(path.stem for path in PAGES.glob("*.md"))
