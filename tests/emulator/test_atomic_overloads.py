# ruff: noqa: E501 - lines of a program
"""The overloads of CUDA's atomics are those of CUDA: a program can ask which there are."""

from pathlib import Path

from warploom.core.records import BuildSpec
from warploom.emulator.building.build import build

NAMES = "Add Sub Exch Min Max Inc Dec And Or Xor"
TYPES = {
    "int": "Add Sub Exch Min Max And Or Xor",
    "unsigned": "Add Sub Exch Min Max Inc Dec And Or Xor",
    "unsigned long long": "Add Exch Min Max And Or Xor",
    "long long": "Min Max And Or Xor",
    "float": "Add Exch",
    "double": "Add",
    "float2": "Add",
    "float4": "Add",
    "long": "",
    "unsigned long": "",
    "unsigned short": "",
    "char": "",
    "float3": "",
    "volatile int": "",
}
SUFFIXES = ("", "_system", "_block")


def test_exactly_cudas(tmp_path: Path) -> None:
    lines = ["#include <cuda_runtime.h>", "#include <cuda_fp16.h>", "#include <cuda_bf16.h>"]
    for name in (f"atomic{word}{suffix}" for word in NAMES.split() for suffix in SUFFIXES):
        lines += [
            f"template <class X, class V> auto try_{name}(X* p, V v) -> decltype({name}(p, v), char());",
            f"long try_{name}(...);",
        ]
    for kind, there in TYPES.items():
        for word in NAMES.split():
            for suffix in SUFFIXES:
                call = f"try_atomic{word}{suffix}(({kind}*)nullptr, {kind}{{}})"
                call = call.replace(f"{kind}{{}}", f"({kind}){{}}") if " " in kind else call
                lines.append(
                    f"static_assert((sizeof({call}) == 1) == {str(word in there.split()).lower()});"
                )
    for kind in ("__half", "__half2", "__nv_bfloat16", "__nv_bfloat162"):
        lines.append(f"static_assert(sizeof(try_atomicAdd(({kind}*)nullptr, {kind}{{}})) == 1);")
    lines += [
        "__device__ unsigned short s;",
        "__global__ void k() { atomicCAS(&s, 0, 1); }",
        "int main() {}",
    ]
    source = tmp_path / "overloads.cu"
    source.write_text("\n".join(lines))
    build(BuildSpec(source))
