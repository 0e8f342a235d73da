"""The cache: whole entries or none, and bounded."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.errors import ToolFailedError
from warploom.toolchain import seal
from warploom.toolchain.cache import cache_root, cache_sizes, cached_folder, prune


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    seal._key.cache_clear()
    yield
    seal._key.cache_clear()


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
from collections.abc import Callable
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
    assert prune(tmp_path, max_bytes=1900, max_age_days=30) == 2
    assert sorted(p.name for p in (tmp_path / "kind").iterdir()) == [".locks", "used"]
    assert nccl.exists()
    assert cache_sizes(tmp_path)["kind"] < 2000


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


def grow(entry: Path) -> None:
    with (entry / "data").open("ab") as file:
        file.write(b"more")


def same_size(entry: Path) -> None:
    before = (entry / "data").stat()
    (entry / "data").write_bytes(b"y" * before.st_size)
    os.utime(entry / "data", ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(entry: Path) -> None:
    size = (entry / "data").stat().st_size
    (entry / "other").write_bytes(b"y" * size)
    (entry / "other").rename(entry / "data")


def one_more(entry: Path) -> None:
    (entry / "prefix.h.gch").write_bytes(b"")


def a_link(entry: Path) -> None:
    (entry / "data").rename(entry.parent / "elsewhere")
    (entry / "data").symlink_to(entry.parent / "elsewhere")


def of_another_entry(entry: Path) -> None:
    other, _ = cached_folder("kind", "other", lambda f: write(f, 5), entry.parent.parent)
    for name in ("data", seal.SEAL):
        (entry / name).write_bytes((other / name).read_bytes())


def own_seal(entry: Path) -> None:
    (entry / "data").write_bytes(b"evil")
    (entry / seal.SEAL).write_text('{"files": {"data": [4, 0, 0, ""]}, "mac": "0"}')


def no_seal(entry: Path) -> None:
    (entry / seal.SEAL).unlink()


@pytest.mark.parametrize("size", [10, 5 << 20])
@pytest.mark.parametrize(
    "change",
    [grow, same_size, replaced, one_more, a_link, of_another_entry, own_seal, no_seal],
)
def test_what_somebody_else_wrote_is_made_again(
    tmp_path: Path, change: Callable[[Path], None], size: int, capsys: pytest.CaptureFixture[str]
):
    root = tmp_path / "root"
    entry, _ = cached_folder("kind", "key", lambda f: write(f, size), root)
    change(entry)
    again, cached = cached_folder("kind", "key", lambda f: write(f, size), root)
    assert not cached and (again / "data").read_bytes() == b"x" * size
    assert not (again / "data").is_symlink()
    noted = str(entry) in capsys.readouterr().err
    assert noted is (change is not no_seal)  # entries of an earlier version go without a word
    assert cached_folder("kind", "key", write, root)[1]


def test_a_copy_of_the_cache_is_good(tmp_path: Path):
    cached_folder("kind", "key", lambda f: write(f, 5 << 20), tmp_path / "root")
    shutil.copytree(tmp_path / "root", tmp_path / "copy")
    assert cached_folder("kind", "key", write, tmp_path / "copy")[1]
    assert cached_folder("kind", "key", write, tmp_path / "copy")[1]


def test_the_key_is_the_users_own(tmp_path: Path):
    cached_folder("kind", "key", write, tmp_path / "root")
    key = seal.key_file(tmp_path / "root")
    assert key == tmp_path / "root" / ".private" / "cache.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    key.chmod(0o644)
    seal._key.cache_clear()
    with pytest.raises(ToolFailedError, match="nobody else"):
        cached_folder("kind", "key", write, tmp_path / "root")


def test_the_name_of_a_cache_and_the_home_of_its_user_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / ".cache" / "warploom"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("WARPLOOM_CACHE", raising=False)
    cached_folder("kind", "key", write)
    monkeypatch.setenv("WARPLOOM_CACHE", str(root))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    seal._key.cache_clear()
    assert cached_folder("kind", "key", write) == (root / "kind" / "key", True)


def test_where_the_cache_takes_no_key_the_home_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".private").write_text("")
    cached_folder("kind", "key", write, tmp_path / "root")
    assert (tmp_path / "state" / "warploom" / "cache.key").exists()
