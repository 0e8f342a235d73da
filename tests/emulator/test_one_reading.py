"""Device and host code that read the same are compiled once, and only those."""

import secrets
import sys
from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator import RunOptions, build, run
from warploom.emulator.building.prefix import precompiled_prefix
from warploom.emulator.building.runtime_build import run_compiler
from warploom.emulator.building.unit_flags import PASS_FLAGS
from warploom.toolchain.compilers import find_compiler

PROGRAM = r"""
#include <cstdio>
#include <cuda_runtime.h>
{more}
__global__ void add(int* p, int n) {{ *p += n; }}
int main() {{
  int *p, value = 1;
  cudaMalloc(&p, sizeof(int));
  cudaMemcpy(p, &value, sizeof(int), cudaMemcpyHostToDevice);
  add<<<1, 1>>>(p, 2);
  cudaMemcpy(&value, p, sizeof(int), cudaMemcpyDeviceToHost);
  return value == 3 ? 0 : 1;
}}
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the compiler was asked for: E to preprocess, S to compile."""
    found: list[str] = []

    def noted(compiler, arguments, *more, **named):
        words = [str(part) for part in arguments]
        if "u0_program.cu" in words or any(word.endswith(".ii") for word in words):
            found.append("E" if "-E" in words else "S")
        return run_compiler(compiler, arguments, *more, **named)

    monkeypatch.setattr(sys.modules["warploom.emulator.building.build"], "run_compiler", noted)
    return found


def _build(folder: Path, more: str):
    # No cache has it.
    (folder / "program.cu").write_text(PROGRAM.format(more=more) + f"// {secrets.token_hex(8)}\n")
    return build(BuildSpec(folder / "program.cu"))


def test_the_same_text_is_compiled_once(tmp_path: Path, calls: list[str]):
    program = _build(tmp_path, "// nothing that depends on the pass")
    assert sorted(calls) == ["E", "E", "S"]
    assert dict(run(program, RunOptions(ranks=1)).exit_codes) == {0: 0}


@pytest.mark.parametrize(
    "more",
    [
        "#ifdef __CUDA_ARCH__\nint of_device;\n#endif",
        "#define PASTE(a, b) a##b\n#if defined(__CUDA_ARCH__) && PASTE(__CUDA_, ARCH__) > 1\n"
        "int of_device;\n#endif",
        "const char* const told = __FILE__ "
        "\n#ifdef __CUDA_ARCH__\n \"of the device\"\n#endif\n;",
        '#pragma push_macro("__CUDA_ARCH__")\n#undef __CUDA_ARCH__\n'
        '#pragma pop_macro("__CUDA_ARCH__")\n'
        "#if __CUDA_ARCH__\nstruct Other { int a; };\n#else\nstruct Other {};\n#endif",
    ],
    ids=["ifdef", "pasted", "in-a-statement", "popped"],
)  # fmt: skip
def test_another_text_is_compiled_for_each_pass(tmp_path: Path, calls: list[str], more: str):
    program = _build(tmp_path, more)
    # What pieces are pasted could make a shift, too: that is not even compared.
    assert sorted(calls) == (["S", "S"] if "##" in more else ["E", "E", "S", "S"])
    assert dict(run(program, RunOptions(ranks=1)).exit_codes) == {0: 0}


def test_shifts_are_those_of_each_pass(tmp_path: Path, calls: list[str]):
    _build(tmp_path, "__device__ unsigned moved(unsigned x, int n) { x <<= n; return x; }")
    assert sorted(calls) == ["S", "S"]


def test_errors_are_those_of_the_program_as_written(tmp_path: Path, calls: list[str]):
    with pytest.raises(SourceError, match="undeclared_name") as caught:
        _build(tmp_path, "#define WRONG undeclared_name + 1\nint x = WRONG;")
    assert caught.value.line == 4 and "in expansion of macro" in str(caught.value)


def test_an_error_of_one_pass_is_an_error(tmp_path: Path):
    with pytest.raises(SourceError, match="not for devices"):
        _build(tmp_path, "#ifdef __CUDA_ARCH__\n#error not for devices\n#endif")


def test_a_precompiled_header_of_the_program_is_not_taken(tmp_path: Path):
    """What preprocessed text says of one is for the compiler itself."""
    (tmp_path / "own.gch").write_bytes(b"gpch")
    with pytest.raises(SourceError):
        _build(tmp_path, '#pragma GCC pch_preprocess "own.gch"')


def test_headers_are_precompiled_when_they_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    flags = ("-x", "c++", "-std=c++20", "-D__CUDACC__", "-D__NVCC__", *PASS_FLAGS)
    found = [precompiled_prefix(find_compiler(), flags, ["cstdio"], "shims") for _ in range(3)]
    assert [header.with_suffix(".h.gch").exists() for header in found] == [False, True, True]
    assert len({header.read_text() for header in found}) == 1
