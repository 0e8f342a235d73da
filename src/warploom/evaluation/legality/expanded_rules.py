"""Level 0 on what the compiler sees: the untrusted tokens of every world, macros expanded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.evaluation.legality.assembly_rules import assembly_refusals
from warploom.evaluation.legality.declaration_rules import assembly, constructor, new_meaning
from warploom.evaluation.legality.friends import friend_refusals
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.name_rules import NameRules
from warploom.evaluation.legality.operators import (
    constants_of,
    initializer_refusals,
    operator_refusals,
)
from warploom.evaluation.legality.own_scopes import OwnScopes
from warploom.evaluation.legality.passing_rules import passing_refusals
from warploom.evaluation.legality.preprocessed import Known, lines_of, worlds
from warploom.evaluation.legality.printed import Printed
from warploom.evaluation.legality.refusals import ATTRIBUTES_ALLOWED, RESERVED_ALLOWED, TELLING
from warploom.evaluation.legality.region_rules import (
    Frame,
    Refused,
    attribute_refusals,
    is_library_name,
)
from warploom.evaluation.legality.scopes import Declared, UnbalancedError, declarations
from warploom.evaluation.legality.shadowing import Shadowing
from warploom.evaluation.legality.system_macros import rewriters_words, system_macros
from warploom.evaluation.legality.telling_types import shared_type_refusals
from warploom.evaluation.legality.tokens import Token
from warploom.evaluation.legality.validity_rules import validity_refusals

_STATEMENT = frozenset({";", "{", "}", "return", "goto", "break", "continue"})
_SYSTEM_NAME = re.compile(r"_|(?:CU|NV|NCCL|MPI|OMPI|PMIX|GNU|GLIBC|HAVE_|USE_NV)")
_PLACES = {
    "__LINE__": "is another number once lines are added to what was judged",
    "__FILE__": "is another name once what was judged is written",
}
_MACRO_STYLE = re.compile(r"[A-Z][A-Z0-9_]+\Z")


@dataclass(frozen=True, slots=True)
class Given:
    """What a build gives to the text: macros by name, and headers of the workload by name."""

    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def is_system_macro(name: str) -> bool:
    """Whether a header of the system, of CUDA or of ours may define `name` as a macro."""
    return (
        name in system_macros().names
        or is_library_name(name)
        or _SYSTEM_NAME.match(name) is not None
    )


def expanded_refusals(
    tokens: Sequence[Token],
    frame: Frame,
    own: frozenset[str],
    given: Given,
    spans: Sequence[range],
) -> list[Refused]:
    """Judge `tokens`, of which the frame's are marked as trusted; `own` may be declared anew."""
    found = dict.fromkeys(_macros(tokens, frame))
    known = Known(given.defines, given.headers, is_system_macro, frame.conditions)
    seen = worlds(tokens, known)
    found.update(dict.fromkeys(seen.refused))
    for text in seen.texts:
        found.update(dict.fromkeys(_World(text, frame, own, spans).refusals()))
    return list(found)


def _macros(tokens: Sequence[Token], frame: Frame) -> Iterator[Refused]:
    """Refuse macros and conditions that reach into headers."""
    table = system_macros()
    inserted = rewriters_words() | ATTRIBUTES_ALLOWED
    early: list[Token] = []
    for line in lines_of(tokens):
        if line.trusted and line.keyword != "include":
            continue
        if line.keyword in ("define", "undef") and line.words:
            word = line.words[0]
            if word.text in frame.macros or word.text in frame.names:
                continue  # judged as the frame's name
            if word.text in table.names or word.text in table.used or word.text in inserted:
                yield Refused(
                    "redefinition",
                    f"macro {word.text} would change what macros of headers mean",
                    word.line,
                )
            elif not _MACRO_STYLE.match(word.text):
                early.append(word)
        elif line.keyword == "include":
            for word in early:
                yield Refused(
                    "redefinition",
                    f"macro {word.text} stands before an #include: it may change the header",
                    word.line,
                    hint="define it after the last #include",
                )
            early = []


class _World:
    """The rules on one expanded text."""

    def __init__(
        self,
        tokens: Sequence[Token],
        frame: Frame,
        own: frozenset[str],
        spans: Sequence[range],
    ) -> None:
        self.tokens = tokens
        self.frame = frame
        self.own = own
        self.lines = frozenset(line for span in spans for line in span)

    def refusals(self) -> Iterator[Refused]:
        """Yield what is refused."""
        try:
            items = declarations(self.tokens)
        except UnbalancedError as error:
            yield Refused("unbalanced_region", "brackets do not match", error.line)
            return
        names = Identifiers(self.tokens)
        yield from self._declared(items, names)
        yield from assembly_refusals(self.tokens, names.match)
        untrusted = attribute_refusals(self.tokens)
        yield from untrusted
        printed = Printed(self.tokens, names.match, items)
        yield from NameRules(self.tokens, names, items, self.frame, printed).refusals()
        yield from shared_type_refusals(self.tokens, names, items)
        yield from validity_refusals(self.tokens)
        yield from passing_refusals(self.tokens)
        yield from Shadowing(self.tokens, names, self.own).refusals()
        yield from self._reserved(printed)
        yield from self._statements()

    def _declared(self, items: Sequence[Declared], names: Identifiers) -> Iterator[Refused]:
        constants = constants_of(items)
        scopes = OwnScopes(self.tokens, items, self.frame, self.own)
        yield from friend_refusals(self.tokens, names, scopes)
        for item in items:
            if self._is_untrusted(item):
                yield from new_meaning(item, self.frame, self.own, scopes)
                yield from constructor(item)
                yield from operator_refusals(item, scopes)
                yield from initializer_refusals(item, names, constants)
            yield from assembly(item, lambda token: not token.trusted)

    def _is_untrusted(self, item: Declared) -> bool:
        return item.line in self.lines or any(not token.trusted for token in item.tokens[:1])

    def _reserved(self, printed: Printed) -> Iterator[Refused]:
        """Names of the compiler that appear by expansion only."""
        for at, token in enumerate(self.tokens):
            if token.trusted or token.kind != "name" or not token.text.startswith("__"):
                continue
            name = token.text
            if name in ("__attribute__", "__declspec", "__asm__", "__asm"):
                continue
            telling = name in TELLING and name not in self.frame.inside and name != "__FILE__"
            if telling or (name not in self.frame.known and not RESERVED_ALLOWED.match(name)):
                yield Refused("reserved_name", f"{name} is a name of the compiler", token.line)
            elif name == "_Pragma" and at:
                yield Refused("hidden_text", "_Pragma makes text that cannot be judged", token.line)
            elif name in _PLACES and not printed.is_printed(at):
                yield Refused(
                    "reserved_name",
                    f"{name} {_PLACES[name]}",
                    token.line,
                    hint="print it, by printf or fprintf, perhaps in a function that gets it as "
                    "an int or const char*, and do nothing else with it",
                )

    def _statements(self) -> Iterator[Refused]:
        """A region's macro that the frame uses stands for a value: no statement hides in it."""
        for token in self.tokens:
            if not token.trusted and token.line not in self.lines and token.text in _STATEMENT:
                yield Refused(
                    "redefinition",
                    f"a macro that the frame uses brings `{token.text}` into the frame",
                    token.line,
                    hint="let it be an expression",
                )
                return
