"""The original program with a candidate's launch shapes: what its own check is compared with."""

import re
from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Node

from warploom.propose.mutate.launches import Launch, kernels, launches, masked
from warploom.propose.mutate.shapes import SizeLever, ThreadsLever, kernel_levers
from warploom.source.syntax import SourceFile, parse_source

_DEVICE = re.compile(r"__global__|__device__")


def shaped_like(original: str, candidate: str) -> str:
    """Return the original program with the launch shapes of a candidate, where a lever sets them.

    Its kernels do the same work with these: loops step by `blockDim`, or the constant is known to
    the kernel or to the grid, and decides nothing but launches on the host. All other text stays
    the original's.
    """
    for lever in kernel_levers(original):
        match lever:
            case ThreadsLever(kernel):
                value = _threads_of(kernel, candidate)
            case SizeLever(symbol) if _only_shapes(symbol, original):
                value = lever.current(candidate)
            case _:
                continue
        if lever.current(original) is not None and value in lever.others(original):
            original = lever.set(original, value)
    return original


def _threads_of(kernel: str, source: str) -> str | None:
    """Return the threads that every launch of a kernel has; None where they differ."""
    found = [one for one in launches(masked(source)) if one.kernel == kernel]
    shapes = {launch.shape[1].text for launch in found if len(launch.shape) > 1}
    return shapes.pop() if len(shapes) == 1 else None


def _only_shapes(symbol: str, source: str) -> bool:
    """Whether the host uses a constant for launches alone, and their kernels take it into account.

    A program's own check could count by the same constant: with another value it would look at
    less.
    """
    text = masked(source).encode("ascii", "replace").decode()  # a place in bytes is one in text
    found = launches(text)
    tree = parse_source(text, Path("program.cu"), {})
    names = {symbol, *_derived(symbol, tree, found)}
    for node in tree.nodes("identifier"):
        if tree.node_text(node) in names and not _is_shape(node, tree, found, names):
            return False
    bodies = {kernel.name: kernel.body.text for kernel in kernels(text)}
    return all(
        _knows(bodies.get(launch.kernel, ""), symbol) or _mentions(launch.shape[0].text, names)
        for launch in found
        if len(launch.shape) > 1 and _mentions(launch.shape[1].text, names)
    )


def _knows(body: str, symbol: str) -> bool:
    return "blockDim" in body or _mentions(body, {symbol})


def _mentions(text: str, names: set[str]) -> bool:
    return not names.isdisjoint(re.findall(r"\w+", text))


def _derived(symbol: str, tree: SourceFile, found: tuple[Launch, ...]) -> Iterator[str]:
    """Yield the host's variables that are made of a constant and that launches are shaped by."""
    shapes = {word for one in found for piece in one.shape for word in
              re.findall(r"\w+", piece.text)}  # fmt: skip
    for node in tree.nodes("declaration"):
        text = tree.node_text(node)
        made = re.match(r"(?:const )?(?:dim3|int|unsigned|size_t|auto) (\w+)\s*[=({]", text)
        if made and made[1] in shapes and _mentions(text, {symbol}) and not _on_device(node, tree):
            yield made[1]


def _is_shape(node: Node, tree: SourceFile, found: tuple[Launch, ...], names: set[str]) -> bool:
    """Whether a mention is on the device, within a launch's shape, or makes one of `names`."""
    if any(piece.start <= node.start_byte < piece.end for one in found for piece in one.shape):
        return True
    above = node.parent
    while above is not None:
        if above.type.startswith("preproc_") and above.type != "preproc_if":
            return above.type in ("preproc_def", "preproc_ifdef")
        if above.type == "declaration":
            made = re.search(r"(\w+)\s*[=({]", tree.node_text(above))
            return _on_device(above, tree) or (made is not None and made[1] in names)
        above = above.parent
    return _on_device(node, tree)


def _on_device(node: Node, tree: SourceFile) -> bool:
    above: Node | None = node
    while above is not None:
        if above.type == "function_definition":
            body = above.child_by_field_name("body")
            head = tree.node_text(above)
            if body is not None:
                head = head[: body.start_byte - above.start_byte]
            return _DEVICE.search(head) is not None
        above = above.parent
    return False
