"""A small runtime of the tests' own, so that the driver is tested apart from the real one."""

import importlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.core.records import BuildSpec
from warploom.emulator import EmulatorBuild, build
from warploom.emulator.building.guard_tool import build_guard
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.nvcc import compile_gate

FAKE = Path(__file__).with_name("fake")


@pytest.fixture(scope="session")
def fake_executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fake runtime, compiled once."""
    path = tmp_path_factory.mktemp("fake") / "warploom-emu"
    command = [*find_compiler().command, "-std=c++20", "-O1", "-w", "-rdynamic"]
    subprocess.run([*command, FAKE / "runtime.cpp", "-o", path, "-ldl"], check=True)
    return path


@pytest.fixture(scope="session")
def fake_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests with the fake runtime."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def guard() -> Path:
    """The guard, which is not faked: from the cache that all tests share."""
    return build_guard(find_compiler())


@pytest.fixture
def fake_runtime(
    monkeypatch: pytest.MonkeyPatch, fake_executable: Path, fake_cache: Path, guard: Path
) -> Path:
    """Put the fake runtime and its headers in the place of ours, and the cache in a folder."""
    modules = ("building.build", "building.prefix", "building.runtime_build", "rewriting.rewrite")
    for module in modules:
        found = importlib.import_module(f"warploom.emulator.{module}")
        monkeypatch.setattr(found, "SHIM_DIR", FAKE / "include")
    library = importlib.import_module("warploom.emulator.building.process_library")
    monkeypatch.setattr(library, "PROCESS_DIR", FAKE / "process")
    module = importlib.import_module("warploom.emulator.building.build")
    monkeypatch.setattr(module, "build_runtime", lambda compiler, strict=False: fake_executable)
    monkeypatch.setattr(module, "build_guard", lambda compiler: guard)
    monkeypatch.setenv("WARPLOOM_CACHE", str(fake_cache))
    return fake_executable


class Programs:
    """Writes and builds small programs for the fake runtime."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.runtime = runtime

    def write(self, code: str, name: str = "prog.cu") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        return path

    def build(self, code: str, **spec) -> EmulatorBuild:
        return build(BuildSpec(self.write(code), **spec))


@pytest.fixture
def programs(fake_runtime: Path, tmp_path: Path) -> Programs:
    """A folder for programs, and the fake runtime in place."""
    return Programs(tmp_path, fake_runtime)


@pytest.fixture
def real_headers() -> Callable[..., None]:
    """Compile a program with nvcc and the real headers of an NCCL version; skip without them."""

    def compile_there(program: Path, version: str, **defines: str) -> None:
        try:
            spec = BuildSpec(program, defines=defines)
            result = compile_gate(spec, version, all_back_ends=False)
        except MissingToolError as error:
            pytest.skip(error.message)
        assert result.ok, result.log[-2000:]

    return compile_there
