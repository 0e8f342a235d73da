"""Levers of the program's own compute kernels: threads of a block, and hints to the compiler."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from warploom.propose.mutate.launches import (
    Kernel,
    Launch,
    edited,
    kernels,
    launches,
    masked,
)

_THREADS = (32, 64, 128, 256, 512, 1024)
_TILES = (8, 16, 32)
_LANES = re.compile(r"\b__(?:shfl|ballot|any|all|activemask|match|reduce)_?\w*|__syncwarp|\blane\b")
_DEFINITION = r"^(?:#define {0} (\d+)\b|(?:static )?constexpr (?:int|unsigned|size_t) {0} = (\d+);)"


@dataclass(frozen=True, slots=True)
class _Code:
    """A program's own launches and kernels, by the kernel's name."""

    text: str
    launched: dict[str, list[Launch]]
    defined: dict[str, Kernel]


@lru_cache(maxsize=16)
def _code(source: str) -> _Code:
    text = masked(source)
    launched: dict[str, list[Launch]] = {}
    for launch in launches(text):
        launched.setdefault(launch.kernel, []).append(launch)
    return _Code(text, launched, {kernel.name: kernel for kernel in kernels(text)})


@dataclass(frozen=True, slots=True)
class ThreadsLever:
    """The threads of a kernel's blocks, where every launch says the same number in figures.

    Only kernels whose loops step by `blockDim` and that do not count on warps: they do the same
    work with any number of threads.
    """

    kernel: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"threads:{self.kernel}"

    def current(self, source: str) -> str | None:
        """Return the number of threads; None where it cannot simply be changed."""
        code = _code(source)
        kernel, found = code.defined.get(self.kernel), code.launched.get(self.kernel, [])
        if kernel is None or "blockDim.x" not in kernel.body.text or not found:
            return None
        if _LANES.search(kernel.body.text):
            return None
        shapes = {launch.shape[1].text if len(launch.shape) > 1 else "" for launch in found}
        value = shapes.pop()
        return value if not shapes and value.isdecimal() else None

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other numbers."""
        now = self.current(source)
        return tuple(str(n) for n in _THREADS if str(n) != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        return f"Each block of {self.kernel} has {value} threads."

    def set(self, source: str, value: str) -> str:
        """Return the program with another number at every launch."""
        found = _code(source).launched[self.kernel]
        return edited(source, {(x.shape[1].start, x.shape[1].end): value for x in found})


@dataclass(frozen=True, slots=True)
class SizeLever:
    """A constant or macro of the program that says how many threads its blocks have."""

    symbol: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"size:{self.symbol}"

    def current(self, source: str) -> str | None:
        """Return the constant's value; None where it is not defined once, in figures."""
        match = self._find(source)
        return (match[1] or match[2]) if match else None

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other values: of one side of a square block where there are such blocks."""
        now = self.current(source)
        values = _TILES if self._is_square(source) else _THREADS[1:]
        return tuple(str(n) for n in values if str(n) != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        return f"Blocks that are sized by {self.symbol} are made for {value}."

    def set(self, source: str, value: str) -> str:
        """Return the program with another number in the definition."""
        match = self._find(source)
        assert match is not None, "the caller has looked at `current`"
        start, end = match.span(1 if match[1] else 2)
        return source[:start] + value + source[end:]

    def _find(self, source: str) -> re.Match[str] | None:
        text = _code(source).text
        found = list(re.finditer(_DEFINITION.format(re.escape(self.symbol)), text, re.MULTILINE))
        return found[0] if len(found) == 1 else None

    def _is_square(self, source: str) -> bool:
        pattern = rf"\bdim3\b[^;]*\(\s*{self.symbol}\s*,\s*{self.symbol}\s*[,)]"
        return re.search(pattern, _code(source).text) is not None


@dataclass(frozen=True, slots=True)
class BoundsLever:
    """`__launch_bounds__` of a kernel whose launches say their threads in figures."""

    kernel: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"bounds:{self.kernel}"

    def current(self, source: str) -> str | None:
        """Return `on` or `off`; None where threads are not known, or the kernel has a gate."""
        if self._threads(source) is None or self._head(source).startswith("__device__"):
            return None
        return "on" if "__launch_bounds__" in self._head(source) else "off"

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other value."""
        return ("off",) if self.current(source) == "on" else ("on",)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        told = "is told" if value == "on" else "is not told"
        return f"The compiler {told} how many threads the blocks of {self.kernel} have at most."

    def set(self, source: str, value: str) -> str:
        """Return the program with or without the bound, of 1024: every launch keeps it."""
        kernel = _code(source).defined[self.kernel]
        head = self._head(source)
        bare = re.sub(r"__launch_bounds__\([^)]*\)\s*", "", head)
        bound = bare.replace("void ", "void __launch_bounds__(1024) ", 1)
        return edited(
            source,
            {(kernel.start, kernel.start + len(head)): bound if value == "on" else bare},
        )

    def _head(self, source: str) -> str:
        kernel = _code(source).defined[self.kernel]
        return source[kernel.start : source.index(self.kernel, kernel.start)]

    def _threads(self, source: str) -> str | None:
        code = _code(source)
        if self.kernel not in code.defined:
            return None
        found = code.launched.get(self.kernel, [])
        return "1024" if found else None


@dataclass(frozen=True, slots=True)
class RestrictLever:
    """`__restrict__` on the pointers of a kernel, where no launch passes one buffer twice."""

    kernel: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"restrict:{self.kernel}"

    def current(self, source: str) -> str | None:
        """Return `on` or `off`; None where pointers may lead to the same memory."""
        code = _code(source)
        kernel, found = code.defined.get(self.kernel), code.launched.get(self.kernel, [])
        if kernel is None or not found:
            return None
        places = [i for i, p in enumerate(kernel.parameters) if "*" in p.text]
        for launch in found:
            if len(launch.arguments) != len(kernel.parameters):
                return None
            roots = [re.match(r"[\w.>-]*", launch.arguments[i].text) for i in places]
            names = [root[0] for root in roots if root]
            if len(set(names)) < len(places) or not all(names):
                return None
        if len(places) < 2:
            return None
        marked = ["__restrict__" in kernel.parameters[i].text for i in places]
        return "on" if all(marked) else "off"

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other value."""
        return ("off",) if self.current(source) == "on" else ("on",)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        told = "is told" if value == "on" else "is not told"
        return f"The compiler {told} that the pointers of {self.kernel} lead to different memory."

    def set(self, source: str, value: str) -> str:
        """Return the program with or without the keyword on every pointer."""
        edits: dict[tuple[int, int], str] = {}
        for piece in _code(source).defined[self.kernel].parameters:
            if "*" in piece.text:
                bare = re.sub(r"\s*__restrict__\s*", " ", piece.text)
                head, _, name = bare.rpartition("*")
                text = f"{head}* __restrict__ {name.strip()}" if value == "on" else bare
                edits[piece.start, piece.end] = text
        return edited(source, edits)


@dataclass(frozen=True, slots=True)
class UnrollLever:
    """`#pragma unroll N` ahead of the innermost counting loops of a kernel."""

    kernel: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"unroll:{self.kernel}"

    def current(self, source: str) -> str | None:
        """Return the number, or `auto` where nothing is said; None where there is no such loop."""
        kernel = _code(source).defined.get(self.kernel)
        if kernel is None or self.kernel not in _code(source).launched:
            return None
        loops = _innermost(kernel)
        if not loops:
            return None
        found = {_pragma(source, at)[1] for at in loops}
        return found.pop() if len(found) == 1 else None

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other values."""
        now = self.current(source)
        return tuple(value for value in ("auto", "2", "4", "8", "16") if value != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        how = "as the compiler likes" if value == "auto" else f"{value} times"
        return f"The innermost loops of {self.kernel} are unrolled {how}."

    def set(self, source: str, value: str) -> str:
        """Return the program with another pragma, or none, ahead of each of these loops."""
        edits: dict[tuple[int, int], str] = {}
        for at in _innermost(_code(source).defined[self.kernel]):
            line = source.rfind("\n", 0, at) + 1
            start, _ = _pragma(source, at)
            indent = re.match(r"[ \t]*", source[line:])
            text = f"{indent[0] if indent else ''}#pragma unroll {value}\n"
            edits[start, line] = "" if value == "auto" else text
        return edited(source, edits)


def _innermost(kernel: Kernel) -> list[int]:
    """Return where the `for` loops stand that hold no other, each at the start of its line."""
    text = kernel.body.text
    found: list[int] = []
    starts = [match.start() for match in re.finditer(r"^[ \t]*for\b", text, re.MULTILINE)]
    every = [match.start() for match in re.finditer(r"\bfor\b", text)]
    for start in starts:
        at = text.index("for", start)
        end = _loop_end(text, at)
        if not any(at < other < end for other in every) and not any(
            at <= other < end for other in found
        ):
            found.append(at)
    return [kernel.body.start + at for at in found]


def _loop_end(text: str, at: int) -> int:
    """Return where the loop at `at` ends."""
    depth = 0
    for i in range(text.index("(", at), len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0 and text[i] == "}":
                return i
        elif text[i] == ";" and depth == 0:
            return i
    return len(text)


def _pragma(source: str, at: int) -> tuple[int, str]:
    """Return where the loop's pragma begins (its own line without one), and the pragma's value."""
    line = source.rfind("\n", 0, at) + 1
    before = source.rfind("\n", 0, line - 1) + 1
    match = re.fullmatch(r"[ \t]*#pragma unroll (\d+)\r?\n", source[before:line])
    return (before, match[1]) if match else (line, "auto")


def kernel_levers(
    source: str,
) -> Sequence[ThreadsLever | SizeLever | UnrollLever | RestrictLever | BoundsLever]:
    """Return what levers the program's own kernels may have, in the order of the text."""
    code = _code(source)
    names = [name for name in code.defined if name in code.launched]
    words: list[str] = []
    for name in names:
        for launch in code.launched[name]:
            if len(launch.shape) > 1:
                words += re.findall(r"[A-Za-z_]\w*", launch.shape[1].text)
    for match in re.finditer(r"\bdim3\s+(\w+)\s*\(([^;]*)\)\s*;", code.text):
        if match[1] in words:
            words += re.findall(r"[A-Za-z_]\w*", match[2])
    symbols = [word for word in dict.fromkeys(words) if word != "dim3"]
    return [
        *(ThreadsLever(name) for name in names),
        *(SizeLever(symbol) for symbol in symbols),
        *(UnrollLever(name) for name in names),
        *(RestrictLever(name) for name in names),
        *(BoundsLever(name) for name in names),
    ]
