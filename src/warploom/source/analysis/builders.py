"""From calls to records, one function per kind; buffers come from the resolver."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from warploom.source import records as r
from warploom.source.analysis import api
from warploom.source.analysis.levels import expression_variable, variable_type
from warploom.source.analysis.naming import base_name, kernel_name, strip
from warploom.source.analysis.program import Program, child, text_of
from warploom.source.analysis.sites import Call, declaration_of, site_of

_CONTAINER = re.compile(
    r"(?:\w+::)*(?:vector|array|unique_ptr|shared_ptr|span|deque|valarray)\s*<(.*)>$"
)

Resolver = Callable[[Call, Node], tuple[r.Buffer, ...]]
"""Returns the buffers that an expression in a call leads to."""


@dataclass(frozen=True, slots=True)
class Context:
    """What every builder needs."""

    program: Program
    resolve: Resolver
    made_by: Callable[[Call, Node], tuple[r.HelperCall, ...]]

    def names(self, call: Call, node: Node | None) -> tuple[str, ...]:
        """Return the names of the buffers that an argument leads to."""
        if node is None:
            return ()
        return tuple(dict.fromkeys(b.name for b in self.resolve(call, node)))


def build_allocation(context: Context, call: Call) -> r.Allocation | None:
    """Return an allocation; None when the call lacks its pointer."""
    signature = api.ALLOCATIONS[call.name]
    pointer = call.arg(signature.pointer)
    if pointer is None:
        return None
    sizes = [text for at in signature.sizes if (text := call.text(at))]
    variable = expression_variable(context.program, pointer)
    return r.Allocation(
        name=base_name(pointer),
        call=call.name,
        bytes=" * ".join(sizes if len(sizes) == 1 else [f"({s})" for s in sizes]),
        file=call.path,
        line=call.line,
        kind=signature.kind,
        element=element_type(variable_type(context.program, variable)) if variable else "",
        roots=context.names(call, pointer),
        declaration=declaration_of(variable) if variable else None,
        site=site_of(context.program, call),
        calls=context.made_by(call, pointer),
    )


def build_free(context: Context, call: Call) -> r.Free:
    """Return a free."""
    pointer = call.arg(0)
    return r.Free(
        name=base_name(pointer) if pointer is not None else "",
        call=call.name,
        file=call.path,
        line=call.line,
        roots=context.names(call, pointer),
        site=site_of(context.program, call),
    )


def build_copy(context: Context, call: Call) -> r.Copy | None:
    """Return a copy or fill; None when the call lacks its destination."""
    signature = api.COPIES[call.name]
    dst, src = call.arg(signature.dst), call.arg(signature.src)
    if dst is None or (signature.src is not None and src is None):
        return None
    kind = call.text(signature.kind)
    direction = signature.direction or api.COPY_DIRECTIONS.get(kind or "", kind or "")
    if not direction and signature.kind is not None:
        direction = "host_to_device" if "ToSymbol" in call.name else "device_to_host"
    sizes = [text for at in signature.sizes if (text := call.text(at))]
    return r.Copy(
        call=call.name,
        file=call.path,
        line=call.line,
        dst=text_of(dst),
        src=text_of(src) if src is not None else None,
        bytes=" * ".join(sizes if len(sizes) == 1 else [f"({s})" for s in sizes]),
        direction=direction,
        stream=call.text(signature.stream),
        dst_roots=context.names(call, dst),
        src_roots=context.names(call, src),
        site=site_of(context.program, call),
    )


def build_readback(context: Context, call: Call, copy: r.Copy) -> r.Readback:
    """Return the readback that a device-to-host copy is."""
    host = call.arg(api.COPIES[call.name].dst)
    variable = expression_variable(context.program, host) if host is not None else None
    return r.Readback(
        file=copy.file,
        line=copy.line,
        end_line=copy.site.end_line,
        host=copy.dst,
        device=copy.src or "",
        bytes=copy.bytes,
        dtype=element_type(variable_type(context.program, variable)) if variable else "",
        host_roots=copy.dst_roots,
        device_roots=copy.src_roots,
        site=copy.site,
    )


def build_arrivals(context: Context, call: Call) -> list[r.Readback]:
    """Return the readback that an MPI call is where what it receives was computed on a device."""
    host = call.arg(api.MPI_RECEIVES[call.name])
    if host is None:
        return []
    variable = expression_variable(context.program, host)
    site = site_of(context.program, call)
    dtype = element_type(variable_type(context.program, variable)) if variable else ""
    roots = context.names(call, host)
    arrival = r.Readback(
        call.path, call.line, site.end_line, text_of(host), "", "", dtype, roots, (), site
    )
    return [arrival]


def element_type(written: str) -> str:
    """Return the element type of a pointer's or container's type as written, "" if unknown."""
    while (match := _CONTAINER.match(written)) is not None:
        written = match[1].split(",")[0].strip()
    written = written.removesuffix("[]").replace("*", "").replace("&", "").strip()
    return "" if written in ("auto", "void") else written


def build_launch(context: Context, call: Call) -> r.Launch | None:
    """Return a launch, by `<<<>>>` or by a call; None when the call lacks its kernel."""
    if call.launch is not None:
        function = child(call.node, "function")
        if function is None or not call.launch:
            return None
        shape = [text_of(n) for n in call.launch] + ["", "", "", ""]
        name, template = kernel_name(function)
        grid, block, shared, stream = shape[:4]
        return _launch(context, call, (name, template, "<<<>>>", False),
                       (grid, block, shared, stream), call.args)  # fmt: skip
    signature = api.LAUNCHES[call.name]
    kernel = call.arg(signature.kernel)
    if kernel is None:
        return None
    name, template = kernel_name(kernel)
    values = [
        call.text(at) or ""
        for at in (signature.grid, signature.block, signature.shared, signature.stream)
    ]
    if signature.config is not None:
        values = _config_values(context.program, call, call.arg(signature.config))
    if signature.variadic:
        arguments = call.args[signature.arguments or 0 :]
    else:
        arguments = _argument_array(context.program, call.arg(signature.arguments))
    header = (name, template, call.name, signature.cooperative)
    return _launch(context, call, header, (values[0], values[1], values[2], values[3]), arguments)


def _launch(
    context: Context,
    call: Call,
    header: tuple[str, str, str, bool],
    shape: tuple[str, str, str, str],
    arguments: list[Node],
) -> r.Launch:
    return r.Launch(
        kernel=header[0],
        file=call.path,
        line=call.line,
        grid=shape[0],
        block=shape[1],
        shared=shape[2] or "0",
        stream=shape[3] or "0",
        api=header[2],
        cooperative=header[3],
        arguments=tuple(text_of(n) for n in arguments),
        roots=tuple(context.names(call, n) for n in arguments),
        template_arguments=header[1],
        site=site_of(context.program, call),
    )


def _argument_array(program: Program, node: Node | None) -> list[Node]:
    """Return the kernel's arguments from the `void*` array that a launch call takes."""
    if node is None:
        return []
    variable = expression_variable(program, node)
    init = strip(node) if node.type == "initializer_list" else variable.init if variable else None
    if init is None or init.type != "initializer_list":
        return []
    found: list[Node] = []
    for item in init.named_children:
        inner = strip(item)
        target = child(inner, "argument") if inner.type == "pointer_expression" else None
        if item.type != "comment":
            found.append(target or inner)
    return found


def launch_arguments(program: Program, call: Call) -> list[Node]:
    """Return the expressions that a launch passes to its kernel."""
    if call.launch is not None:
        return call.args
    signature = api.LAUNCHES[call.name]
    if signature.variadic:
        return call.args[signature.arguments or 0 :]
    return _argument_array(program, call.arg(signature.arguments))


def _config_values(program: Program, call: Call, config: Node | None) -> list[str]:
    """Return grid, block, shared memory and stream that a `cudaLaunchConfig_t` is given."""
    found = {"gridDim": "", "blockDim": "", "dynamicSmemBytes": "", "stream": ""}
    name = base_name(config) if config is not None else ""
    for assignment in call.function.assignments:
        left, right = child(assignment, "left"), child(assignment, "right")
        if left is None or right is None or left.start_byte > call.node.start_byte:
            continue
        owner, _, member = base_name(left).rpartition(".")
        if owner == name and member in found:
            found[member] = text_of(right)
    variable = expression_variable(program, config) if config is not None else None
    if variable is not None and variable.init is not None:
        listed = [n for n in variable.init.named_children if n.type != "comment"]
        if variable.init.type == "initializer_list" and not any(found.values()):
            found.update(zip(found, map(text_of, listed), strict=False))
    return list(found.values())
