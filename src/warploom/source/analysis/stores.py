"""Whether the values that a kernel stores differ from thread to thread."""

import re

from tree_sitter import Node

from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    callee_of,
    child,
    text_of,
)

_THREAD = re.compile(r"^(threadIdx|blockIdx|clock|clock64|this_thread_block|this_grid|curand\w*)$")
_PURE = re.compile(r"^(static_cast|float|double|__float2\w+|__int2\w+|make_\w+|min|max|f?abs\w*)$")


def varying_parameters(program: Program, kernel: FunctionDef) -> tuple[bool, bool]:
    """Return whether stored values depend on the thread, and whether they come from loads."""
    varies = loads = False
    counters = _counters(program, kernel)
    for node in kernel.file.nodes("assignment_expression", within=kernel.body):
        left, right = child(node, "left"), child(node, "right")
        if left is None or right is None or left.type not in (
            "subscript_expression", "pointer_expression", "field_expression"
        ):  # fmt: skip
            continue
        found = _Value(program, kernel, counters)
        found.look(right)
        varies, loads = varies or found.varies, loads or found.loads
    stores_by_call = any(callee_of(n)[0].startswith(("atomic", "__st")) for n in kernel.calls)
    return varies or stores_by_call, loads


class _Value:
    """What one stored value is made of, local variables followed to their definitions."""

    def __init__(
        self, program: Program, kernel: FunctionDef, counters: frozenset[Variable]
    ) -> None:
        self.program = program
        self.counters = counters
        self.kernel = kernel
        self.varies = False
        self.loads = False
        self._seen: set[Variable] = set()

    def look(self, node: Node) -> None:
        """Look at an expression and at what its variables are made of."""
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner.type == "identifier":
                self._identifier(inner, stack)
            elif inner.type in ("subscript_expression", "pointer_expression"):
                # Which element is loaded does not matter here: the caller asks if they differ.
                self.loads = True
                continue
            elif inner.type == "call_expression":
                name = callee_of(inner)[0]
                if not _PURE.match(name):
                    self.varies = True
            stack.extend(inner.children)

    def _identifier(self, node: Node, stack: list[Node]) -> None:
        if _THREAD.match(text_of(node)):
            self.varies = True
            return
        variable = self.program.lookup(node)
        if variable is None or variable in self._seen:
            return
        self._seen.add(variable)
        if variable.function is not self.kernel or variable.parameter is not None:
            return
        if variable.init is not None:
            stack.append(variable.init)
        for assignment in self.kernel.assignments:
            left, right = child(assignment, "left"), child(assignment, "right")
            if left is None or right is None or left.type != "identifier":
                continue
            if self.program.lookup(left) is variable:
                stack.append(right)
        if variable in self.counters:
            self.varies = True


def _counters(program: Program, kernel: FunctionDef) -> frozenset[Variable]:
    """Return the counters of the thread's own loops."""
    found: set[Variable] = set()
    for update in kernel.file.nodes("update_expression", within=kernel.body):
        target = child(update, "argument")
        variable = program.lookup(target) if target is not None else None
        if variable is not None:
            found.add(variable)
    return frozenset(found)
