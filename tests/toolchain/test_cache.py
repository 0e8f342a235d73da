"""The cache: whole entries or none, and bounded."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warploom.core.errors import ToolFailedError
from warploom.toolchain.cache import cache_root, cache_sizes, cached_folder, prune


def write(folder: Path, size: int = 10) -> None:
    (folder / "data").write_bytes(b"x" * size)


def age(folder: Path, days: float) -> None:
    then = time.time() - days * 86400
    os.utime(folder, (then, then))


def test_made_once(tmp_path: Path):
    first, cached = cached_folder("kind", "key", write, tmp_path)
    assert not cached and (first / "data").exists()

    def never(folder: Path) -> None:
        raise AssertionError("made twice")

    assert cached_folder("kind", "key", never, tmp_path) == (first, True)


def test_a_failure_leaves_nothing(tmp_path: Path):
    def fail(folder: Path) -> None:
        write(folder)
        raise ToolFailedError("no")

    with pytest.raises(ToolFailedError):
        cached_folder("kind", "key", fail, tmp_path)
    assert [p.name for p in (tmp_path / "kind").iterdir()] == [".locks"]
    assert cached_folder("kind", "key", write, tmp_path)[1] is False


def test_two_processes_make_it_once(tmp_path: Path):
    code = f"""
import time
from pathlib import Path
from warploom.toolchain.cache import cached_folder
def make(folder):
    with open({str(tmp_path / "made")!r}, "a") as f: f.write("x")
    time.sleep(0.3)
cached_folder("kind", "key", make, Path({str(tmp_path / "root")!r}))
"""
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [p.wait(20) for p in both] == [0, 0]
    assert (tmp_path / "made").read_text() == "x"


def test_old_and_large_entries_go(tmp_path: Path):
    for name, days in (("old", 40), ("used", 2), ("older", 3)):
        age(cached_folder("kind", name, lambda f: write(f, 1000), tmp_path)[0], days)
    nccl, _ = cached_folder("nccl", "2.32.3", write, tmp_path)
    age(nccl, 400)
    assert prune(tmp_path, max_bytes=1500, max_age_days=30) == 2
    assert sorted(p.name for p in (tmp_path / "kind").iterdir()) == [".locks", "used"]
    assert nccl.exists()
    assert cache_sizes(tmp_path)["kind"] == 1000


def test_root_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"
    monkeypatch.delenv("WARPLOOM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "warploom"


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolFailedError, match="WARPLOOM_CACHE"):
        cached_folder("kind", "key", write, tmp_path / "file")
