"""Writes the programs of the access test: each form in kernels with a race, and in their twins."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.testing.access_table import Form, Scalar

_HEAD = """\
#include <cuda_runtime.h>

#include <immintrin.h>
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#define HD __host__ __device__
#define CUDA(call) do { if ((call) != cudaSuccess) return 1; } while (0)
HD inline size_t many(size_t n) { volatile size_t m = n; return m; }
"""

_OBJECT = """\
using Elem = {elem};
constexpr int kCount = {count};
struct Obj {{
  Elem a[kCount];
  HD int first() const {{ return int(a[0]); }}
  HD bool alive() const {{ return a[0] >= Elem(0); }}
  HD Elem operator[](int i) const {{ return a[i]; }}
  HD bool same(const Obj& o) const {{ return a[0] == o.a[0] && a[kCount - 1] == o.a[kCount - 1]; }}
  HD void set(Elem e) {{ a[0] = e; a[kCount - 1] = e; }}
  HD Elem (&a1())[1] {{ return reinterpret_cast<Elem (&)[1]>(a); }}
}};
static_assert(sizeof(Obj) == {size});
using T_ = Obj;
HD inline int keep(const Obj& v) {{
  Elem s = 0;
  for (int i = 0; i < kCount; ++i) s = Elem(s + v.a[i]);
  return int(s);
}}
"""

_POKE = "{ for (size_t i = 0; i < sizeof(Obj); ++i) reinterpret_cast<unsigned char*>(p)[i] = 1; }"
_PEEK = (
    "{ int n = 0; for (size_t i = 0; i < sizeof(Obj); ++i)"
    " n += reinterpret_cast<const unsigned char*>(p)[i]; *out = n; }"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """An object's size in bytes and what it is made of."""

    size: int
    element: str

    @property
    def name(self) -> str:
        """A word for it, such as `16f`."""
        return f"{self.size}{self.element[0]}"


@dataclass(frozen=True, slots=True)
class Case:
    """A form as one of the program's kernels: `name` is in the names of its functions."""

    name: str
    line: str


def layouts(sizes: Sequence[int]) -> list[Layout]:
    """Return the objects of these sizes: of bytes, and of floats where they fit."""
    found = [Layout(size, "unsigned char") for size in sizes]
    found += [Layout(size, "float") for size in sizes if size % 4 == 0]
    return found + [Layout(size, "double") for size in sizes if size % 8 == 0 and size <= 64]


def form_program(
    layout: Layout, forms: Sequence[Form], *, host: bool
) -> tuple[str, tuple[str, ...]]:
    """Return a program that has each form inlined and not, and the names of its cases."""
    width = {"unsigned char": 1, "float": 4, "double": 8}[layout.element]
    text = _HEAD + _OBJECT.format(
        elem=layout.element, count=layout.size // width, size=layout.size
    )
    body: list[str] = []
    names: list[str] = []
    for form in forms:
        if form.host_only and not host:
            continue
        for how, attribute in (("in", "inline"), ("out", "__noinline__")):
            name = f"{form.name}_{how}"
            names.append(name)
            text += _functions(name, form, attribute, host=host)
            body.append(name)
    return text + _main(body, host=host), tuple(names)


def _functions(name: str, form: Form, attribute: str, *, host: bool) -> str:
    where = "" if form.host_only else "HD "
    helper = form.helper.replace("FN_PLAIN", where + attribute.replace("__noinline__", _OUT))
    helper = helper.replace("FN", where + _spelled(attribute)).replace("HD HD", "HD")
    body = f"using T = Obj; {form.body}"
    text = (
        f"namespace n_{name} {{\n{helper}\n"
        f"{where}{_spelled(attribute)} int go(Obj* p) {{ {body} }}\n}}\n"
    )
    other = _POKE if form.reads and not form.writes else _PEEK
    return text + _pair(name, other, host=host)


_OUT = "__noinline__"


def _spelled(attribute: str) -> str:
    return "__forceinline__" if attribute == "inline" else _OUT


def _pair(name: str, other: str, *, host: bool) -> str:
    """Return the functions of a case: with the race, and without."""
    if host:
        return (
            f"__global__ void w_{name}(Obj* p, int* out) {other}\n"
            f"__global__ void v_{name}(Obj* p, int* out) {other}\n"
        )
    both = (
        "{ if (threadIdx.x == 0) out[0] = n_NAME::go(p); BARRIER if (threadIdx.x == 32) "
        "{ out += 1; OTHER } }"
    )
    both = both.replace("NAME", name).replace("OTHER", other)
    return (
        f"__global__ void r_{name}(Obj* p, int* out) {both.replace('BARRIER', '')}\n"
        f"__global__ void t_{name}(Obj* p, int* out) {both.replace('BARRIER', '__syncthreads();')}\n"
    )


def _main(names: Sequence[str], *, host: bool) -> str:
    lines: list[str] = []
    calls: list[str] = []
    for name in names:
        if host:
            calls.append(
                f"static int host_{name}(Obj* p, int* out) {{\n"
                f"  v_{name}<<<1, 1>>>(p, out); CUDA(cudaDeviceSynchronize());\n"
                f"  int n = n_{name}::go(p);\n"
                f"  w_{name}<<<1, 1>>>(p, out);\n  n += n_{name}::go(p);\n"
                "  CUDA(cudaDeviceSynchronize());\n  return n == -12345; }\n"
            )
            lines.append(f"  bad += host_{name}(p, out);\n")
        else:
            lines.append(f"  r_{name}<<<1, 64>>>(p, out);\n  t_{name}<<<1, 64>>>(p, out);\n")
    memory = "cudaMallocHost" if host else "cudaMalloc"
    return (
        "".join(calls) + "int main() {\n  Obj* p = nullptr; int* out = nullptr; int bad = 0;\n"
        f"  CUDA({memory}(&p, 8 * sizeof(Obj)));\n  CUDA(cudaMalloc(&out, 64));\n"
        "  CUDA(cudaMemset(p, 0, 8 * sizeof(Obj)));\n  CUDA(cudaDeviceSynchronize());\n"
        + "".join(lines)
        + "  CUDA(cudaDeviceSynchronize());\n  return bad;\n}\n"
    )


def scalar_program(
    scalars: Sequence[Scalar], *, host: bool
) -> tuple[str, tuple[str, ...]]:
    """Return a program that reads and writes each scalar type, and the names of its cases."""
    text, names = _HEAD, list[str]()
    main: list[str] = []
    for item in scalars:
        if item.host_only and not host:
            continue
        for way, code in (("read", f"return {item.read};"), ("write", f"{item.write}; return 0;")):
            for how, attribute in (("in", "__forceinline__"), ("out", _OUT)):
                name = f"{item.name}_{way}_{how}"
                names.append(name)
                text += _scalar_functions(name, item, way, code, attribute, host=host)
                main.append(_scalar_call(name, host=host))
    return text + (
        "int main() {\n  int* out = nullptr; int bad = 0;\n  CUDA(cudaMalloc(&out, 64));\n"
        + "".join(main)
        + "  CUDA(cudaDeviceSynchronize());\n  return bad;\n}\n"
    ), tuple(names)


def _scalar_functions(
    name: str, item: Scalar, way: str, code: str, attribute: str, *, host: bool
) -> str:
    where = "" if item.host_only else "HD "
    other = (_POKE if way == "read" else _PEEK).replace("Obj", "Obj")
    return (
        f"namespace n_{name} {{\n{item.before}\nusing Obj = {item.type};\n"
        f"{where}{attribute} int go(Obj* p) {{ Obj& x = *p; int v = 2; (void)v; {code} }}\n"
        + _pair(name, other, host=host).replace(f"n_{name}::go", "go")
        + "}\n"
    )


def _scalar_call(name: str, *, host: bool) -> str:
    scope = f"n_{name}::"
    memory = "cudaMallocHost" if host else "cudaMalloc"
    start = (
        f"  {{ {scope}Obj* p = nullptr; CUDA({memory}(&p, 256)); CUDA(cudaMemset(p, 0, 256));\n"
        "    CUDA(cudaDeviceSynchronize());\n"
    )
    if not host:
        return start + (
            f"    {scope}r_{name}<<<1, 64>>>(p, out); {scope}t_{name}<<<1, 64>>>(p, out); }}\n"
        )
    return start + (
        f"    {scope}v_{name}<<<1, 1>>>(p, out); CUDA(cudaDeviceSynchronize());\n"
        f"    new (p) {scope}Obj{{}}; int n = {scope}go(p);\n"
        f"    {scope}w_{name}<<<1, 1>>>(p, out); n += {scope}go(p);\n"
        "    CUDA(cudaDeviceSynchronize()); bad += n == -12345; }\n"
    )
