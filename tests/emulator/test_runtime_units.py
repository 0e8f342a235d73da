"""What of the runtime is compiled together, and so shares its anonymous namespaces."""

from pathlib import Path

import pytest

from warploom.emulator import runtime_build
from warploom.emulator.runtime_build import RUNTIME_DIR, units

SOURCES = sorted(RUNTIME_DIR.glob("*.cpp"))


@pytest.mark.parametrize("name", ["aaa.cpp", "cuda_a_new_one.cpp", "gin_x.cpp", "zzz.cpp"])
def test_a_new_source_moves_no_other(name: str) -> None:
    new = RUNTIME_DIR / name
    after = units([*SOURCES, new])
    assert sum(new in unit for unit in after.values()) == 1
    without = {key: [s for s in unit if s != new] for key, unit in after.items()}
    assert {key: unit for key, unit in without.items() if unit} == units(SOURCES)


def test_a_source_of_no_concern_is_alone() -> None:
    strange = Path("strange.cpp")
    assert units([*SOURCES, strange])["strange.cpp"] == [strange]


def test_the_longest_beginning_decides_and_ends_at_a_word() -> None:
    names = ["barrier.cpp", "barriers.cpp", "stream.cpp", "stream_time.cpp", "mpirun.cpp"]
    found = units([Path(name) for name in names])
    assert {path.name: key for key, unit in found.items() for path in unit} == {
        "barrier.cpp": "threads",
        "barriers.cpp": "network",
        "stream.cpp": "cuda",
        "stream_time.cpp": "report",
        "mpirun.cpp": "mpirun.cpp",
    }


def test_each_source_is_compiled_once_and_each_beginning_names_one() -> None:
    found = units(SOURCES)
    assert sorted(source for unit in found.values() for source in unit) == SOURCES
    for concern, starts in runtime_build._CONCERNS.items():
        for start in starts:
            assert any(f"{s.stem}_".startswith(f"{start}_") for s in found[concern]), start
