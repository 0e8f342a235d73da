"""Streams of the C++ library: what they read and write for a program is an access of its own."""

from pathlib import Path

import pytest
from host_program import kinds_found

from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run

EMULATOR = [
    'std::istringstream in("AAAABBBB"); in.read(runtime(), 4);',
    'std::istringstream in("AAAABBBB"); in.getline(runtime(), 4);',
    "std::ostringstream text; text.write(runtime(), 4);",
    "std::ostringstream text; text.rdbuf()->sputn(runtime(), 4);",
    "std::ostringstream text; text << runtime();",
    'std::istringstream in("1 2"); in >> *(int*)runtime();',
    'std::istringstream in("1 2"); in >> *(double*)runtime();',
    'std::wistringstream in(L"1 2"); in >> *(unsigned short*)runtime();',
]
RACES = [
    "fill<<<1, 1>>>(pinned); std::ostringstream text; text.write(pinned, 8);",
    'fill<<<1, 1>>>(pinned); std::ofstream file("out.bin"); file.write(pinned, 8);',
    'fill<<<1, 1>>>(pinned); std::filebuf file; file.open("out.bin", std::ios::out);'
    " file.sputn(pinned, 8);",
    'look<<<1, 1>>>(pinned, out); std::istringstream text("12345678"); text.read(pinned, 8);',
    "fill<<<1, 1>>>(pinned); std::cout << pinned;",
    'look<<<1, 1>>>(pinned, out); std::istringstream text("7"); text >> *(int*)(pinned + 4);',
    'look<<<1, 1>>>(pinned, out); std::istringstream text("7"); text >> *(float*)(pinned + 4);',
]


@pytest.mark.parametrize("statement", EMULATOR)
def test_nothing_of_the_emulator_is_in_reach(tmp_path: Path, statement: str) -> None:
    assert "emulator_access" in kinds_found(tmp_path, statement)


@pytest.mark.parametrize("statement", RACES)
def test_characters_are_looked_at(tmp_path: Path, statement: str) -> None:
    assert {"data_race", "readback_before_sync"} & kinds_found(tmp_path, statement)


def test_ordinary_streams_do_what_the_library_does() -> None:
    program = Path(__file__).with_name("programs") / "library_streams.cu"
    outcome = run(build(BuildSpec(program)), RunOptions(ranks=1))
    assert outcome.findings == () and outcome.state == "finished"
    assert "bad 0" in outcome.stdout, outcome.stderr
