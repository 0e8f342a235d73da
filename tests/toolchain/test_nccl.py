"""NCCL's headers are found in every place, by version."""

import zipfile
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError, MissingToolError
from warploom.core.process import ProcessResult
from warploom.toolchain import nccl
from warploom.toolchain.nccl import fetch_nccl, find_nccl, get_nccl, newest_version
from warploom.toolchain.seal import seal


def header(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n#define NCCL_PATCH {patch}\n"


def install(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "nccl.h").write_text(header(version))
    return folder


def fetched(cache: Path, version: str) -> None:
    """Put headers into the cache as a download does."""
    install(cache / "nccl" / version / "include", version)
    seal(cache / "nccl" / version, f"nccl/{version}", cache)


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("WARPLOOM_NCCL_HOME", "NCCL_HOME", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(nccl, "_SYSTEM", (str(tmp_path / "system"),))
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])


def test_none():
    assert find_nccl() == ()
    assert newest_version() == "2.32.3"
    with pytest.raises(MissingToolError, match=r"any version.*none(.|\n)*pip install"):
        get_nccl()


def test_every_place_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install(tmp_path / "system", "2.28.9")
    install(tmp_path / "site" / "nvidia" / "nccl" / "include", "2.30.7")
    fetched(tmp_path / "cache", "2.29.7")
    install(tmp_path / "cache" / "nccl" / "2.30.1" / "include", "2.30.1")  # not by us
    one = install(tmp_path / "many" / "x" / "nvidia" / "nccl" / "include", "2.32.3")
    two = install(tmp_path / "single" / "include", "2.31.2")
    monkeypatch.setenv("WARPLOOM_NCCL_HOME", f"{tmp_path}/many:{tmp_path}/single")
    assert [(h.version, h.origin) for h in find_nccl()] == [
        ("2.32.3", "WARPLOOM_NCCL_HOME"),
        ("2.31.2", "WARPLOOM_NCCL_HOME"),
        ("2.30.7", "python package"),
        ("2.29.7", "fetched"),
        ("2.28.9", "system"),
    ]
    assert get_nccl().include == one
    assert get_nccl("2.31").include == two
    assert get_nccl("2.28.9").include == tmp_path / "system"
    assert newest_version() == "2.32.3"


def test_versions_sort_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install(tmp_path / "homes" / "a" / "include", "2.9.9")
    install(tmp_path / "homes" / "b" / "include", "2.28.9")
    monkeypatch.setenv("WARPLOOM_NCCL_HOME", str(tmp_path / "homes"))
    assert newest_version() == "2.28.9"


def test_headers_before_the_device_api_do_not_set_the_rules(tmp_path: Path):
    install(tmp_path / "system", "2.27.5")
    assert newest_version() == "2.32.3"
    assert get_nccl().version == "2.27.5"
    fetched(tmp_path / "cache", "2.28.9")
    assert newest_version() == "2.28.9"


def test_an_absent_version_says_what_is_here(tmp_path: Path):
    install(tmp_path / "system", "2.28.9")
    with pytest.raises(MissingToolError, match=r"NCCL 2\.30\.7 are needed, but here are: 2\.28\.9"):
        get_nccl("2.30.7")
    with pytest.raises(BadInputError, match="must look like"):
        get_nccl("newest")


def test_a_header_without_a_version_is_none(tmp_path: Path):
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "nccl.h").write_text("// nothing")
    assert find_nccl() == ()


def fake_pip(monkeypatch: pytest.MonkeyPatch, names: list[str], code: int = 0) -> None:
    def run(command: list[str], **options: object) -> ProcessResult:
        folder = Path(command[command.index("--dest") + 1])
        if code == 0:
            with zipfile.ZipFile(folder / "x.whl", "w") as archive:
                for name in names:
                    archive.writestr(name, header("2.30.7"))
        return ProcessResult(code, None, b"", b"ERROR: no such version\n", False, None, 1.0, 1, 1)

    monkeypatch.setattr(nccl, "run_process", run)


def test_fetch_keeps_the_headers_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    inside = "nvidia/nccl/include/"
    fake_pip(
        monkeypatch,
        [f"{inside}nccl.h", f"{inside}nccl_device/core.h", "nvidia/nccl/lib/libnccl.so.2",
         f"{inside}../../../../evil.h"],
    )  # fmt: skip
    headers = fetch_nccl("2.30.7")
    assert headers.version == "2.30.7" and headers.origin == "fetched"
    kept = [p.relative_to(headers.include).as_posix() for p in headers.include.rglob("*.h")]
    assert sorted(kept) == ["nccl.h", "nccl_device/core.h"]
    assert not list(tmp_path.rglob("evil.h")) and not list(tmp_path.rglob("libnccl*"))
    assert find_nccl() == (headers,)


def test_fetch_fails_with_what_pip_said(monkeypatch: pytest.MonkeyPatch):
    fake_pip(monkeypatch, [], code=1)
    with pytest.raises(MissingToolError, match="no such version"):
        fetch_nccl("9.9.9")
    assert find_nccl() == ()
    with pytest.raises(BadInputError):
        fetch_nccl("2.30")


def test_fetch_without_headers_in_the_wheel(monkeypatch: pytest.MonkeyPatch):
    fake_pip(monkeypatch, ["other/file.h"])
    with pytest.raises(MissingToolError, match=r"nccl\.h"):
        fetch_nccl("2.30.7")
