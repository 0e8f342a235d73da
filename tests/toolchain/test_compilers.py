"""The host compiler is found, named and refused with a cure."""

from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.toolchain import compilers
from warploom.toolchain.compilers import find_compiler, library_folder, probe_compiler


@pytest.fixture(autouse=True)
def fresh_search():
    compilers._find.cache_clear()
    yield
    compilers._find.cache_clear()


def fake_compiler(folder: Path, name: str, says: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)
    return str(path)


def test_the_machines_compiler_is_new_enough():
    compiler = find_compiler()
    assert compiler.version >= 11 and compiler.family in ("gcc", "clang")
    assert str(compiler.version) in compiler.identity


@pytest.mark.parametrize(
    ("says", "family", "version"),
    [
        ("Target: x86_64-linux-gnu\ngcc version 13.2.0 (Ubuntu 13.2.0-23ubuntu4)", "gcc", 13),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64-pc-linux-gnu", "clang", 18),
        ("clang version 20.1.2\nTarget: x86_64-unknown-linux-gnu", "clang", 20),
    ],
)
def test_versions_are_read(tmp_path: Path, says: str, family: str, version: int):
    compiler = probe_compiler((fake_compiler(tmp_path, "cxx", says),))
    assert compiler is not None
    assert (compiler.family, compiler.version) == (family, version)


def test_the_identity_does_not_depend_on_the_path(tmp_path: Path):
    says = "Target: x86_64-linux-gnu\ngcc version 13.2.0 (x)"
    one = probe_compiler((fake_compiler(tmp_path, "a", says),))
    two = probe_compiler((fake_compiler(tmp_path, "b", says),))
    assert one is not None and two is not None and one.identity == two.identity


def test_an_old_compiler_is_refused_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old = fake_compiler(tmp_path, "cxx", "gcc version 9.4.0 (Ubuntu)")
    monkeypatch.setenv("WARPLOOM_CXX", old)
    with pytest.raises(MissingToolError, match=r"gcc 11 or newer.*9\.4\.0(.|\n)*install"):
        find_compiler()


def test_what_is_no_compiler_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WARPLOOM_CXX", "cat")
    with pytest.raises(MissingToolError, match="'cat' is neither"):
        find_compiler()


def test_none_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("WARPLOOM_CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match=r"none is found(.|\n)*WARPLOOM_CXX"):
        find_compiler()


def test_an_old_first_choice_does_not_hide_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("WARPLOOM_CXX", raising=False)
    fake_compiler(tmp_path, "g++", "gcc version 9.4.0 (Ubuntu)")
    fake_compiler(tmp_path, "g++-12", "gcc version 12.1.0 (Ubuntu)")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(compilers, "_candidates", lambda: iter([("g++",), ("g++-12",)]))
    assert find_compiler().version == 12


def test_an_unusual_library_folder_is_known(tmp_path: Path):
    assert library_folder(find_compiler()) is None
    lib = tmp_path / "home" / "lib"
    lib.mkdir(parents=True)
    (lib / "libstdc++.so.6").write_text("")
    path = tmp_path / "cxx"
    path.write_text(
        "#!/bin/sh\n[ \"$1\" = -v ] && echo 'gcc version 13.2.0 (conda)' >&2 || "
        f"echo {lib}/../lib/libstdc++.so.6\n"
    )
    path.chmod(0o755)
    compiler = probe_compiler((str(path),))
    assert compiler is not None and library_folder(compiler) == lib
