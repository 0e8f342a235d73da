"""Every shim header compiles when it is the only one that a program includes."""

import subprocess
from pathlib import Path

import pytest

from warploom.emulator.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler

HEADERS = sorted(
    path.relative_to(SHIM_DIR).as_posix()
    for path in SHIM_DIR.rglob("*")
    if path.is_file() and path.suffix in ("", ".h", ".hpp", ".cuh")
)


VERSION = "-DWARPLOOM_NCCL_VERSION=23203"


@pytest.mark.parametrize("header", HEADERS)
def test_header_alone(header: str, tmp_path: Path) -> None:
    source = tmp_path / "alone.cpp"
    source.write_text(f"#include <{header}>\n#include <{header}>\n")
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        [*find_compiler().command, *flags, f"-I{SHIM_DIR}", VERSION, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
