"""What untrusted declarations may not do: rename, replace, run before main, or hold assembly."""

from collections.abc import Callable, Iterator

from warploom.evaluation.legality.assembly_rules import ASM
from warploom.evaluation.legality.own_scopes import OwnScopes, root_of
from warploom.evaluation.legality.region_rules import Frame, Refused, is_library_name
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.static_storage import starts_code
from warploom.evaluation.legality.tokens import Token


def new_meaning(
    item: Declared, frame: Frame, own: frozenset[str], scopes: OwnScopes
) -> Iterator[Refused]:
    """Refuse a declaration that gives a name of the frame or of a library another meaning."""
    if item.has("extern") and any(t.kind == "string" for t in item.tokens[:3]):
        told = 'extern "C" would replace library functions'
        yield Refused("redefinition", told, item.line, about=f"{item.kind} {item.name}")
    if item.level == "class" or not item.name or item.kind == "statement":
        return
    root = root_of(item)
    if item.name == "operator" and item.has("new", "delete"):
        yield Refused("redefinition", "operator new and delete belong to the frame", item.line)
    elif (item.name == "std" and item.kind != "variable") or (root and root not in scopes.scopes):
        what = "namespace std" if item.name == "std" else f"{root}::"
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
            "static_constructor",
            f"{item.name or 'this'} {reason}: it would run before main",
            item.line,
            hint="make it constexpr, or a local variable",
        )


def assembly(item: Declared, is_ours: Callable[[Token], bool]) -> Iterator[Refused]:
    """Refuse inline assembly outside of device functions."""
    device = item.has("__global__", "__device__") and not item.has("__host__")
    for token in (*item.tokens, *item.body):
        written = token.text in ASM
        if written and is_ours(token) and not (device and item.kind == "function"):
            yield Refused("inline_assembly", "inline assembly in host code", token.line)
