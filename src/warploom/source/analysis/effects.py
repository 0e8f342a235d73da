"""What each step of a program does to buffers: reads, writes, whole overwrites."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.access import KernelAccess
from warploom.source.analysis.builders import launch_arguments
from warploom.source.analysis.naming import kernel_name, strip
from warploom.source.analysis.places import Place
from warploom.source.analysis.program import FunctionDef, child, text_of
from warploom.source.analysis.slices import API
from warploom.source.analysis.trace import Step, Trace

_LIBRARY = re.compile(r"^(cublas|cudnn|cufft|cusparse|cusolver|curand)[A-Z]\w*")
_HARMLESS = re.compile(
    r"^(|f?printf|snprintf|sprintf|puts|free|sizeof|assert|swap|move|forward|min|max|"
    r"push_back|emplace_back|pthread_create|thread|ref|static_cast|reinterpret_cast|const_cast)$"
)
_MPI_DATA: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "MPI_Send": ((0,), ()),
    "MPI_Isend": ((0,), ()),
    "MPI_Recv": ((), (0,)),
    "MPI_Irecv": ((), (0,)),
    "MPI_Bcast": ((0,), (0,)),
    "MPI_Reduce": ((0,), (1,)),
    "MPI_Allreduce": ((0,), (1,)),
    "MPI_Gather": ((0,), (3,)),
    "MPI_Allgather": ((0,), (3,)),
    "MPI_Scatter": ((0,), (3,)),
    "MPI_Alltoall": ((0,), (3,)),
    "MPI_Gatherv": ((0,), (3,)),
    "MPI_Allgatherv": ((0,), (3,)),
    "MPI_Sendrecv": ((0,), (5,)),
    "MPI_Sendrecv_replace": ((0,), (0,)),
    "MPI_Send_init": ((0,), ()),
    "MPI_Ssend_init": ((0,), ()),
    "MPI_Recv_init": ((), (0,)),
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What one step does to one buffer; `whole` says that nothing of the old content stays."""

    step: Step
    kind: str
    name: str
    place: Place
    reads: bool
    writes: bool
    whole: bool


class Effects:
    """Works out the effects of every step once."""

    def __init__(self, trace: Trace, access: KernelAccess) -> None:
        self.trace = trace
        self.access = access
        self.all: list[Effect] = []
        for step in trace.steps:
            self.all.extend(self._of(step))

    def _of(self, step: Step) -> list[Effect]:
        call = step.call
        if call.launch is not None or call.name in api.LAUNCHES:
            return self._launch(step)
        if call.name in api.COLLECTIVES:
            return self._collective(step)
        if call.name in api.COPIES:
            return self._copy(step)
        if _LIBRARY.match(call.name):
            return self._library(step)
        if call.name in _MPI_DATA:
            reads, writes = _MPI_DATA[call.name]
            return self._marked(step, "mpi", reads, writes)
        if call.name in ("memcpy", "memmove"):
            return self._marked(step, "host", (1,), (0,))
        return self._elsewhere(step)

    def _effects(
        self, step: Step, kind: str, name: str, node: Node | None, mode: tuple[bool, bool, bool]
    ) -> list[Effect]:
        if node is None:
            return []
        places = self.trace.places.roots_of(node, step.instance)
        return [Effect(step, kind, name, place, *mode) for place in places]

    def _launch(self, step: Step) -> list[Effect]:
        call = step.call
        if call.launch is not None:
            target = child(call.node, "function")
        else:
            target = call.arg(api.LAUNCHES[call.name].kernel)
        if target is None:
            return []
        name = kernel_name(target)[0]
        arguments = launch_arguments(self.trace.program, call)
        found: list[Effect] = []
        kernels = kernels_named(self.trace, step, target, name)
        for at, argument in enumerate(arguments):
            for place, reads, writes in self._passed(step, at, argument, kernels):
                found.append(Effect(step, "kernel", name, place, reads, writes, False))
        return found

    def _passed(
        self, step: Step, at: int, argument: Node, kernels: list[FunctionDef]
    ) -> list[tuple[Place, bool, bool]]:
        places = self.trace.places
        if not kernels:
            return [(p, True, True) for p in places.roots_of(argument, step.instance)]
        found: list[tuple[Place, bool, bool]] = []
        for kernel in kernels:
            for (index, path), access in self.access.of(kernel).items():
                if index != at:
                    continue
                if not path:
                    roots = places.roots_of(argument, step.instance)
                else:
                    roots = tuple(
                        root
                        for place in places.evaluate(argument, step.instance)
                        for root in places.roots(place.member(*path))
                    )
                found += [(root, access.reads, access.writes) for root in roots]
        return found

    def _collective(self, step: Step) -> list[Effect]:
        call = step.call
        signature = api.COLLECTIVES[call.name]
        send, recv = call.arg(signature.send), call.arg(signature.recv)
        found = self._effects(step, "collective", call.name, send, (True, False, False))
        whole = call.name not in ("ncclRecv", "ncclReduce", "ncclGather") and is_whole(recv)
        found += self._effects(step, "collective", call.name, recv, (False, True, whole))
        return found

    def _copy(self, step: Step) -> list[Effect]:
        call = step.call
        signature = api.COPIES[call.name]
        kind = "fill" if signature.src is None else "copy"
        dst, src = call.arg(signature.dst), call.arg(signature.src)
        found = self._effects(step, kind, call.name, dst, (False, True, is_whole(dst)))
        return found + self._effects(step, kind, call.name, src, (True, False, False))

    def _library(self, step: Step) -> list[Effect]:
        """A library call reads what it is given, and writes what its last pointer leads to."""
        roots = [self.trace.places.roots_of(a, step.instance) for a in step.call.args[1:]]
        known = [[p for p in found if self.trace.places.is_allocated(p)] for found in roots]
        buffers = [found for found in known if found]
        found: list[Effect] = []
        for at, places in enumerate(buffers):
            last = at == len(buffers) - 1
            found += [
                Effect(step, "library", step.call.name, p, not last, last, False) for p in places
            ]
        return found

    def _elsewhere(self, step: Step) -> list[Effect]:
        """A function that is not in these files may use the device memory that it is given."""
        call, program = step.call, self.trace.program
        known = API.match(call.name) or program.functions_named(call.name)
        if known or call.owner is not None or call.name.isupper() or _HARMLESS.match(call.name):
            return []
        found: list[Effect] = []
        constant = program.prototypes.get(call.name, ())
        function = child(call.node, "function")
        name = re.sub(r"<.*>", "", text_of(function)) if function is not None else call.name
        for at, argument in enumerate(call.args):
            if argument.type == "call_expression":
                continue
            reads_only = at < len(constant) and constant[at]
            found += [
                Effect(step, "call", name, place, True, not reads_only, False)
                for place in self.trace.places.roots_of(argument, step.instance)
                if self.trace.places.is_allocated(place)
            ]
        return found

    def _marked(
        self, step: Step, kind: str, reads: tuple[int, ...], writes: tuple[int, ...]
    ) -> list[Effect]:
        found: list[Effect] = []
        for at in reads:
            node = step.call.arg(at)
            found += self._effects(step, kind, step.call.name, node, (True, False, False))
        for at in writes:
            node = step.call.arg(at)
            found += self._effects(step, kind, step.call.name, node, (False, True, False))
        return found


def kernels_named(trace: Trace, step: Step, node: Node, name: str) -> list[FunctionDef]:
    """Return the definitions of a launched kernel; a function pointer is followed by its name."""
    found = [f for f in trace.program.functions_named(name) if f.kind == "global"]
    if found:
        return found
    node = strip(node)
    variable = trace.program.lookup(node) if node.type == "identifier" else None
    if variable is not None and variable.parameter is not None:
        for outer in step.instance.chain():
            argument = outer.bindings.get(variable.parameter)
            if outer.function is variable.function and argument is not None:
                inner = kernel_name(argument)[0]
                return [f for f in trace.program.functions_named(inner) if f.kind == "global"]
    if variable is not None and variable.init is not None:
        inner = kernel_name(variable.init)[0]
        return [f for f in trace.program.functions_named(inner) if f.kind == "global"]
    return []


def is_whole(node: Node | None) -> bool:
    """Tell whether an expression names a buffer from its start, with no offset."""
    if node is None:
        return False
    node = strip(node)
    if node.type == "binary_expression":
        return False
    return not text_of(node).startswith("&")
