"""What of the runtime is compiled together, and so shares its anonymous namespaces."""

import re

from warploom.emulator.runtime_build import RUNTIME_DIR, units

SOURCES = sorted(RUNTIME_DIR.rglob("*.cpp"))
INCLUDE = re.compile(r'^#[ \t]*include "([^"]+)"', re.MULTILINE)


def test_a_folder_is_a_unit() -> None:
    found = units(SOURCES)
    assert sorted(source for unit in found.values() for source in unit) == SOURCES
    for name, unit in found.items():
        assert {source.parent for source in unit} == {RUNTIME_DIR / name}


def test_each_source_lies_in_a_folder_and_each_header_is_named_by_its_own() -> None:
    assert not [path for path in RUNTIME_DIR.iterdir() if path.is_file()]
    for path in RUNTIME_DIR.rglob("*"):
        if path.is_file():
            for name in INCLUDE.findall(path.read_text()):
                assert name.startswith("../../include/") or (RUNTIME_DIR / name).is_file(), path
                assert (
                    path.parent.name != "base"
                    or not (RUNTIME_DIR / name).is_file()
                    or (name.startswith("base/"))
                ), f"{path}: the base knows of nothing else"
