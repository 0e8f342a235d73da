"""The doctor's record names what is here and how to get what is not."""

from pathlib import Path

import pytest

from warploom.core.records import to_json
from warploom.toolchain import compilers, nvcc
from warploom.toolchain.doctor import examine


def test_this_machine():
    report = examine()
    assert report.ok
    tools = {tool.name: tool for tool in report.tools}
    assert tools["C++20 compiler"].found
    assert all(tool.found or tool.cure for tool in report.tools)
    assert report.packages["warploom"]
    assert isinstance(to_json(report), dict)


def test_a_bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("WARPLOOM_CXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WARPLOOM_NVCC", str(tmp_path / "nvcc"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    compilers._find.cache_clear()
    nvcc._probe.cache_clear()
    report = examine()
    compilers._find.cache_clear()
    assert not report.ok and report.gpus == ()
    cures = {tool.name: tool.cure for tool in report.tools if tool.found is None}
    assert "WARPLOOM_CXX" in cures["C++20 compiler"] and "warploom[cuda]" in cures["nvcc"]
    assert "binutils" in cures["symbolizer"]
