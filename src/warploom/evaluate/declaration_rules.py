"""What untrusted declarations may not do: rename, replace, run before main, or hold assembly."""

from collections.abc import Callable, Iterator

from warploom.evaluate.region_rules import Frame, Refused, is_library_name
from warploom.evaluate.scopes import Declared, without_groups
from warploom.evaluate.static_storage import starts_code
from warploom.evaluate.tokens import Token

_LIBRARIES = ("std", "cuda", "cooperative_groups", "nvcuda", "thrust", "cub")


def _root(item: Declared) -> str:
    """Return the first scope of a qualified name that is defined: std for `int std::f<A>() {}`."""
    tokens = without_groups(item.tokens)
    depth, start = 0, 0
    for at, token in enumerate(tokens):
        depth += (token.text == "<") - (token.text == ">") - 2 * (token.text == ">>")
        if depth == 0 and token.text in ("(", "=", "{"):
            break
        scoped = token.text == "::" or (at > 0 and tokens[at - 1].text == "::")
        if depth == 0 and not scoped and token.text not in ("<", ">", ">>"):
            start = at
    else:
        return ""
    root = tokens[start].text if start < len(tokens) else ""
    return root if any(t.text == "::" for t in tokens[start:at]) else ""


def new_meaning(item: Declared, frame: Frame, own: frozenset[str]) -> Iterator[Refused]:
    """Refuse a declaration that gives a name of the frame or of a library another meaning."""
    if item.has("extern") and any(t.kind == "string" for t in item.tokens[:3]):
        yield Refused("redefinition", 'extern "C" would replace library functions', item.line)
    if item.level == "class" or not item.name or item.kind == "statement":
        return
    if item.name == "operator" and item.has("new", "delete"):
        yield Refused("redefinition", "operator new and delete belong to the frame", item.line)
    elif (item.name == "std" and item.kind != "variable") or _root(item) in _LIBRARIES:
        what = "namespace std" if item.name == "std" else f"{_root(item)}::"
        yield Refused("redefinition", f"{what} must not be added to", item.line)
    elif item.name in frame.names and item.name not in own and item.name != "operator":
        yield Refused(
            "redefinition",
            f"{item.name} is a name that the frame uses: it must keep its meaning",
            item.line,
        )
    elif is_library_name(item.name):
        yield Refused(
            "redefinition", f"{item.name} would redefine a name of CUDA, NCCL or MPI", item.line
        )


def constructor(item: Declared) -> Iterator[Refused]:
    """Refuse a variable that runs code when the program is loaded."""
    reason = starts_code(item) if item.kind == "variable" else ""
    if reason:
        yield Refused(
            "static-constructor",
            f"{item.name or 'this'} {reason}: it would run before main",
            item.line,
            hint="make it constexpr, or a local variable",
        )


def assembly(item: Declared, is_ours: Callable[[Token], bool]) -> Iterator[Refused]:
    """Refuse inline assembly outside of device functions."""
    device = item.has("__global__", "__device__") and not item.has("__host__")
    for token in (*item.tokens, *item.body):
        written = token.text in ("asm", "__asm__", "__asm")
        if written and is_ours(token) and not (device and item.kind == "function"):
            yield Refused("inline-assembly", "inline assembly in host code", token.line)
