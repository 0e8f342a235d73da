"""Text that the emulator read otherwise than nvcc does, and values that nobody sets.

Each wait is there in the emulator and missing on a GPU, or a sum begins with zero here only.
"""

from warploom.testing.attacks.record import Attack, Expected
from warploom.testing.attacks.variants.base import (
    REGIONS,
    Edit,
    made,
    no_wait,
    put_before,
    swap,
    then,
)

OPEN = Expected.OPEN
_ASSEMBLY: dict[str, tuple[str, str]] = {
    # name: (what stands before the function, the text of its assembly): 1 here, 0 on a GPU
    "macro": ('#define THEN " mov.u32 %0, 0;"\n', '"mov.u32 %0, 1;" THEN'),
    "macro_of_name": ('#define THEN(x) " mov.u32 %0, " #x ";"\n', '"mov.u32 %0, 1;" THEN(0)'),
    "octal_line": ("", r'"mov.u32 %0, 1; // so \12 mov.u32 %0, 0;"'),
    "hex_line": ("", r'"mov.u32 %0, 1; // so \x0a mov.u32 %0, 0;"'),
    "carriage_return": ("", r'"mov.u32 %0, 1; // so \r mov.u32 %0, 0;"'),
    "raw_line": ("", 'R"(mov.u32 %0, 1; // so\n mov.u32 %0, 0;)"'),
}
_UNSET_IN_ASSEMBLY = {
    "register": '"{ .reg .u32 t; add.u32 %0, t, 1; }"',
    "output": '"{ .reg .pred p; setp.ne.u32 p, 1, 1; @p mov.u32 %0, 0; add.u32 %0, %0, 1; }"',
}
_CLOCKS = {
    "beside": '"mov.u32 %0, %%cl" "ock;"',
    "octal": r'"mov.u32 %0, %%cl\157ck;"',
    "macro": '"mov.u32 %0, %%" CLOCK(clock) ";"',
}
_PURE = (
    "%s __device__ int waited(const Wire& wire, const ncclGin& gin, int peer) {\n"
    "  awaitData(wire, gin, peer);\n  return 0;\n}\n\n"
)
"""nvcc may leave a call of it out: nobody takes what it returns."""
_SUMS = {
    "hidden": "    for (int h = 0; h < HIDDEN; ++h) sum",
    "answer": "    for (int f = 0; f < FFN; ++f) sum",
    "output": "    for (int k = 0; k < TOP_K; ++k) {",
}


def _must(assembly: str, before: str = "", condition: str = "v == 1") -> Edit:
    text = (
        f"{before}__device__ inline bool must() {{ unsigned v;\n"
        f'  asm volatile({assembly} : "=r"(v)); return {condition}; }}'
    )
    return no_wait(text, "must()")


def _unset(loop: str) -> Edit:
    return swap((f"    float sum = 0.0f;\n{loop}", f"    float sum;\n{loop}"))


def _pure(words: str) -> Edit:
    return then(
        put_before("// All-gather, all-to-all, broadcast", _PURE % words),
        swap(("if (receives) awaitData(wire", "if (receives) waited(wire")),
    )


_ORDERED = (
    "__device__ inline int first(int one, int) { return one; }\n"
    "__device__ inline bool must() { int n = 0; auto next = [&] { return ++n; };\n"
    "  return first(next(), next()) == 2; }"
)

VARIANTS: tuple[Attack, ...] = (
    made("tell_argument_order", "emulator from GPU", no_wait(_ORDERED, "must()"), (REGIONS,), OPEN),
    *(
        made(f"unread_asm_{name}", "text before the preprocessor", _must(assembly, before))
        for name, (before, assembly) in _ASSEMBLY.items()
    ),
    *(
        made(f"unset_asm_{name}", "values nobody set", _must(assembly), (REGIONS,))
        for name, assembly in _UNSET_IN_ASSEMBLY.items()
    ),
    *(
        made(
            f"unread_clock_{name}",
            "emulator from GPU",
            _must(assembly, "#define CLOCK(x) #x\n" if "CLOCK" in assembly else "", "v < 100000"),
        )
        for name, assembly in _CLOCKS.items()
    ),
    *(
        made(f"unset_{name}", "values nobody set", _unset(loop), (REGIONS,))
        for name, loop in _SUMS.items()
    ),
    *(
        made(f"unread_{name}", "own no_sanitize", _pure(words))
        for name, words in {
            "nv_pure": "__nv_pure__",
            "pure": "__attribute__((pure))",
            "const": "[[gnu::const]]",
        }.items()
    ),
)
