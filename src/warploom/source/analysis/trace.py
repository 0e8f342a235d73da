"""What a program does, in order: from each entry, calls of helpers are followed into them."""

from dataclasses import dataclass, field

from tree_sitter import Node

from warploom.source.analysis import api
from warploom.source.analysis.builders import launch_arguments
from warploom.source.analysis.levels import expression_type, record_name
from warploom.source.analysis.places import Instance, Place, Places
from warploom.source.analysis.program import (
    FunctionDef,
    Program,
    Variable,
    callee_of,
    child,
    text_of,
)
from warploom.source.analysis.sites import LOOPS, Call, make_call

_MAX_INSTANCES = 3000
_MAX_DEPTH = 24
_ARMS = frozenset(
    {"if_statement", "conditional_expression", "preproc_ifdef", "preproc_if", "case_statement"}
)

Control = tuple[tuple[str, int, int, str], ...]
"""Loops and branches around an event, outermost first: (kind, node, instance, arm)."""


@dataclass(slots=True, eq=False)
class Step:
    """One call that the program makes, in the context of the calls around it."""

    index: int
    call: Call
    instance: Instance
    control: Control
    entry: int


@dataclass(slots=True)
class Trace:
    """All steps in order, and the value flow between the places they name."""

    program: Program
    places: Places
    steps: list[Step] = field(default_factory=list[Step])
    instances: list[Instance] = field(default_factory=list[Instance])
    threads: list[Instance] = field(default_factory=list[Instance])
    by_call: dict[int, list[Step]] = field(default_factory=dict[int, list[Step]])

    def roots(self, call: Call, node: Node) -> tuple[Place, ...]:
        """Return the roots of an expression over every context in which its call happens."""
        found: dict[Place, None] = {}
        for step in self.by_call.get(call.node.id, ()):
            found.update(dict.fromkeys(self.places.roots_of(node, step.instance)))
        return tuple(found)


class _Tracer:
    """Follows calls depth first; recursion and runaway expansion are cut off."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.trace = Trace(program, Places(program))
        self.entry = 0
        self.reached: set[int] = set()
        self.controls: dict[tuple[int, int], Control] = {}
        self.calls: dict[int, Call] = {}

    def run(self) -> Trace:
        """Trace from `main`, then from every host function that was not reached."""
        mains = [f for f in self.program.functions_named("main") if not f.record]
        host = [f for f in self.program.functions if f.kind == "host" and f.owner is None]
        for function in [*self.program.loose, *mains, *_uncalled_first(self.program, host)]:
            if id(function) not in self.reached:
                self.entry += 1
                self.enter(Instance(function), ())
        for instance in self.trace.instances:
            self.flow(instance)
        for step in self.trace.steps:
            signature = api.ALLOCATIONS.get(step.call.name)
            pointer = step.call.arg(signature.pointer) if signature else None
            if pointer is not None:
                self.trace.places.allocate(pointer, step.instance)
        return self.trace

    def flow(self, instance: Instance) -> None:
        """Record the value flow of one call of a function."""
        places, function = self.trace.places, instance.function
        for variable in function.locals:
            places.initialize(variable, instance)
        for assignment in function.assignments:
            left, right = child(assignment, "left"), child(assignment, "right")
            operator = child(assignment, "operator")
            if left is not None and right is not None and operator is not None:
                places.assign(left, right, instance)
        for node in function.initializers:
            listed = child(node, "value") or node.named_children[-1]
            for value in listed.named_children:
                places.assign(node.named_children[0], value, instance)
        for node in function.calls:
            call = self.call(node, function)
            if call.owner is not None and call.name in ("push_back", "emplace_back"):
                for argument in call.args:
                    places.assign(call.owner, argument, instance)
            elif call.name == api.WINDOW_REGISTER and len(call.args) >= 4:
                # A window is about its buffer: a kernel that is given one works on the other.
                places.assign(call.args[3], call.args[1], instance)
            elif call.name == "swap" and len(call.args) == 2:
                places.assign(call.args[0], call.args[1], instance)
                places.assign(call.args[1], call.args[0], instance)

    def call(self, node: Node, function: FunctionDef) -> Call:
        """Return the call made of a node, each once."""
        if node.id not in self.calls:
            self.calls[node.id] = make_call(node, function)
        return self.calls[node.id]

    def enter(self, instance: Instance, control: Control) -> None:
        """Trace one call of a function."""
        self.reached.add(id(instance.function))
        self.trace.instances.append(instance)
        function = instance.function
        items: list[tuple[int, int, Node | Variable | FunctionDef]] = []
        items += [(n.end_byte, 0, n) for n in function.calls]
        items += [(v.declarator.end_byte, 1, v) for v in function.locals]
        items += [(f.node.end_byte, 2, f) for f in function.lambdas if "@" in f.name]
        for _, _, item in sorted(items, key=lambda i: (i[0], i[1])):
            if isinstance(item, FunctionDef):
                around = control + self.control(item.node, instance)
                self.inline(item, instance, item.node, {}, around)
            elif isinstance(item, Variable):
                self.declared(item, instance, control)
            else:
                self.step(item, instance, control)

    def step(self, node: Node, instance: Instance, control: Control) -> None:
        """Record one call, and follow it into the program's own functions."""
        call = self.call(node, instance.function)
        around = control + self.control(node, instance)
        if call.launch is None:
            self.follow(call, instance, around)
        made = Step(len(self.trace.steps), call, instance, around, self.entry)
        self.trace.steps.append(made)
        self.trace.by_call.setdefault(node.id, []).append(made)

    def follow(self, call: Call, instance: Instance, control: Control) -> None:
        """Follow a call: by name, by method, or of a function that is passed on."""
        targets = self.targets(call)
        for target in targets:
            this: frozenset[Place] = frozenset()
            if call.owner is not None:
                this = self.trace.places.evaluate(call.owner, instance)
            bindings = dict(enumerate(call.args))
            self.inline(target, instance, call.node, bindings, control, this=this)
        if targets:
            return
        thread = call.name in api.THREAD_STARTS or call.name == "emplace_back"
        for at, argument in enumerate(call.args):
            for target in self.passed(argument):
                rest = call.args[at + 1 :]
                self.inline(
                    target, instance, call.node, dict(enumerate(rest)), control, thread=thread
                )

    def declared(self, variable: Variable, instance: Instance, control: Control) -> None:
        """Follow what a declaration runs: a thread's function, or a constructor."""
        init = variable.init
        lists = ("argument_list", "initializer_list", "parameter_list")
        if init is not None and init.type not in lists:
            return
        items = [n for n in init.named_children if n.type != "comment"] if init else []
        around = control + self.control(variable.declarator, instance)
        if record_name(self.program, variable.type) in api.THREAD_STARTS and items:
            for target in self.passed(items[0]):
                bindings = dict(enumerate(items[1:]))
                self.inline(target, instance, variable.declarator, bindings, around, thread=True)
            return
        # A pointer or a container of objects constructs none here.
        outer = variable.type.partition("<")[0].rpartition("::")[2].strip()
        if variable.pointers or outer not in self.program.records:
            return
        made = [f for f in self.program.functions_named(outer) if f.record == f.name]
        this = frozenset({Place(variable, instance)})
        for target in _best_arity(made, len(items)):
            bindings = dict(enumerate(items))
            self.inline(target, instance, variable.declarator, bindings, around, this=this)

    def targets(self, call: Call) -> list[FunctionDef]:
        """Return the definitions that a call may run."""
        found = [
            f for f in self.program.functions_named(call.name) if f.kind not in ("global", "device")
        ]
        if call.owner is not None:
            record = record_name(self.program, expression_type(self.program, call.owner))
            found = [f for f in found if f.record and (f.record == record or not record)]
        return _best_arity(found, len(call.args))

    def passed(self, node: Node) -> list[FunctionDef]:
        """Return the host functions that an argument names (not those it calls)."""
        while node.type in ("pointer_expression", "cast_expression"):
            node = child(node, "argument") or child(node, "value") or node.children[0]
        if node.type not in ("identifier", "qualified_identifier"):
            return []
        name = text_of(node).rpartition("::")[2]
        return [f for f in self.program.functions_named(name) if f.kind == "host"]

    def inline(
        self,
        target: FunctionDef,
        caller: Instance,
        site: Node,
        bindings: dict[int, Node],
        control: Control,
        *,
        this: frozenset[Place] = frozenset(),
        thread: bool = False,
    ) -> None:
        """Trace a callee inside of its caller."""
        busy = any(outer.function is target for outer in caller.chain())
        if busy or caller.depth >= _MAX_DEPTH or len(self.trace.instances) >= _MAX_INSTANCES:
            return
        made = Instance(target, caller, site, bindings, this, thread=thread)
        made.depth = caller.depth + 1
        caller.callees.setdefault(site.id, []).append(made)
        if thread:
            self.trace.threads.append(made)
        self.enter(made, control)

    def control(self, node: Node, instance: Instance) -> Control:
        """Return the loops and branches around a node inside of its own function."""
        key = (node.id, id(instance))
        if key in self.controls:
            return self.controls[key]
        found: list[tuple[str, int, int, str]] = []
        inner = node
        for outer in self.program.ancestors(node):
            if outer.id == instance.function.body.id:
                break
            if outer.type in LOOPS:
                found.append(("loop", outer.id, id(instance), ""))
            elif outer.type in _ARMS:
                arm = _arm(outer, inner)
                if arm:
                    found.append(("branch", outer.id, id(instance), arm))
            inner = outer
        self.controls[key] = tuple(reversed(found))
        return self.controls[key]


def _arm(outer: Node, inner: Node) -> str:
    """Return which arm of a branch a child is in; "" for its condition."""
    for name in ("condition", "name", "value"):
        part = child(outer, name)
        if part is not None and part.id == inner.id and outer.type != "case_statement":
            return ""
    alternative = child(outer, "alternative")
    if alternative is not None and alternative.id == inner.id:
        return "else"
    return "then" if outer.type != "case_statement" else f"case{outer.start_byte}"


def _best_arity(found: list[FunctionDef], count: int) -> list[FunctionDef]:
    exact = [f for f in found if len(f.parameters) == count]
    return exact or [f for f in found if len(f.parameters) >= count] or found


def _uncalled_first(program: Program, functions: list[FunctionDef]) -> list[FunctionDef]:
    """Return functions, those first that nobody calls: the rest is then reached from them."""
    called = {callee_of(n)[0] for f in program.all_functions() for n in f.calls}
    return sorted(functions, key=lambda f: f.name in called)


def build_trace(program: Program) -> Trace:
    """Trace a program from its entries."""
    return _Tracer(program).run()


def step_arguments(program: Program, step: Step) -> list[Node]:
    """Return the expressions that a step's launch passes to its kernel."""
    return launch_arguments(program, step.call)
