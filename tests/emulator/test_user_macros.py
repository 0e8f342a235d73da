"""Macros that programs define before our headers change nothing in them."""

import string
import subprocess
from pathlib import Path

from warploom.emulator.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler

LETTERS = string.ascii_uppercase
_WORDS_TEXT = """
BLOCK BLOCKS SIZE COUNT RANK RANKS NUM WARP WARPS LANE THREADS TILE ROWS COLS DIM LEN MAX MIN
BYTES ITERS STEPS CHUNK DATA VALUE INDEX CHECK DEBUG VERBOSE ROUNDS TYPE FLOAT INT HALF WIDTH
HEIGHT OFFSET STREAM EPS PI SCALE BM BN BK TM TN
"""
WORDS = _WORDS_TEXT.split()
HEADERS = sorted(
    path.relative_to(SHIM_DIR).as_posix()
    for path in SHIM_DIR.rglob("*")
    if path.is_file() and path.suffix in ("", ".h", ".hpp", ".cuh")
)


def test_common_names_may_be_macros(tmp_path: Path) -> None:
    source = tmp_path / "macros.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in HEADERS))
    macros = [f"-D{name}=64" for name in (*LETTERS, *WORDS)]
    flags = ["-std=c++20", "-fsyntax-only", "-w", "-DWARPLOOM_NCCL_VERSION=23203"]
    done = subprocess.run(
        [*find_compiler().command, *flags, *macros, f"-I{SHIM_DIR}", source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
