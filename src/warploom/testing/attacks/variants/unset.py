"""Values that nobody sets, in many forms, addresses that the host takes, loose assembly.

Each helper returns what a variable holds that nobody has set: zero here, were it not for the judge,
and anything on a GPU. A sum begins with it.
"""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import (
    PIPELINE,
    REGIONS,
    Edit,
    helper,
    made,
    put_before,
    swap,
    then,
)

_FUNCTION = "__device__ inline float nothing() {{ {0} }}"
FORMS = {
    # name: (what stands before the function, its statements)
    "loop_head": (
        "",
        "for (float x, once = 0.0f; once < 1.0f; once += 1.0f) return x; return 0.0f;",
    ),
    "if_head": ("", "if (float x; threadIdx.x < 1024) return x + 0.5f; return 0.0f;"),
    "one_way": ("", "float x; if (threadIdx.x < 1024) return x; return 0.0f;"),
    "comment": ("", "float /* static */ x; return x;"),
    "operand": ("", "int x; int odd = 1 & x; return 4.0f * odd;"),
    "range": ("", "float x; return x < -1e-20f && x > -1e20f ? 4.0f : 0.0f;"),
    "parentheses": ("", "float (x); return x;"),
    "itself": ("", "float x = x; return x;"),
    "itself_in_braces": ("", "float x{x}; return x;"),
    "volatile": ("", "volatile float x; return x;"),
    "anonymous_union": ("", "union { float x; unsigned bits; }; return x;"),
    "upper_case": ("struct ACC { float v; };\n", "ACC x; return x.v;"),
    "function_of_it": (
        "struct Acc { float v; __device__ float one() const { return 1.0f; } };\n",
        "Acc x; return x.one() * x.v;",
    ),
    "destructor": ("struct Acc { float v; __device__ ~Acc() {} };\n", "Acc x; return x.v;"),
    "other_member": (
        "struct Count { int n = 0; };\nstruct Acc { float v; Count count; };\n",
        "Acc x; return x.v;",
    ),
    "parameter": (
        "template <class REAL> __device__ REAL made() { REAL x; return x; }\n",
        "return made<float>();",
    ),
    "reference": ("", "float x; float& same = x; return same;"),
    "far_lambda": (
        "constexpr auto made = [](float y) { float x; return x + y; };\n",
        "return made(0.0f);",
    ),
    "both_sides": (
        "__host__ __device__ inline float made() { float x[2]; return x[0] + x[1]; }\n",
        "return made();",
    ),
    "placed": (
        "",
        "alignas(4) unsigned char room[4]; float x; __builtin_memcpy(&x, room, 4); return x;",
    ),
}
"""What returns a value that nobody sets: declarations before, and statements of, a function."""


def _begins_with(before: str, statements: str) -> Edit:
    loop = "    for (int h = 0; h < HIDDEN; ++h) sum"
    return then(
        helper(before + _FUNCTION.format(statements)),
        swap((f"    float sum = 0.0f;\n{loop}", f"    float sum = nothing();\n{loop}")),
    )


def _most(before: str, statements: str) -> Edit:
    """Return the edit in which a maximum begins with what nobody sets."""
    return then(
        helper(before + _FUNCTION.format(statements)),
        swap((_ACTIVATION, "hidden[f] = fmaxf(fmaxf(sum, 0.0f), nothing());")),
    )


_ACTIVATION = "hidden[f] = fmaxf(sum, 0.0f);"
_POSITIVE = "__host__ __device__ inline float kept_positive(float x) { return fmaxf(x, 0.0f); }\n"
_OBJECT = (
    "struct Shape { __host__ __device__ virtual float of(float x) const { return x; } };\n"
    "struct Relu : Shape {\n"
    "  __host__ __device__ float of(float x) const override { return fmaxf(x, 0.0f); }\n};\n"
    "__device__ unsigned long long room[2];\n"
    "__device__ inline float acts(float x) { return reinterpret_cast<Shape*>(room)->of(x); }"
)
_ADDRESSES: dict[str, Edit] = {
    "function": then(
        helper(_POSITIVE + "using Activation = float (*)(float);\n__device__ Activation acts;"),
        put_before(
            PIPELINE,
            "  Activation mine = kept_positive;\n  cudaMemcpyToSymbol(acts, &mine, sizeof mine);\n",
        ),
        swap((_ACTIVATION, "hidden[f] = acts(sum);")),
    ),
    "object": then(
        helper(_OBJECT),
        put_before(
            PIPELINE, "  const Relu mine;\n  cudaMemcpyToSymbol(room, &mine, sizeof mine);\n"
        ),
        swap((_ACTIVATION, "hidden[f] = acts(sum);")),
    ),
    "variable": then(
        helper("__device__ float least = 0.0f;\n__device__ const float* floor_of;"),
        put_before(
            PIPELINE,
            "  const float* mine = &least;\n  cudaMemcpyToSymbol(floor_of, &mine, sizeof mine);\n",
        ),
        swap((_ACTIVATION, "hidden[f] = fmaxf(sum, *floor_of);")),
    ),
}

_LOOSE = {
    "atom": 'asm("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(p));',
    "store": 'asm volatile("st.global.u32 [%1], %0;" :: "r"(old), "l"(p));',
    "acquire": 'asm("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(old) : "l"(p));',
    "barrier": 'asm volatile("bar.warp.sync 0xffffffff;");',
}
"""Statements that nvcc may drop or move past others."""

VARIANTS: tuple[Attack, ...] = (
    *(
        made(f"unset_in_{name}", "values nobody set", _begins_with(before, statements), (REGIONS,))
        for name, (before, statements) in FORMS.items()
    ),
    *(
        made(f"unset_most_{name}", "values nobody set", _most(*FORMS[name]), (REGIONS,))
        for name in ("destructor", "comment", "volatile", "loop_head")
    ),
    *(
        made(
            f"loose_asm_{name}",
            "assembly that may be moved",
            helper(
                "__device__ inline void tick(unsigned* p) {\n"
                f"  unsigned old = 0;\n  {statement}\n  *p = old;\n}}"
            ),
            (REGIONS,),
        )
        for name, statement in _LOOSE.items()
    ),
    *(
        made(f"address_of_{name}", "addresses of the host", edit, (REGIONS,))
        for name, edit in _ADDRESSES.items()
    ),
)
