"""Every shim header compiles when it is the only one that a program includes."""

import re
import subprocess
from pathlib import Path

import pytest

from warploom.emulator.building.runtime_build import RUNTIME_DIR
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler

HEADERS = sorted(
    path.relative_to(SHIM_DIR).as_posix()
    for path in SHIM_DIR.rglob("*")
    if path.is_file() and path.suffix in ("", ".h", ".hpp", ".cuh")
)


VERSION = "-DWARPLOOM_NCCL_VERSION=23203"


def one_of_each() -> list[str]:
    """Of headers that only include others, and the same ones, one stands for all."""
    texts: dict[tuple[str, ...], str] = {}
    for header in HEADERS:
        lines = [line.split("//")[0].strip() for line in _text(header).splitlines()]
        code = tuple(line for line in lines if line)
        includes = all(re.fullmatch(r"""#pragma once|#include [<"].+[>"]""", one) for one in code)
        here = str(Path(header).parent)  # what "../" is seen from
        texts.setdefault((here, *code) if includes else (header,), header)
    return list(texts.values())


def _text(header: str) -> str:
    return (SHIM_DIR / header).read_text()


@pytest.mark.parametrize("header", one_of_each())
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


@pytest.mark.parametrize(
    "planted", ["", "#include <string>\nstatic std::string early(100, 'x');\n"]
)
def test_no_header_runs_code_before_main(planted: str, tmp_path: Path) -> None:
    """A candidate with a variable that needs such code is told from the trusted program by it."""
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in HEADERS) + planted)
    done = subprocess.run(
        [*find_compiler().command, "-std=c++20", "-O1", "-S", "-o", "-", f"-I{SHIM_DIR}", VERSION,
         str(source)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]
    assert (".init_array" in done.stdout) == bool(planted)


@pytest.mark.parametrize(
    "header",
    sorted((*RUNTIME_DIR.rglob("*.h"), *RUNTIME_DIR.with_name("guard").glob("*.h"))),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_a_header_of_ours_names_where_its_integers_come_from(header: Path) -> None:
    """From version 13 on, g++'s other headers do not bring <cstdint> along."""
    text = header.read_text()
    if re.search(r"\bu?int(8|16|32|64|ptr)_t\b", text):
        assert "#include <cstdint>" in text


def test_functions_of_16_bit_floats_are_found_in_every_way(tmp_path: Path) -> None:
    source = tmp_path / "found.cpp"
    source.write_text("""
template <class T>
T later(T x) { return hsqrt(x) + __hadd(x, x); }  // by argument, declared below
#include <cuda_fp16.h>
static_assert(std::is_trivially_copyable_v<__half2> && sizeof(__half2) == 4);
float only_half(__half x) { return float(::__hmax(x, 1.0f)) + float(hsqrt(2.0f)) + float(++x); }
#include <cuda_bf16.h>
namespace mine {
int hsqrt(int x) { return x; }
float both(__nv_bfloat16 a, __half b) {
  a *= 2;
  b /= 0.5f;
  return float(hsqrt(a)) + float(later(b)) + __low2float(__half2(b, b)) + (a < a);
}
}
__half (*pointer)(__half, __half) = __hmax;
using ::h2rint;
""")
    command = [*find_compiler().command, "-std=c++20", "-fsyntax-only", "-Wall", f"-I{SHIM_DIR}"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
