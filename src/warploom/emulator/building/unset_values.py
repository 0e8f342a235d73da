"""What variables hold that nobody sets: a large number, not the zero of most compilers.

The rewriter gives most of them what unwritten memory holds, and the runs tell of them (unset.py).
Others it does not recognize: in the head of a loop, in a class whose constructor leaves them alone,
behind a macro. So units are compiled with `-ftrivial-auto-var-init=pattern`, whatever their text
looks like.

g++ 12.2 clears more than padding then: in an unnamed object that is made with braces, of a class
with an array of another class, members that were set. A unit whose text may have such a class is
compiled so only where g++, which follows every value, warns of a use; and a candidate with such a
unit is built once more with the pattern and once with zeros (evaluation/runs/unset_values.py).
"""

import re

from warploom.emulator.building.compiler_warnings import KNOWS_PATTERNS
from warploom.source.masking import mask
from warploom.toolchain.compilers import Compiler

PATTERN = "-ftrivial-auto-var-init=pattern"
"""The flag that fills what nobody sets."""

# The type and name that an array's declaration begins with, or an argument of std::array.
_ARRAY = re.compile(
    rb"(?:^|[;{}])\s*(?:(?:static|const|constexpr|mutable|inline|volatile|alignas\([^)]*\)|struct|"
    rb"typename|typedef|__\w+__)\s+)*(?P<type>[A-Za-z_][\w:]*(?:\s*<[^;{}()]*?>)?)(?:\s+const)?\s+"
    rb"\w+(?:\s*,\s*\w+)*\s*\[",
    re.MULTILINE,
)
_ARRAY_CLASS = re.compile(rb"\barray\s*<\s*(?P<type>[\w:]+)")
# Numbers, handles, and the vectors of CUDA that have no padding; words that begin no declaration.
_PLAIN = re.compile(
    rb"(?:::)?(?:std::)?(?:bool|char|short|int|long|unsigned|signed|float|double|void|auto|u?half|"
    rb"__half2?|half2|__nv_\w+|nv_\w+|size_t|ssize_t|u?int\w*_t|ptrdiff_t|u?intptr_t|"
    rb"(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]|uint|cuda\w+_t|nccl\w+_t|"
    rb"MPI_\w+|FILE|dim3|thread|string|vector\s*<.*>|return|new|delete|case|else|goto|throw|using|"
    rb"namespace|operator|typename|template)",
    re.DOTALL,
)


# The pattern in assembly: numbers of 8 and 4 bytes, and the bytes of a constant.
_NUMBERS = {
    re.compile(rb"-72340172838076674\b"): b"8897841259083430779",
    re.compile(rb"-16843010\b"): b"2071690107",
}
_BYTES = re.compile(rb"\t\.byte\t-2\n(?:\t\.byte\t-2\n){3,}")


def with_high_pattern(assembly: bytes) -> bytes:
    """Return a unit's assembly with a large positive number where the pattern was: all bytes 0x7B.

    A maximum that begins with a value that nobody sets shows it. Programs that are timed have it,
    so that runs of both kinds show what depends on such values.
    """
    for pattern, number in _NUMBERS.items():
        assembly = pattern.sub(number, assembly)
    return _BYTES.sub(lambda found: found[0].replace(b"-2", b"123"), assembly)


def unit_flags(text: bytes, filled: str, compiler: Compiler) -> list[str]:
    """Return the flags of a unit for what nobody sets. `filled`: see BuildSpec."""
    if compiler.family == "gcc" and compiler.version < KNOWS_PATTERNS:
        return []
    if filled:
        return [f"-ftrivial-auto-var-init={filled}"]
    # clang clears no padding.
    return [] if compiler.family == "gcc" and may_lose_members(text) else [PATTERN]


def may_lose_members(text: bytes) -> bool:
    """Whether text may have a class with an array of another class: see above."""
    text = mask(text)
    return any(
        not _PLAIN.fullmatch(found["type"])
        for pattern in (_ARRAY, _ARRAY_CLASS)
        for found in pattern.finditer(text)
    )
