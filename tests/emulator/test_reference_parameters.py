"""Which parameters of kernels the compiler is asked about, and that no form of text breaks."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.emulator import build
from warploom.emulator.rewriting.reference_parameters import reference_edits
from warploom.emulator.tokens import tokenize


def asked(parameters: str, before: str = "") -> list[str]:
    """The parameters whose types are asked for."""
    text = f"{before}__global__ void __launch_bounds__(64) k({parameters}) {{ }}\n"
    return [edit.text for edit in reference_edits(tokenize(text.encode()))]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ("const F& f", ["f"]),
        ("F&& f, int n", ["f"]),
        ("const float (&k)[64]", ["k"]),
        ("float*& p", ["p"]),
        ("Weights w, float* x, int n", ["w"]),
        ("const ns::Weights<float, 2> w = {}", ["w"]),
        ("Args&&... args", ["args"]),
        ("cub::Item items[4]", ["items"]),
        ("typename Pick<(N > 7 && M < 3), const F&>::type f", ["f"]),
        ("std::conditional_t<(N > 0), const float&, int> k, int n", ["k"]),
        ("TAKEN f", ["f"]),
        ("float* x, const int* __restrict__ y, unsigned n, size_t", []),
        ("const Shape, ns::Shape, struct Shape, unsigned int, void", []),
        ("void (*act)(float&), float x", []),
        ("HIDDEN(const F) f", ["f"]),
        ("", []),
    ],
)
def test_what_may_be_a_reference_is_asked_for(parameters: str, names: list[str]) -> None:
    dots = "..." if "..." in parameters else ""
    types = ", ".join(f"decltype({name}){dots}" for name in names)
    expected = [f" ::warploom::check_parameters<{types}>();"] if names else []
    assert asked(parameters) == expected


def test_declarations_and_macros_are_left_alone() -> None:
    assert asked("F f", "#define K ") == []
    text = b"__global__ void k(const F& f);\n__device__ void g(const F& f) {}\n"
    assert reference_edits(tokenize(text)) == []


def test_forms_compile(tmp_path: Path) -> None:
    program = tmp_path / "forms.cu"
    program.write_text(
        "#include <cuda_runtime.h>\nstruct Shape { int n; };\nnamespace ns { using S = Shape; }\n"
        "template <class T, int N> struct Box { T x[N]; };\n"
        "template <class F> __global__ void a(F f, const Shape, ns::S, struct Shape s, int) {}\n"
        "__global__ void b(const Box<float, 2> box = {}, void (*f)(float&) = nullptr) {}\n"
        "template <class... A> __global__ void c(A... args) {}\n"
        "__global__ void d(unsigned int, const ns::S last) {}\n"
        "int main() {\n  a<<<1, 1>>>(1, Shape{}, Shape{}, Shape{}, 2);\n  b<<<1, 1>>>();\n"
        "  c<<<1, 1>>>(1, 2.0f);\n  d<<<1, 1>>>(1u, Shape{});\n"
        "  return cudaDeviceSynchronize();\n}\n"
    )
    assert build(BuildSpec(program)).library.exists()
