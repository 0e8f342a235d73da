"""Level 0: a candidate contributes its mutable regions, and these hold nothing forbidden.

The frame is the trusted program's own: what a candidate changed outside of its regions is dropped.
The regions are judged by their tokens (`region_rules`) and by what they declare: no static
constructor, no inline assembly in host code, no new meaning for a name that the frame uses.
What the trusted program itself does in its regions is allowed there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from warploom.core.errors import BadInputError
from warploom.core.records import Finding, Severity
from warploom.evaluate.branches import choices
from warploom.evaluate.region_rules import (
    Frame,
    Refused,
    Region,
    is_library_name,
    region_refusals,
)
from warploom.evaluate.scopes import Declared, UnbalancedError, declarations
from warploom.evaluate.static_storage import starts_code
from warploom.evaluate.tokens import Token, scan
from warploom.source.regions import Program, frame_differences, splice


@dataclass(frozen=True, slots=True)
class Legality:
    """Whether a candidate may run, and the program that would: frame plus its regions."""

    program: Program | None
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is refused."""
        return all(finding.severity != Severity.ERROR for finding in self.findings)


def check_legality(candidate: Program, trusted: Program, name: str = "candidate.cu") -> Legality:
    """Judge `candidate` against the `trusted` program whose frame it must keep.

    Line numbers are those of the spliced program, the text that is built.
    """
    try:
        program = splice(trusted, candidate)
    except BadInputError as error:
        item = Refused("regions", error.message, error.line or 1, error.hint)
        return Legality(None, (_finding(item, name),))
    findings = [_finding(item, name) for item in refusals(program, trusted)]
    findings += [
        Finding(
            kind="frame-edit",
            severity=Severity.WARNING,
            message="a change outside of the mutable regions was dropped",
            file=name,
            line=change.line,
        )
        for change in frame_differences(trusted, candidate)
    ]
    return Legality(program, tuple(findings))


def refusals(program: Program, trusted: Program, *, own_functions: bool = False) -> list[Refused]:
    """Return what the regions of `program` hold that is refused, in order of lines.

    A refusal that the trusted program's regions earn too, for the same line of text, is inherited
    and not told. With `own_functions` the program may call its own function by a name that the
    system uses too (`send`): whether it meant the system's shows among the imports of its build.
    """
    frame = _frame_of(trusted)
    if own_functions:
        own = frozenset(_functions(scan(program.text).tokens))
        frame = replace(frame, functions=frame.functions | own)
    inherited = Counter(_signature(item, trusted) for item in _refusals(trusted, frame, trusted))
    fresh: list[Refused] = []
    for item in sorted(_refusals(program, frame, trusted), key=lambda item: item.line):
        signature = _signature(item, program)
        if inherited[signature] > 0:
            inherited[signature] -= 1
        elif item not in fresh:
            fresh.append(item)
    return fresh


def _signature(item: Refused, program: Program) -> tuple[str, str, str]:
    lines = program.text.split("\n")
    text = lines[item.line - 1].strip() if item.line <= len(lines) else ""
    return (item.kind, item.message, text)


def _refusals(program: Program, frame: Frame, trusted: Program) -> list[Refused]:
    regions = regions_of(program)
    found = [item for region in regions for item in region_refusals(region, frame)]
    if any(item.kind in ("hidden-text", "unbalanced-region") for item in found):
        return found  # the structure of such text cannot be trusted
    own = _declared_names(trusted)
    found += _declaration_refusals(program, regions, frame, own)
    return found


def regions_of(program: Program) -> list[Region]:
    """Return the mutable regions with their lines."""
    return [Region(r.first_line + 1, program.body(r)) for r in program.regions]


def _frame_of(trusted: Program) -> Frame:
    everything = scan(trusted.text).tokens
    regions = regions_of(trusted)
    outside = [t for t in everything if not any(t.line in region.lines for region in regions)]
    inside = [t for region in regions for t in scan(region.text, region.first_line).tokens]
    return Frame(
        names=frozenset(t.text for t in outside if t.kind == "name"),
        known=frozenset(t.text for t in everything if t.kind == "name"),
        macros=frozenset(_defined_macros(inside)),
        functions=frozenset(_functions(everything)),
        includes=frozenset(_included(everything)),
        pasting=frozenset(_pasting(outside)),
    )


def _functions(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names of all functions, in the first choice of preprocessor branches."""
    try:
        items = declarations(next(choices(tokens, [])))
    except UnbalancedError:
        return
    yield from (item.name for item in items if item.kind == "function")


def _lines_of_directive(tokens: Sequence[Token], name: str) -> Iterator[list[Token]]:
    """Yield the tokens of each directive called `name`, without the name."""
    current: list[Token] | None = None
    for token in tokens:
        if token.kind == "directive":
            if current is not None:
                yield current
            current = [] if token.text == name else None
        elif current is not None:
            if token.directive == name:
                current.append(token)
            else:
                yield current
                current = None
    if current is not None:
        yield current


def _directive_words(tokens: Sequence[Token], name: str) -> Iterator[list[Token]]:
    for words in _lines_of_directive(tokens, name):
        if len(words) > 1:
            yield words[1:]  # the first is the directive's own name


def _defined_macros(tokens: Sequence[Token]) -> Iterator[str]:
    for words in _directive_words(tokens, "define"):
        yield words[0].text


def _included(tokens: Sequence[Token]) -> Iterator[str]:
    for words in _directive_words(tokens, "include"):
        yield "".join(word.text for word in words)


def _pasting(tokens: Sequence[Token]) -> Iterator[str]:
    for words in _directive_words(tokens, "define"):
        if any(word.text == "##" for word in words):
            yield words[0].text


def _declared_names(trusted: Program) -> frozenset[str]:
    """Return what the trusted regions declare: theirs to define anew."""
    regions = regions_of(trusted)
    try:
        items = list(_declared(trusted, regions))
    except UnbalancedError:
        return frozenset()
    # A function of the frame that merely holds a region is not the region's own.
    return frozenset(i.name for i in items if any(i.line in region.lines for region in regions))


def _declared(program: Program, regions: Sequence[Region]) -> Iterator[Declared]:
    spans = [region.lines for region in regions]
    seen: set[Declared] = set()
    for tokens in choices(scan(program.text).tokens, spans):
        for item in declarations(tokens):
            last = (item.body or item.tokens or (None,))[-1]
            end = last.line if last is not None else item.line
            inside = any(item.line in span or end in span for span in spans)
            if (inside or _overlaps(item.line, end, spans)) and item not in seen:
                seen.add(item)
                yield item


def _overlaps(first: int, last: int, spans: Sequence[range]) -> bool:
    return any(first < span.stop and last >= span.start for span in spans)


def _declaration_refusals(
    program: Program, regions: Sequence[Region], frame: Frame, own: frozenset[str]
) -> Iterator[Refused]:
    try:
        items = list(_declared(program, regions))
    except UnbalancedError as error:
        yield Refused("unbalanced-region", "brackets do not match", error.line)
        return
    spans = [region.lines for region in regions]
    for item in items:
        whole = any(item.line in span for span in spans)
        if whole:
            yield from _new_meaning(item, frame, own)
            if item.kind == "variable":
                reason = starts_code(item)
                if reason:
                    yield Refused(
                        "static-constructor",
                        f"{item.name or 'this'} {reason}: it would run before main",
                        item.line,
                        hint="make it constexpr, or a local variable",
                    )
        yield from _assembly(item, spans)


def _new_meaning(item: Declared, frame: Frame, own: frozenset[str]) -> Iterator[Refused]:
    if item.has("extern") and any(t.kind == "string" for t in item.tokens[:3]):
        yield Refused("redefinition", 'extern "C" would replace library functions', item.line)
    if item.level == "class" or not item.name or item.kind == "statement":
        return
    if item.name == "operator" and item.has("new", "delete"):
        yield Refused("redefinition", "operator new and delete belong to the frame", item.line)
    elif item.name == "std" and item.kind == "namespace":
        yield Refused("redefinition", "namespace std must not be added to", item.line)
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


def _assembly(item: Declared, spans: Sequence[range]) -> Iterator[Refused]:
    device = item.has("__global__", "__device__") and not item.has("__host__")
    for token in (*item.tokens, *item.body):
        written = token.text in ("asm", "__asm__", "__asm")
        ours = written and any(token.line in span for span in spans)
        if ours and not (device and item.kind == "function"):
            yield Refused("inline-assembly", "inline assembly in host code", token.line)


def _finding(item: Refused, name: str) -> Finding:
    return Finding(
        kind=item.kind,
        severity=Severity.ERROR,
        message=item.message,
        hint=item.hint,
        file=name,
        line=item.line,
    )
