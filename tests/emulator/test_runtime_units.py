"""What of the runtime is compiled together, and so shares its anonymous namespaces."""

import re

from warploom.emulator.building.runtime_build import RUNTIME_DIR, units
from warploom.emulator.rewriting.rewrite import SHIM_DIR

SOURCES = sorted(RUNTIME_DIR.rglob("*.cpp"))
FILES = sorted(path for path in RUNTIME_DIR.rglob("*") if path.is_file())
INCLUDE = re.compile(r'^#[ \t]*include "([^"]+)"', re.MULTILINE)


def test_a_folder_is_a_unit() -> None:
    found = units(SOURCES)
    assert sorted(source for unit in found.values() for source in unit) == SOURCES
    for name, unit in found.items():
        assert {source.parent for source in unit} == {RUNTIME_DIR / name}


def test_each_header_is_named_by_its_folder() -> None:
    assert {path.parent.parent for path in FILES} == {RUNTIME_DIR}
    for path in FILES:
        for name in INCLUDE.findall(path.read_text()):
            places = (path.parent / name, RUNTIME_DIR / name, SHIM_DIR / name)
            assert any(place.is_file() for place in places), f"{path}: {name}"
            assert "/" in name, f"{path}: {name} has no folder"


def test_the_base_knows_of_nothing_else() -> None:
    for path in FILES:
        if path.parent.name == "base":
            for name in INCLUDE.findall(path.read_text()):
                assert name.startswith("base/"), f"{path}: {name}"
