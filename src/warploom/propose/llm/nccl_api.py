"""The NCCL device API of one version as text: declarations, from the headers that are at hand.

The headers are the user's own (`toolchain.nccl`), or the emulator's where there are none. What is
told is taken from them when it is asked for; nothing of NCCL's is kept here.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import warploom.emulator
from warploom.core.errors import MissingToolError
from warploom.core.records import Api
from warploom.source.token_patterns import COMMENT
from warploom.toolchain.nccl import get_nccl

_HOST_CALLS = (
    "ncclMemAlloc", "ncclMemFree", "ncclCommWindowRegister", "ncclCommWindowDeregister",
    "ncclDevCommCreate", "ncclDevCommDestroy", "ncclCommQueryProperties",
)  # fmt: skip
_COMMON = ("host.h", "core.h", "coop.h")
_FILES = {
    Api.GIN: ("gin_actions.h", "gin.h", "gin_barrier.h", *_COMMON, "barrier.h"),
    Api.LSA: ("lsa_barrier.h", "ptr.h", *_COMMON),
}
_COMMENT = re.compile(COMMENT, re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_MACRO = re.compile(
    r"\b(?:NCCL_(?:IR_EXTERN_C|EXTERN_C|DEVICE_INLINE|HOST_DEVICE_INLINE|API_DEVICE)|"
    r"WARPLOOM_UNCHECKED|inline|__forceinline__|__device__|__host__|constexpr)\b[ \t]*"
)
_INITIALIZER = re.compile(r"\)\s*:\s*\w+[({][^;]*?(?=\{)", re.DOTALL)
_NAMESPACE = re.compile(r"\bnamespace\s+[\w:]*\s*\{")
_EXTERN = re.compile(r'extern\s+"C"\s*\{?')


@dataclass(frozen=True, slots=True)
class ApiText:
    """Declarations as text; `origin` says whose headers they are."""

    text: str
    origin: str


def device_api(version: str, api: Api, *, most_bytes: int) -> ApiText:
    """Return the declarations that matter for `api`, those that matter most first.

    Args:
        version: NCCL version whose headers to look for.
        api: which part of the device API.
        most_bytes: how long the text may be; what goes beyond is left out in whole declarations.
    """
    try:
        headers = get_nccl(version)
        include, origin = headers.include, f"NCCL {headers.version}"
    except MissingToolError:
        include = Path(warploom.emulator.__file__).parent / "include"
        origin = f"the emulator's headers (those of NCCL {version} are not at hand)"
    folder = include / "nccl_device"
    parts = [_host_calls(include)]
    for name in _FILES[api]:
        path = folder / name
        if path.is_file():
            found = declarations(path.read_text(encoding="utf-8", errors="replace"))
            parts += [f"// {name}", *found]
    return ApiText(_within(parts, most_bytes), origin)


@lru_cache(maxsize=64)
def declarations(text: str) -> tuple[str, ...]:
    """Return the declarations in a header, without comments, directives and function bodies."""
    bare = _DIRECTIVE.sub("", _COMMENT.sub("", text))
    bare = _NAMESPACE.sub("", _EXTERN.sub("", _MACRO.sub("", bare)))
    found = (" ".join(item.split()) for item in _split(_without_bodies(bare)))
    kept = [_spaced(item) for item in found if _tells_something(item)]
    return tuple(dict.fromkeys(kept))


def _without_bodies(text: str) -> str:
    """Return `text` with each function's body replaced by a semicolon."""
    text = _INITIALIZER.sub(") ", text)
    out: list[str] = []
    at = 0
    for match in re.finditer(r"\)\s*(?:const)?\s*\{", text):
        if match.start() < at:
            continue
        out.append(text[at : match.end() - 1].rstrip() + ";\n")
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        at = end
    out.append(text[at:])
    return "".join(out)


def _split(text: str) -> list[str]:
    """Return the top-level items of `text`: each up to its semicolon outside of braces."""
    items: list[str] = []
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:  # the end of a block whose start was taken out
            depth, start = 0, at + 1
        elif char == ";" and depth == 0:
            items.append(text[start : at + 1])
            start = at + 1
    return items


def _tells_something(item: str) -> bool:
    if len(item) < 8 or item.startswith(
        ("namespace", "using namespace", "friend", "static_assert")
    ):
        return False
    if "ncclGin_C" in item.partition("{")[0]:  # the C form of what ncclGin's members do
        return False
    return "_internal" not in item.partition("{")[0].partition(":")[0] and "nccl" in item


def _spaced(item: str) -> str:
    """Return an item on one line, or a type's members on a line each."""
    if "{" not in item:
        return item
    head, _, rest = item.partition("{")
    body, _, tail = rest.rpartition("}")
    if head.startswith(("enum", "typedef enum")):
        return item
    members = [m.strip() for m in body.split(";") if m.strip() and "= delete" not in m]
    inner = "".join(f"\n  {member};" for member in members if not member.startswith("//"))
    return f"{head}{{{inner}\n}}{tail}" if inner else f"{head}{{}}{tail}"


def _host_calls(include: Path) -> str:
    text = ""
    for path in (include / "nccl.h", include / "nccl_device" / "host.h"):
        if path.is_file():
            text += path.read_text(encoding="utf-8", errors="replace")
    flat = " ".join(_COMMENT.sub("", text).split())
    found: list[str] = []
    for name in _HOST_CALLS:
        match = re.search(rf"ncclResult_t {name}\s*\([^)]*\)", flat)
        found += [f"{match[0]};"] if match else []
    return "\n".join(["// host", *found])


def _within(parts: list[str], most_bytes: int) -> str:
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part.encode()) + 1
        if size > most_bytes:
            kept.append("// ... the rest is left out")
            break
        kept.append(part)
    return "\n".join(kept) + "\n"
