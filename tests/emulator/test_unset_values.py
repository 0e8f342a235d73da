"""Variables that nobody sets, in declarations of every form: none is the hoped-for zero.

And what the compiler is sure of: values that are not set, pointers to variables that are gone.
"""

from pathlib import Path

import pytest
from host_program import check_program

from warploom.core.records import Finding, Severity
from warploom.emulator.building.compiler_warnings import sure_warnings, uses_unset
from warploom.emulator.building.unset_values import may_lose_members
from warploom.testing.attacks.variants.unset import FORMS

PROGRAM = """
#include <cuda_runtime.h>
#include <cstdio>
BEFORE
__device__ inline float nothing() { STATEMENTS }
__global__ void add(const float* in, float* out, int n) {
  float sum = nothing();
  for (int i = 0; i < n; i++) sum += in[i];
  out[threadIdx.x] = sum;
}
int main() {
  float numbers[32], *in, *out;
  for (float& number : numbers) number = 1.0f;
  cudaMalloc(&in, sizeof numbers);
  cudaMalloc(&out, sizeof numbers);
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  add<<<1, 32>>>(in, out, 32);
  cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (float number : numbers) wrong += number != 32.0f;
  cudaFree(in);
  cudaFree(out);
  return wrong ? 1 : 0;
}
"""
_PADDED = "struct Pair { char tag; int n; };\nstruct Row { Pair pairs[4]; };\n"
UNSET = {
    **FORMS,
    "beside an array of structs": (_PADDED, "for (float x, n = 0; n < 1; n++) return x; return 0;"),
}
SET = {
    "later": ("", "float x; x = 0; return x;"),
    "in a branch": ("", "float x; if (threadIdx.x < 40) x = 0; else x = 1; return x;"),
    "by a function": ("__device__ void zero(float& x) { x = 0; }", "float x; zero(x); return x;"),
    "in a loop": ("", "for (float x, n = 0; n < 1; n++) { x = n; return x; } return 0;"),
    "by a cast address": (
        "__device__ void zero(void** p) { *p = nullptr; }",
        "float* x; zero((void**)&x); return x ? 1 : 0;",
    ),
    "part of an array": ("", "float x[8]; x[3] = 0; return x[3];"),
    "an unnamed object": (
        _PADDED + "__device__ inline int last(const Row& row) { return row.pairs[3].n; }",
        "return last(Row{{{1, 2}, {3, 4}, {5, 6}, {7, 0}}});",
    ),
}


def found_in(folder: Path, before: str, statements: str) -> list[Finding]:
    text = PROGRAM.replace("BEFORE", before).replace("STATEMENTS", statements)
    return [one.finding for one in check_program(folder, text).findings]


def errors(found: list[Finding]) -> set[str]:
    return {one.kind for one in found if one.severity is Severity.ERROR}


@pytest.mark.parametrize("name", UNSET)
def test_what_nobody_sets_is_not_zero(tmp_path: Path, name: str) -> None:
    found = errors(found_in(tmp_path, *UNSET[name]))
    assert found
    assert found <= {"exit_code", "uninitialized_read"}


@pytest.mark.parametrize("name", SET)
def test_what_is_set_is_what_it_was_set_to(tmp_path: Path, name: str) -> None:
    found = found_in(tmp_path, *SET[name])
    assert not errors(found)
    assert not [one for one in found if one.kind == "uninitialized_read"]


def test_the_compiler_names_what_is_not_set_and_what_is_gone(tmp_path: Path) -> None:
    before = (
        "struct Acc { float v; __device__ ~Acc() {} };\n"
        "__device__ float* parts(float x) { float part[2] = {x, x}; return part; }"
    )
    found = found_in(tmp_path, before, "Acc x; return x.v + *parts(1);")
    told = {(one.kind, one.message) for one in found if one.severity is Severity.WARNING}
    assert ("uninitialized_read", "'v' is used before it is set") in told
    gone = "a function returns the address of 'part', which is gone when it has returned"
    assert ("use_after_free", gone) in told


def test_a_log_is_read_for_variables_alone() -> None:
    log = (
        "a.cu:2:7: warning: 'own[1]' is used uninitialized [-Wuninitialized]\n"
        "a.cu:4:9: warning: 'sum.Part::value' is used uninitialized [-Wuninitialized]\n"
        "a.cu: In function 'void k()':\n"
        "a.cu:3:9: note: 'sum' declared here\n"
    )
    assert [(one.message, one.line) for one in sure_warnings(log)] == [
        ("'value' is used before it is set", 4)
    ]
    assert uses_unset(log)
    assert not uses_unset("a.cu:4:9: warning: unused variable 'x' [-Wunused-variable]\n")


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("struct Row { Pair pairs[4]; };", True),
        ("struct Row { int n; Pair first, others[4]; };", True),
        ("template <class T> struct Row { T parts[4]; };", True),
        ("std::array<Pair, 4> row;", True),
        (
            "struct Row { float parts[4]; unsigned char text[9]; float4 wide[2]; Pair* to[3]; };",
            False,
        ),
        ("float tile[4]; cudaStream_t streams[2]; std::array<int, 3> n; // Pair pairs[4];", False),
        ("return values[4];", False),
    ],
)
def test_classes_with_arrays_of_classes_are_told(text: str, may: bool) -> None:
    assert may_lose_members(text.encode()) == may
