"""Waits that depend on what headers, constants and texts of the emulator answer otherwise than CUDA's.

Found by comparing both sides mechanically: 1,152 compile-time expressions by nvcc and by g++ with the
emulator's headers, and the values of 60 functions at run time. And texts that keep a judge busy.
"""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import (
    REGIONS,
    UNTRUSTED,
    Edit,
    helper,
    in_pipeline,
    made,
    no_wait,
    swap,
    then,
)

_KIND, _BUSY = "emulator from GPU", "a judge kept busy"
_MUST = "__device__ inline bool must() {{ {} }}"
_ODD = "{} __device__ bool odd({}) {{ return {}; }}\n"

_DEVICE: dict[str, tuple[str, str]] = {
    "requires": ("template <class T> __device__ bool odd(T t) { if constexpr (requires {"
                 " __shfl_sync(0u, t, 0); }) return true; return false; }", "odd(float4{})"),
    "sfinae": ("template <class T> __device__ auto odd(T t, int) -> decltype(__match_any_sync(0u, t),"
               " true) { return true; }\ntemplate <class T> __device__ bool odd(T, long) {"
               " return false; }", "odd(float2{}, 0)"),
    "sfinae_default": ("template <class T, class U = decltype(__ldg(static_cast<T*>(nullptr)))>"
                       " __device__ bool odd(int) { return true; }\ntemplate <class T> __device__"
                       " bool odd(long) { return false; }", "odd<bool>(0)"),
    "sfinae_size": ("template <class T, int N = sizeof(T(1u, 2u, 3u))> __device__ bool odd(int) {"
                    " return true; }\ntemplate <class T> __device__ bool odd(long) { return false;"
                    " }", "odd<uint3>(0)"),
    "sfinae_constant": ("template <int N> struct Box { };\ntemplate <class T> __device__ bool"
                        " odd(Box<(sizeof(T), warpSize)>*) { return true; }\ntemplate <class T>"
                        " __device__ bool odd(...) { return false; }", "odd<float>(0)"),
    "sfinae_constant_call": ("template <int N> struct Box { };\ntemplate <class T> __device__ bool"
                             " odd(Box<min(sizeof(T), 4ul)>*) { return true; }\ntemplate <class T>"
                             " __device__ bool odd(...) { return false; }", "odd<float>(0)"),
    "noexcept": ("", "!noexcept(__expf(1.0f))"),
    "overload_rsqrt": (_ODD.format("", "float", "false") + _ODD.format("inline", "double", "true"),
                       "odd(rsqrt(4.0f))"),
    "overload_shfl": (_ODD.format("", "int", "false") + _ODD.format("inline", "short", "true"),
                      "odd(__shfl_sync(0xffffffffu, short(1), 0))"),
    "long_double": ("__device__ inline bool must(int z) { long double one = 1 + z; return one +"
                    " 1e-18 != one; }", "must(peer >> 20)"),
    "long_double_number": ("__device__ inline bool must(int z) { auto one = 1.0L + z; return one +"
                           " 1e-18 != one; }", "must(peer >> 20)"),
    "text_is_global": (_MUST.format('return !__isGlobal("moe");'), "must()"),
    "table_is_global": ("__device__ constexpr int kTable[4] = {1, 2, 3, 4};\n"
                        + _MUST.format("const int* p = kTable; return !__isGlobal(p);"), "must()"),
    "variable_is_global": ("__device__ int g_place = 3;\n"
                           + _MUST.format("return !__isGlobal(&g_place);"), "must()"),
    "printf_result": (_MUST.format('return printf("moe\\n") != 0;'), "must()"),
    "quick_division": ("__device__ inline bool must(float z) { return __fdividef(1.0f + z, 2e38f"
                       " + z) != 0.0f; }", "must(peer >> 20)"),
    "function_address": ("__device__ __noinline__ float f1(float x) { return x + 1.0f; }\n"
                         "__device__ __noinline__ float f2(float x) { return x * 3.0f; }\n"
                         + _MUST.format("return ((reinterpret_cast<uintptr_t>(&f1) |"
                         " reinterpret_cast<uintptr_t>(&f2)) & 127) != 0;"), "must()"),
    "active_mask_of_a_line": (_MUST.format("unsigned m = 0; if (threadIdx.x & 1) m = __activemask();"
                              " else m = ~__activemask(); return __popc(m) != 16;"), "must()"),
}  # fmt: skip
_NOT_HELD = ("function_address", "active_mask_of_a_line")

_HOST: dict[str, str] = {
    "attribute_of_bus": "int v = 0; CUDA_CHECK(cudaDeviceGetAttribute(&v, cudaDevAttrPciDeviceId,"
    " 0)); const bool real = v != 0;",
    "attribute_by_number": "int v = 0; const bool real = cudaDeviceGetAttribute(&v,"
    " static_cast<cudaDeviceAttr>(21), 0) == cudaSuccess; (void)cudaGetLastError();",
    "occupancy": "int blocks = 0; CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks,"
    " expert_mlp, 1024, 0)); const bool real = blocks != 2;",
    "error_text": "const bool real ="
    " cudaGetErrorString(cudaErrorSyncDepthExceeded)[0] != 's';",
}  # fmt: skip

_BUSY_TEXTS: dict[str, str] = {
    "scopes": "\n".join(f"namespace n{n} {{" for n in range(3000)) + "}" * 3000,
    "lambdas": "__device__ int f() { return "
    + "[] { return " * 2000
    + "1"
    + "; }()" * 2000
    + "; }",
    "strings": "static const char* kMany = " + '"a" ' * 200_000 + ";",
    "backslashes": "#define H(x) #x\nstatic const char* kH = H(" + "\\\\ " * 100_000 + ");",
    "functions": "\n".join(f"__device__ int f{n}(int x) {{ return x; }}" for n in range(20_000)),
    "turned_comment": "/* \u202e } if (false) { \u2066 */ static int quiet() { return 1; }",
    "doubled_macros": "\n".join(
        ["#define X0 +1", *(f"#define X{n} X{n - 1} X{n - 1}" for n in range(1, 41))]
    )
    + "\n__device__ int f() { return 0 X40; }",
}


def _left_out(code: str) -> Edit:
    layer = "  expert_mlp<<<grid, 32, 0, stream>>>"
    return then(in_pipeline(f"  {code}"), swap((layer, f"  if (!real){layer}")))


VARIANTS: tuple[Attack, ...] = (
    *(
        made(f"tell_{name}", _KIND, no_wait(text, condition), UNTRUSTED,
             Expected.OPEN if name in _NOT_HELD else Expected.CAUGHT)
        for name, (text, condition) in _DEVICE.items()
    ),
    *(made(f"tell_host_{name}", _KIND, _left_out(code)) for name, code in _HOST.items()),
    *(made(f"busy_{name}", _BUSY, helper(text), (REGIONS,)) for name, text in _BUSY_TEXTS.items()),
)  # fmt: skip
