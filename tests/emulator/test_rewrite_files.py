"""Which files of a program are rewritten, what their includes become, and which are refused."""

import subprocess
from pathlib import Path

import pytest
from overlays import compiled, rewritten

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import Overlay, rewrite


def test_includes_become_the_overlay(tmp_path: Path):
    (tmp_path / "inc" / "deep").mkdir(parents=True)
    (tmp_path / "inc" / "deep" / "a.cuh").write_text(
        '#pragma once\n#include "b.h"\n__global__ void k(int* p) { *p = B; }\n'
    )
    (tmp_path / "inc" / "deep" / "b.h").write_text("#define B (__LINE__ + 40)\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "util.h").write_text("inline const char* where() { return __FILE__; }\n")
    (tmp_path / "src" / "other.cpp").write_text('#include "util.h"\nint other() { return 2; }\n')
    code = """#include <cstdio>
#include <deep/a.cuh>
# include "util.h" // twice
#include "util.h"
#if __has_include("util.h") && !__has_include("absent.h")
int other();
#endif
int main() { int v = 0; k<<<1, 1>>>(&v); printf("\\n%d %s %s %d", v, where(), __FILE__, other()); }
"""
    (tmp_path / "src" / "util.h").write_text(
        "#pragma once\ninline const char* where() { return __FILE__; }\n"
    )
    spec = {"include_dirs": (tmp_path / "inc",), "sources": (tmp_path / "src" / "other.cpp",)}
    overlay = rewritten(tmp_path, code, "src/prog.cu", **spec)
    assert [f.name for f in overlay.files] == [
        "prog.cu", "../inc/deep/a.cuh", "../inc/deep/b.h", "util.h", "other.cpp",
    ]  # fmt: skip
    assert overlay.file_named("../inc/deep/a.cuh").path == tmp_path / "inc" / "deep" / "a.cuh"
    done = compiled(tmp_path, overlay)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([tmp_path / "overlay" / "prog"], capture_output=True, text=True)
    assert ran.stdout.split("\n")[1] == "43 util.h prog.cu 2"


def test_the_overlay_does_not_depend_on_where_the_program_lies(tmp_path: Path):
    def make(folder: Path) -> Overlay:
        folder.mkdir()
        (folder / "u.h").write_text("int u;\n")
        return rewritten(folder, '#include "u.h"\nint main() {}\n')

    one, two = make(tmp_path / "one"), make(tmp_path / "two")
    assert one.texts == two.texts and one.units == two.units


def test_real_cuda_and_nccl_headers_are_passed_over(tmp_path: Path):
    (tmp_path / "nccl" / "nccl_device").mkdir(parents=True)
    for name in ("nccl.h", "nccl_device.h", "nccl_device/core.h"):
        (tmp_path / "nccl" / name).write_text("#error the real one\n")
    overlay = rewritten(
        tmp_path, "#include <nccl_device.h>\nint main() {}\n", include_dirs=(tmp_path / "nccl",)
    )
    assert len(overlay.files) == 1


def test_unconditional_headers_are_known(tmp_path: Path):
    (tmp_path / "guard.h").write_text("#ifndef G\n#define G\n#include <vector>\n#endif\n")
    (tmp_path / "maybe.h").write_text("#include <set>\n")
    code = """#include <cstdio>
#include "guard.h"
#ifdef USE_MPI
#include <mpi.h>
#include "maybe.h"
#endif
#include <string>
"""
    assert rewritten(tmp_path, code).headers == ("cstdio", "vector", "string")


def test_a_header_of_the_users_own_beside_the_program_comes_first(tmp_path: Path):
    (tmp_path / "vector_types.h").write_text("constexpr int mine = 4;\n")
    (tmp_path / "cuda.h").write_text("constexpr int also = 4;\n")
    (tmp_path / "cuda_runtime.h").write_text(
        "// Copyright NVIDIA Corporation\n#error a copy of the real one\n"
    )
    code = (
        '#include "cuda_runtime.h"\n#include "vector_types.h"\n#include "cuda.h"\n'
        "int main() { return mine - also; }\n"
    )
    overlay = rewritten(tmp_path, code)
    text = overlay.texts[overlay.units[0]].decode()
    assert '#include "cuda_runtime.h"' in text
    assert '#include "u1_vector_types.h"' in text
    assert '#include "u2_cuda.h"' in text


def test_include_in_a_circle_ends(tmp_path: Path):
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\nint a;\n')
    (tmp_path / "b.h").write_text('#pragma once\n#include "a.h"\nint b;\n')
    overlay = rewritten(tmp_path, '#include "a.h"\nint main() { return a + b; }\n')
    assert compiled(tmp_path, overlay).returncode == 0


@pytest.mark.parametrize("content", [b"", b"  \n", b"\x7fELF\0\0"])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "prog.cu").write_bytes(content)
    with pytest.raises(SourceError, match=r"prog\.cu"):
        rewrite(BuildSpec(tmp_path / "prog.cu"))


def test_a_missing_file_is_refused(tmp_path: Path):
    with pytest.raises(SourceError, match=r"absent\.cu.*must exist"):
        rewrite(BuildSpec(tmp_path / "absent.cu"))
    (tmp_path / "prog.cu").write_text("int main() {}")
    with pytest.raises(SourceError, match="must be readable"):
        rewrite(BuildSpec(tmp_path / "prog.cu", sources=(tmp_path,)))


def test_bytes_that_are_not_utf8_survive(tmp_path: Path):
    (tmp_path / "prog.cu").write_bytes(b"// caf\xe9\nint main() { k<<<1, 1>>>(); }\n")
    overlay = rewrite(BuildSpec(tmp_path / "prog.cu"))
    assert b"// caf\xe9\n" in overlay.texts[overlay.units[0]]
