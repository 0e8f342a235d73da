"""Level 0: a candidate contributes its mutable regions, and these hold nothing forbidden.

The frame is the trusted program's own: what a candidate changed outside of its regions is dropped.
The regions are judged by their tokens (`region_rules`) and by what they declare: no static
constructor, no inline assembly in host code, no new meaning for a name that the frame uses.
What the trusted program itself does in its regions is allowed there.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from warploom.core.errors import BadInputError
from warploom.core.records import Finding, Severity
from warploom.evaluation.legality.branches import choices
from warploom.evaluation.legality.expanded_rules import Given, expanded_refusals
from warploom.evaluation.legality.extent import extent_refusals
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.preprocessed import conditions_of
from warploom.evaluation.legality.region_rules import (
    Frame,
    Refused,
    Region,
    header_name,
    region_refusals,
)
from warploom.evaluation.legality.scopes import Declared, UnbalancedError, declarations
from warploom.evaluation.legality.tokens import Token, scan
from warploom.evaluation.legality.unread_text import unread_refusals
from warploom.source.regions import Program, frame_differences, splice

ENDINGS = frozenset({"exit", "abort"})
"""What the checks of errors in a whole program call."""

_REGISTER = re.compile(r"%([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Legality:
    """Whether a candidate may run, and the program that would: frame plus its regions."""

    program: Program | None
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is refused."""
        return all(finding.severity != Severity.ERROR for finding in self.findings)


def check_legality(
    candidate: Program,
    trusted: Program,
    name: str = "candidate.cu",
    given: Given | None = None,
) -> Legality:
    """Judge `candidate` against the `trusted` program whose frame it must keep.

    Line numbers are those of the spliced program, the text that is built.
    """
    try:
        program = splice(trusted, candidate)
    except BadInputError as error:
        item = Refused("regions", error.message, error.line or 1, error.hint)
        return Legality(None, (_finding(item, name),))
    findings = [_finding(item, name) for item in refusals(program, trusted, given=given)]
    findings += [
        Finding(
            kind="frame_edit",
            severity=Severity.WARNING,
            message="a change outside of the mutable regions was dropped",
            file=name,
            line=change.line,
        )
        for change in frame_differences(trusted, candidate)
    ]
    return Legality(program, tuple(findings))


def refusals(
    program: Program,
    trusted: Program,
    *,
    free: bool = False,
    given: Given | None = None,
) -> list[Refused]:
    """Return what the regions of `program` hold that is refused, in order of lines.

    A refusal that the trusted program's regions earn too, for the same line of text (or for what it
    says that it is about), is inherited and not told. The program may call its own function by a
    name that the system uses too (`send`): whether it meant the system's shows among the imports
    of its build. `free` says that it is judged as a whole, with the checks of errors that a
    whole program has.
    """
    given = given or Given()
    extent = list(extent_refusals(regions_of(program), trusted))
    if extent:
        return extent
    frame = frame_of(trusted)
    own = Identifiers(scan(program.text).tokens).names
    frame = replace(frame, functions=frame.functions | own)
    if free:
        frame = replace(frame, allowed=ENDINGS)
    found = sorted(_refusals(program, frame, trusted, given), key=lambda item: item.line)
    if not found:
        return []
    own_lines = trusted.text.split("\n")
    inherited = Counter(
        _signature(item, own_lines) for item in _refusals(trusted, frame, trusted, given)
    )
    fresh: dict[Refused, None] = {}
    lines = program.text.split("\n")
    for item in found:
        signature = _signature(item, lines)
        if inherited[signature] > 0:
            inherited[signature] -= 1
        else:
            fresh[item] = None
    return list(fresh)


def _signature(item: Refused, lines: Sequence[str]) -> tuple[str, str, str]:
    text = lines[item.line - 1].strip() if item.line <= len(lines) else ""
    return (item.kind, item.message, item.about or text)


def _refusals(program: Program, frame: Frame, trusted: Program, given: Given) -> list[Refused]:
    regions = regions_of(program)
    found = [item for region in regions for item in region_refusals(region, frame)]
    if any(item.kind in ("hidden_text", "unbalanced_region") for item in found):
        return found  # the structure of such text cannot be trusted
    own = _declared_names(trusted)
    marked = marked_tokens(program, regions)
    told = {(_family(item), item.line) for item in found}
    expanded = expanded_refusals(marked, frame, own, given, [r.lines for r in regions])
    found += [item for item in expanded if (_family(item), item.line) not in told]
    return [*found, *unread_refusals(program, regions)]


def _family(item: Refused) -> str:
    """Return what an item is of, so that a name is told once."""
    return "name" if item.kind in ("forbidden_call", "reserved_name") else item.kind


def marked_tokens(program: Program, regions: Sequence[Region]) -> tuple[Token, ...]:
    """Return the program's tokens; those outside of its regions are trusted."""
    inside = {line for region in regions for line in region.lines}
    return tuple(
        token
        if token.line in inside
        else Token(token.kind, token.text, token.line, token.directive, token.spaced, True)
        for token in scan(program.text).tokens
    )


def regions_of(program: Program) -> list[Region]:
    """Return the mutable regions with their lines."""
    return [Region(r.first_line + 1, program.body(r)) for r in program.regions]


def frame_of(trusted: Program) -> Frame:
    """Return what the trusted program has."""
    everything = scan(trusted.text).tokens
    regions = regions_of(trusted)
    lines = {line for region in regions for line in region.lines}
    outside = [t for t in everything if t.line not in lines]
    inside = [t for region in regions for t in scan(region.text, region.first_line).tokens]
    return Frame(
        names=frozenset(t.text for t in outside if t.kind == "name" and t.directive != "include"),
        known=frozenset(t.text for t in everything if t.kind == "name"),
        macros=frozenset(_defined_macros(inside)),
        functions=frozenset(_functions(everything)),
        includes=frozenset(_included(everything)),
        pasting=frozenset(_pasting(outside)),
        inside=frozenset(t.text for t in inside if t.kind == "name"),
        registers=frozenset(
            word for t in everything if t.kind == "string" for word in _REGISTER.findall(t.text)
        ),
        conditions=conditions_of(everything),
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
        yield header_name("".join(word.text for word in words))


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


def _finding(item: Refused, name: str) -> Finding:
    return Finding(
        kind=item.kind,
        severity=item.severity,
        message=item.message,
        hint=item.hint,
        file=name,
        line=item.line,
    )
