"""Finds NCCL's headers, of every version at hand, and fetches those of another."""

import functools
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, MissingToolError
from warploom.core.ids import digest
from warploom.core.process import run_process
from warploom.core.records import OLDEST_NCCL, Limits
from warploom.toolchain.cache import cache_root, cached_folder
from warploom.toolchain.seal import SEAL, is_sound

DEFAULT_VERSION = "2.32.3"
"""The version whose rules hold where no headers are at hand: the newest that we know."""

_PACKAGE = "nvidia-nccl-cu13"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+NCCL_(MAJOR|MINOR|PATCH)[ \t]+(\d+)", re.MULTILINE)
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_SYSTEM = ("/usr/include", "/usr/local/include", "/usr/local/cuda/include", "/opt/nccl/include")
_DOWNLOAD_LIMITS = Limits(seconds=900.0, memory_mb=4096, output_mb=16)


@dataclass(frozen=True, slots=True)
class NcclHeaders:
    """One installation: `include` is the folder that holds `nccl.h`; `origin` says whose it is."""

    version: str
    include: Path
    origin: str


def version_key(version: str) -> tuple[int, ...]:
    """Return a key that sorts versions by age."""
    return tuple(int(part) for part in version.split("."))


@functools.lru_cache(maxsize=64)
def _read_version(header: Path, size: int) -> str | None:
    del size  # part of the cache's key: the header may be replaced
    numbers = dict(_DEFINE.findall(header.read_text(errors="replace")))
    if len(numbers) < 3:
        return None
    return f"{numbers['MAJOR']}.{numbers['MINOR']}.{numbers['PATCH']}"


def _at(include: Path, origin: str) -> NcclHeaders | None:
    header = include / "nccl.h"
    try:
        version = _read_version(header, header.stat().st_size)
    except OSError:
        return None
    return None if version is None else NcclHeaders(version, include, origin)


def _below(home: Path) -> Iterator[Path]:
    """Yield the include folders that `home` may mean."""
    for base in (home, *sorted(p for p in home.glob("*") if p.is_dir())):
        yield from (base / "include", base / "nvidia" / "nccl" / "include", base)


def _places() -> Iterator[tuple[Path, str]]:
    for home in os.environ.get("WARPLOOM_NCCL_HOME", "").split(os.pathsep):
        if home:
            yield from ((path, "WARPLOOM_NCCL_HOME") for path in _below(Path(home).expanduser()))
    for entry in sys.path:
        yield Path(entry or ".") / "nvidia" / "nccl" / "include", "python package"
    for variable in ("NCCL_HOME", "CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "include", variable
    yield from ((Path(path), "system") for path in _SYSTEM)
    cache = cache_root() / "nccl"
    if cache.is_dir():
        yield from (
            (path / "include", "fetched") for path in sorted(cache.iterdir()) if _is_ours(path)
        )


def _is_ours(entry: Path) -> bool:
    """Whether a cache entry holds the headers that were fetched."""
    try:
        changed = (entry / SEAL).stat().st_ctime_ns
    except OSError:
        return False
    return _is_sound(entry, changed)


@functools.lru_cache(maxsize=64)
def _is_sound(entry: Path, changed: int) -> bool:
    del changed  # part of the cache's key
    return is_sound(entry, f"nccl/{entry.name}", entry.parent.parent)


def find_nccl() -> tuple[NcclHeaders, ...]:
    """Return every installation of the NCCL headers, newest first, one per version."""
    found: dict[str, NcclHeaders] = {}
    for include, origin in _places():
        headers = _at(include, origin)
        if headers is not None:
            found.setdefault(headers.version, headers)
    return tuple(sorted(found.values(), key=lambda h: version_key(h.version), reverse=True))


def newest_version() -> str:
    """Return the newest version whose headers are at hand, or `DEFAULT_VERSION`.

    Versions before the device API do not count, such as PyTorch may bring.
    """
    for headers in find_nccl():
        if version_key(headers.version) >= OLDEST_NCCL:
            return headers.version
    return DEFAULT_VERSION


def get_nccl(version: str | None = None) -> NcclHeaders:
    """Return the headers of `version` (2.30 means any 2.30.x), or the newest.

    Raises:
        BadInputError: `version` is not a version.
        MissingToolError: they are not on this machine.
    """
    if version is not None and not _VERSION.fullmatch(version):
        raise BadInputError(f"an NCCL version must look like 2.30.7, got {version!r}")
    found = find_nccl()
    wanted = None if version is None else version_key(version)
    for headers in found:
        if wanted is None or version_key(headers.version)[: len(wanted)] == wanted:
            return headers
    have = ", ".join(h.version for h in found) or "none"
    raise MissingToolError(
        f"the headers of NCCL {version or '(any version)'} are needed, but here are: {have}",
        hint=f"pip install '{_PACKAGE}=={version or DEFAULT_VERSION}', or unpack that wheel and "
        "name its folder in WARPLOOM_NCCL_HOME",
    )


def nccl_library(headers: NcclHeaders) -> Path:
    """Return the `libnccl.so.2` that belongs to `headers`.

    Raises:
        MissingToolError: it is not beside them, nor where the system keeps libraries.
    """
    home = headers.include.parent
    places = [home / "lib", home / "lib64", *home.glob("lib/*-linux-gnu")]
    for folder in places:
        if (folder / "libnccl.so.2").exists():
            return folder / "libnccl.so.2"
    raise MissingToolError(
        f"programs need the library of NCCL {headers.version} to run, but beside its headers "
        f"({headers.include}) there is no libnccl.so.2",
        hint=f"pip install '{_PACKAGE}=={headers.version}', or name the folder of another version "
        "in WARPLOOM_NCCL_HOME and the version with --nccl",
    )


def _unpack_headers(wheel: Path, folder: Path) -> None:
    """Unpack only `nvidia/nccl/include` of `wheel` into `folder/include`."""
    prefix = "nvidia/nccl/include/"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = Path(name.removeprefix(prefix))
            if not name.startswith(prefix) or name.endswith("/") or ".." in inside.parts:
                continue
            target = folder / "include" / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))


def fetch_nccl(version: str) -> NcclHeaders:
    """Download NCCL's wheel with pip and keep its headers in the user's cache.

    Raises:
        BadInputError: `version` is not MAJOR.MINOR.PATCH.
        MissingToolError: pip is not there, or finds no such version.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise BadInputError(f"an NCCL version to fetch must look like 2.30.7, got {version!r}")

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="warploom-nccl-") as name:
            command = [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                "--disable-pip-version-check", "--only-binary", ":all:", "--dest", name,
                f"{_PACKAGE}=={version}",
            ]  # fmt: skip
            # pip is the user's own tool: it needs the user's index, proxy and certificates.
            result = run_process(command, limits=_DOWNLOAD_LIMITS, environment=os.environ)
            wheels = list(Path(name).glob("*.whl"))
            if not result.ok or not wheels:
                words = result.log.strip().splitlines()
                raise MissingToolError(
                    f"pip must download {_PACKAGE} {version}, but says: "
                    f"{words[-1] if words else result.stopped or result.exit_code}",
                    hint="check the version and the network, or set WARPLOOM_NCCL_HOME",
                )
            _unpack_headers(wheels[0], folder)
        if _at(folder / "include", "fetched") is None:
            shutil.rmtree(folder / "include", ignore_errors=True)
            raise MissingToolError(
                f"the wheel of {_PACKAGE} {version} must hold nccl.h, but has none"
            )

    folder, _ = cached_folder("nccl", version, make)
    headers = _at(folder / "include", "fetched")
    assert headers is not None
    return headers


def headers_digest(headers: NcclHeaders) -> str:
    """Return a digest of NCCL's own headers, for cache keys."""
    include = headers.include
    paths = sorted({*include.glob("nccl*.h"), *include.glob("nccl_device/**/*")})
    parts: list[str | bytes] = [headers.version]
    for path in paths:
        if path.is_file():
            parts += [path.relative_to(include).as_posix(), path.read_bytes()]
    return digest(parts)
