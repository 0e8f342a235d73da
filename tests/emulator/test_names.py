"""Names that the shims take, casts of kernels, and device variables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.emulator.ptx.template import UnknownInstructionError, text_macros
from warploom.emulator.ptx.translate import translate
from warploom.emulator.rewriting.device_variables import find_variables, variable_edits
from warploom.emulator.rewriting.kernel_pointers import kernel_names, pointer_edits
from warploom.emulator.rewriting.names import name_edits
from warploom.emulator.rewriting.unsupported import asm_edits, is_api_name
from warploom.emulator.tokens import tokenize
from warploom.source.edits import apply_edits


def renamed(text: str) -> str:
    return apply_edits(text, name_edits(tokenize(text.encode())))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int i = threadIdx.x;", "int i = threadIdx.x;"),
        ("{ dim3 gridDim(n); k<<<gridDim, b>>>(); }",
         "{ dim3 wl_gridDim(n); k<<<wl_gridDim, b>>>(); }"),
        ("config.blockDim = dim3(1);", "config.wl_blockDim = dim3(1);"),
        ("void f(dim3 blockDim) { g(blockDim); } int i = blockDim.x;",
         "void f(dim3 wl_blockDim) { g(wl_blockDim); } int i = blockDim.x;"),
        ("{ dim3 a(1), blockDim(2); use(blockDim); }",
         "{ dim3 a(1), wl_blockDim(2); use(wl_blockDim); }"),
        ("f(XTILE * blockIdx.x);", "f(XTILE * blockIdx.x);"),
        ("{ f(a, blockDim.x); return blockDim; }", "{ f(a, blockDim.x); return blockDim; }"),
        ("{ const int n = a * gridDim.x, m = 2 * blockDim.x; }",
         "{ const int n = a * gridDim.x, m = 2 * blockDim.x; }"),
        ("__noinline__ int f();", "__attribute__((noinline)) int f();"),
        ("__attribute__((__noinline__)) int f();", "__attribute__((__noinline__)) int f();"),
    ],
)  # fmt: skip
def test_only_the_programs_own_names_change(before: str, after: str):
    assert renamed(before) == after


def cast(text: str) -> str:
    stream = tokenize(text.encode())
    return apply_edits(text, pointer_edits(stream, kernel_names(stream)))


def test_casts_of_kernels_and_of_nothing_else():
    kernel = "template <class T> __global__ void __launch_bounds__(32) k(T* p) {} "
    assert cast(kernel + "f((void*)k<int>, (void *)&p);") == (
        kernel + "f(::warploom::KernelCast()->*k<int>, (void *)&p);"
    )
    assert cast(kernel + "f(reinterpret_cast<const void*>(&k<int>));") == (
        kernel + "f(::warploom::kernel_pointer(&k<int>));"
    )
    assert cast(kernel + "p = (void const*)&k<int>;") == (
        kernel + "p = ::warploom::KernelCast()->*&k<int>;"
    )
    assert cast("int k; f((void*)k);") == "int k; f((void*)k);"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__device__ int a = 3, b[4] = {1, 2};", ["a", "b"]),
        ("static __constant__ float c[3];", ["c"]),
        ("__device__ volatile unsigned long long d;", ["d"]),
        ("__device__ int* e;", ["e"]),
        ("__device__ struct { int x; } f;", []),
        ("__device__ int g(int);", []),
        ("extern __device__ int h;", []),
        ("__managed__ Pair i = {1, 2};", ["i"]),
        ("__device__ int (*j)[4];", ["j"]),
        ("__constant__ int k[SIZE(2 + 1)];", ["k"]),
    ],
)
def test_declarations_of_device_variables(text: str, names: list[str]):
    stream = tokenize(text.encode())
    edits = [
        edit
        for first, end in find_variables(stream)
        for edit in variable_edits(stream, first, end, "t", None)
    ]
    added = "".join(edit.text for edit in edits if edit)
    assert [name for name in names if f'"{name}"' in added] == names
    assert added.count("register_variable") == len(names)


def ptx(code: str) -> str:
    stream = tokenize(code.encode())
    begin = next(at for at, token in enumerate(stream.tokens) if token.text == b"asm")
    opener = begin + 1
    closer = stream.closing(opener)
    assert closer is not None
    return translate(stream, opener, closer, text_macros(stream, {}))


def test_operands_by_number_and_by_name():
    assert "write(wl_a0, " in ptx('asm("mov.u32 %0, %1;" : "=r"(x) : "r"(y));')
    assert "read<std::uint32_t>(wl_a1)" in ptx(
        'asm("mov.u32 %[o], %[i];" : [o] "=r"(x) : [i] "r"(y));'
    )


@pytest.mark.parametrize(
    "operand",
    [
        "(1 << k) >> k",
        "a && b",
        "p->x == 3",
        "(x >>= 1, x)",
        "a ? b : n != 0",
        "std::max<int>(1, 2)",
    ],
)
def test_operators_of_operands_stay_whole(operand: str):
    text = ptx(f'asm("mov.s32 %0, %1;" : "=r"(x) : "r"({operand}));')
    assert f"input<std::uint32_t>(({operand}))" in text
    parted = operand.replace(" ", " /* so */\n ")
    again = ptx(f'asm("mov.s32 %0, %1;" : "=r"(x) : "r"({parted}));')
    assert f"input<std::uint32_t>(({operand}))" in again


def test_a_jump_ahead_leads_to_its_label():
    text = ptx('asm("bra L; L: add.u32 %0, %0, 1;" : "+r"(x));')
    assert text.index("goto wl_l0;") < text.index("wl_l0:;") < text.index("+")


@pytest.mark.parametrize(
    "code",
    [
        'asm("wmma.load.a.sync %0, [%1];" : "=r"(x) : "l"(p));',
        'asm("mov.u32 %0, %%envreg7;" : "=r"(x));',
        'asm("add.f16 %0, %1, %1;" : "=h"(x) : "h"(y));',
        'asm("ld.global.b128 %0, [%1];" : "=q"(x) : "l"(p));',
        'asm("mov.u32 %7, 1;" : "=r"(x));',
        'asm("L: add.u32 %0, %0, 1; bra L;" : "+r"(x));',
        'asm("bra L; add.u32 %0, %0, 1;" : "+r"(x));',
        'asm("{ .reg .b128 a; }" ::);',
    ],
)
def test_what_has_no_meaning_is_told_apart(code: str):
    with pytest.raises(UnknownInstructionError):
        ptx(code)


def test_a_template_may_come_from_macros():
    text = '#define TWICE "add.f32 %0, %0, %0;"\n#define OP TWICE R"(\n// again\n)" TWICE\n'
    plain = ptx('asm("add.f32 %0, %0, %0; add.f32 %0, %0, %0;" : "+f"(x));')
    assert ptx(text + 'asm(OP : "+f"(x));') == plain


@pytest.mark.parametrize(
    "defined",
    [
        "",  # in a header that nobody reads
        '#define OP "exit;"\n#define OP "trap;"\n',
        '#define OP(x) "exit;"\n',
        "#define OP OTHER\n#define OTHER OP\n",
    ],
)
def test_what_a_word_of_a_template_stands_for_must_be_known(defined: str):
    with pytest.raises(UnknownInstructionError, match="within the template"):
        ptx(defined + 'asm("mov.u32 %0, %0;" OP : "+r"(x));')


@pytest.mark.parametrize(
    "text",
    [
        r'"mov.u32 %0, 1; // so \12 mov.u32 %0, 0;"',
        r'"mov.u32 %0, 1; // so \x0a mov.u32 %0, 0;"',
        r'"mov.u32 %0, 1; // so \r\n mov.u32 %0, 0;"',
        r'"mov.u32 %0, 1; \057/ so \n mov.u32 %0, 0;"',
        'R"(mov.u32 %0, 1; // so\n mov.u32 %0, 0;)"',
        '"mov.u32 %0, 1;" THEN',
    ],
)
def test_a_template_says_what_nvcc_reads(text: str):
    made = ptx(f'#define THEN "mov.u32 %0, 0;"\nasm({text} : "=r"(x));')
    assert made.count("write(wl_a0, ") == 2


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", '"mov.u32 %0, 1;" THEN'),
        ('#define THEN(x) "mov.u32 %0, " #x ";"\n', '"mov.u32 %0, 1;" THEN(0)'),
        ('#define THEN ""\n#undef THEN\n#define THEN "mov.u32 %0, 0;"\n', '"mov.u32 %0, 1;" THEN'),
        ('#define THEN "" OTHER\n', '"mov.u32 %0, 1;" THEN'),
        ("", r'"mov.u32 %0, 1; // so \r mov.u32 %0, 0;"'),
        ("", r'"mov.u32 %0, 1; \0 mov.u32 %0, 0;"'),
        ("", r'"mov.u32 %0, 1; // so \u000a mov.u32 %0, 0;"'),
        ("", r'"mov.u32 %0, 1; // so \xfffa mov.u32 %0, 0;"'),
    ],
)
def test_a_template_that_may_say_something_else_is_not_read(before: str, text: str):
    with pytest.raises(UnknownInstructionError):
        ptx(f'{before}asm({text} : "=r"(x));')


def test_a_parameter_of_a_macro_is_not_the_macro_of_its_name():
    text = b'#define THEN ""\n#define RUN(THEN) asm("mov.u32 %0, 1;" THEN : "=r"(x))\n'
    stream = tokenize(text)
    (edit,) = asm_edits(stream, "t", text_macros(stream, {}))
    assert "THEN within the template" in edit.text


@given(st.text(alphabet='%01{}[];:.,@pradlstmov \\n"()+|_', max_size=60))
def test_no_template_breaks_the_translation(text: str):
    quoted = text.replace("\\", "").replace('"', "").replace("\n", " ")
    try:
        made = ptx(f'asm("{quoted}" : "=r"(x) : "l"(p));')
    except UnknownInstructionError:
        return
    assert made.startswith("do {") and made.endswith("} while (0)")


@pytest.mark.parametrize("name", ["CU_STREAM_DEFAULT", "CUDA_KERNEL_NODE_PARAMS_v2", "cuMemCreate"])
def test_names_of_the_driver_are_apis(name: str):
    assert is_api_name(name)


def test_a_programs_own_name_may_begin_as_cudas_do():
    assert not is_api_name("CUDA_SwapThem")
