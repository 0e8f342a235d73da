"""Functions and kernels of a program as records."""

from warploom.source.analysis import api
from warploom.source.analysis.access import Accesses, KernelAccess
from warploom.source.analysis.program import FunctionDef, Program, callee_of, text_of
from warploom.source.analysis.sites import full_span, span_of
from warploom.source.records import Function, Parameter


def describe_functions(program: Program, access: KernelAccess) -> tuple[Function, ...]:
    """Return every named function, in the order of the files."""
    found: list[Function] = []
    for function in program.functions:
        accesses = access.of(function) if function.kind != "host" else {}
        span = full_span(function, program)
        found.append(
            Function(
                name=function.name,
                kind="macro" if id(function) in program.macros else function.kind,
                file=str(function.file.path),
                line=function.file.line_of(span.start),
                end_line=function.file.line_of(min(span.end, len(function.file.text)) - 1),
                span=span,
                body=span_of(function.body),
                parameters=_parameters(function, accesses),
                calls=tuple(dict.fromkeys(n for c in function.calls if (n := callee_of(c)[0]))),
                device_api=_device_api(function) if function.kind != "host" else (),
            )
        )
    order = {str(file.path): at for at, file in enumerate(program.files)}
    return tuple(sorted(found, key=lambda f: (order.get(f.file, 0), f.span)))


def _parameters(function: FunctionDef, accesses: Accesses) -> tuple[Parameter, ...]:
    made: list[Parameter] = []
    for variable in function.parameters:
        mine = [a for (index, _), a in accesses.items() if index == variable.parameter]
        made.append(
            Parameter(
                variable.name,
                text_of(variable.declaration),
                any(a.reads for a in mine),
                any(a.writes for a in mine),
            )
        )
    return tuple(made)


def _device_api(function: FunctionDef) -> tuple[str, ...]:
    """Return the names of the NCCL device API that a function uses."""
    names = function.file.nodes("identifier", "type_identifier", within=function.body)
    return tuple(dict.fromkeys(t for n in names if (t := text_of(n)) in api.DEVICE_COMM_NAMES))
