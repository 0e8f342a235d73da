"""Every name of untrusted text is the program's own, or one that the lists of libraries allow."""

import functools
import re
from collections.abc import Iterator, Sequence

from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.evaluation.legality.allowed_names import (
    API_UNSEEN,
    CUDA_ROOTS,
    CUDA_TELLING,
    HOST_C,
    STD,
    STD_HOST_LOOPS,
    is_plain,
    tells,
)
from warploom.evaluation.legality.api_calls import CALLS
from warploom.evaluation.legality.assembly_rules import assembly_statements
from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.printed import FILLS, Printed
from warploom.evaluation.legality.refusals import FORBIDDEN, FORBIDDEN_CALLS, KEYWORDS, words
from warploom.evaluation.legality.region_rules import Frame, Refused
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.system_macros import system_macros
from warploom.evaluation.legality.tokens import Token
from warploom.source.literals import value_of_literal

_CONTEXTUAL = words("final override import module defined")
# What differs between the C++ of the emulator's compiler and that of nvcc, or names a type.
_TELLING_KEYWORDS = words(
    "typeid requires concept consteval char8_t co_await co_yield co_return declval void_t"
)
_BUILTINS = words("threadIdx blockIdx blockDim gridDim warpSize")
_REGISTER = re.compile(r"%([A-Za-z_]\w*)")
_REGISTERS_ALLOWED = re.compile(
    r"(?:laneid|tid|ntid|ctaid|nctaid|lanemask_(?:eq|le|lt|ge|gt)|is_explicit_cluster"
    r"|(?:n?cluster(?:_n?ctaid|_n?ctarank|id)?))\Z"
)
_DEVICE = ("__global__", "__device__")
_API_TYPE = re.compile(
    rb"\b(?:struct|class|union|enum|using|concept)[ \t]+(?:[\w:]+(?:\([^)]*\))?[ \t]+)*?(\w+)"
    rb"[ \t\n]*[:={;<]"
)
_API_TYPEDEF = re.compile(rb"\btypedef\b[^;()]*\b(\w+)[ \t]*;")
_API_FUNCTION = re.compile(rb"\b((?:cuda|cu|nccl)[A-Z]\w*|MPI_[A-Z][a-z]\w*)[ \t]*\(")


@functools.cache
def api_functions() -> frozenset[str]:
    """Return the functions of CUDA, NCCL and MPI that our headers have."""
    texts = [path.read_bytes() for path in SHIM_DIR.rglob("*.h")]
    found = {match[1].decode() for text in texts for match in _API_FUNCTION.finditer(text)}
    forms = (_API_TYPE, _API_TYPEDEF)
    types = {m[1].decode() for text in texts for form in forms for m in form.finditer(text)}
    return frozenset(name for name in found - types if not name.startswith("ncclCoop"))


class NameRules:
    """Judges the names in one expanded text."""

    def __init__(
        self,
        tokens: Sequence[Token],
        own: Identifiers,
        items: Sequence[Declared],
        frame: Frame,
        printed: Printed,
    ) -> None:
        self.tokens = tokens
        self.own = own
        self.frame = frame
        self.printed = printed
        self.device = {
            id(token)
            for item in items
            if item.kind == "function" and item.has(*_DEVICE)
            for token in item.body
        }
        # Device code may use these, too.
        self.constant = {
            id(token)
            for item in items
            if item.has("constexpr") or item.kind == "variable"
            for token in (*item.tokens, *item.body)
        }
        self.defined = {item.name for item in items if item.kind == "function"}
        # `using std::sort;`: a name of the program's own may be this.
        self.taken = {
            self._text(at + 3) for at, token in enumerate(tokens) if token.text == "using"
        }
        self.skipped = frozenset(self._attributes())
        self.std = {"std", *self._aliases()}

    def refusals(self) -> Iterator[Refused]:
        """Yield what untrusted names are refused."""
        for at, token in enumerate(self.tokens):
            if token.trusted:
                continue
            if token.kind == "name" and at not in self.skipped:
                yield from self._name(at, token)
            elif token.kind == "string" and token.text.startswith("u8"):
                yield _refused(token, "u8 literals", "have one type in C++17 and another in C++20")
        yield from self._assembly()

    def _text(self, at: int) -> str:
        return self.own.text(at)

    def _aliases(self) -> Iterator[str]:
        """Yield names for namespace std: `namespace s = std;`."""
        for at, token in enumerate(self.tokens):
            if token.text == "namespace" and self._text(at + 2) == "=":
                target = self._text(at + 4) if self._text(at + 3) == "::" else self._text(at + 3)
                if target not in CUDA_ROOTS:
                    yield self._text(at + 1)

    def _attributes(self) -> Iterator[int]:
        """Yield the tokens of attributes, which have rules of their own."""
        for at, token in enumerate(self.tokens):
            starts = token.text == "[" and self._text(at + 1) == "["
            if starts and at + 1 in self.own.match:
                yield from range(at, self.own.match.get(at, at) + 1)
            elif token.text in ("__attribute__", "__declspec") and self._text(at + 1) == "(":
                yield from range(at, self.own.match.get(at + 1, at) + 1)

    def _name(self, at: int, token: Token) -> Iterator[Refused]:
        name = token.text
        before, after = self._text(at - 1), self._text(at + 1)
        if before in (".", "->") or (before == "template" and self._text(at - 2) in (".", "->")):
            return
        if name in FILLS and after == "(" and self.printed.fills_what_is_printed(at):
            return
        if name in _TELLING_KEYWORDS and name not in self.frame.known:
            yield _refused(token, name, "means one thing to the emulator's compiler, not to nvcc")
        elif self._tells(name) and not self._is_own(name, after):
            yield _refused(token, name, "tells the time or the machine: results must not depend")
        elif name in API_UNSEEN and name not in self.frame.inside:
            yield _refused(token, name, "opens memory to kernels in which nothing is looked at")
        elif at in self.own.places and self._redeclares(at, name):
            yield _refused(token, name, "is declared here, but defined in the system's libraries")
        elif name in _BUILTINS:
            yield from self._builtin(at, token)
        elif name in api_functions() and name not in self.own.names:
            yield from self._api(at, token)
        elif before == "::" and self._text(at - 2) in self.std:
            listed = name in STD or name in self.frame.inside or name in FORBIDDEN
            if not listed and name not in FORBIDDEN_CALLS:
                yield _refused(token, f"std::{name}", "is not on the list of what candidates use")
            elif self._loops(token):
                yield _refused(token, f"std::{name}", "is a loop of the host's library")
        elif before == "::" and self._qualified(at):
            return
        elif self._loops(token) and after in ("(", "<") and not self._own_function(name):
            yield _refused(token, name, "may be a loop of the host's library")
        elif not self._known(at, name, after):
            what = "call" if after == "(" else "name"
            yield _refused(
                token,
                name,
                f"is a {what} of something that the program does not declare, and not on the list "
                "of what candidates may use",
            )

    def _redeclares(self, at: int, name: str) -> bool:
        """Whether `T name(T);` declares a function that only a library can define."""
        if name in self.defined or name not in system_macros().declared:
            return False
        start = at
        while start > 0 and self._text(start - 1) not in (";", "{", "}", ")"):
            start -= 1
            if self._text(start) in ("__global__", "__device__"):
                return False  # no library has it
        close = self.own.match.get(at + 1, 0)
        first = self._text(at + 2)
        value = self._text(at + 3) in ("(", "{", "<", "::")  # `Barrier b(Group(), 1);`
        typed = first == ")" or first == "struct" or (self.own.is_type(first) and not value)
        prototype = self._text(at + 1) == "(" and self._text(close + 1) in (";", ",", "noexcept")
        return prototype and typed

    def _tells(self, name: str) -> bool:
        telling = name in CUDA_TELLING or name == "chrono" or tells(name)
        return telling and name not in self.frame.inside

    def _is_own(self, name: str, after: str) -> bool:
        """Whether a name that tells something is the program's own here: a variable `clock`."""
        if tells(name) or (after == "(" and name not in self.defined):
            return False
        return name in self.own.names

    def _loops(self, token: Token) -> bool:
        """Whether device code may run a loop of the C++ library here, which has no price."""
        on_devices = id(token) in self.device or id(token) in self.constant
        return on_devices and token.text in STD_HOST_LOOPS and token.text not in self.frame.inside

    def _own_function(self, name: str) -> bool:
        """Whether `name` is the program's own, and no other name of something in namespace std."""
        return name in self.defined or (name in self.own.names and name not in self.taken)

    def _qualified(self, at: int) -> bool:
        """Whether the name at `at` is a member of a named scope: `Rows::size`, not `::size`."""
        previous = self.tokens[at - 2] if at > 1 else None
        if previous is None:
            return False
        named = previous.kind == "name" and previous.text not in KEYWORDS
        return named or previous.text in (">", ">>", ")")

    def _known(self, at: int, name: str, after: str) -> bool:
        if name in KEYWORDS or name in _CONTEXTUAL or name in FORBIDDEN:
            return True  # what is forbidden has a rule of its own
        if name not in system_macros().declared:
            return True  # no header knows it either: the compiler will say so
        if name in self.own.names:
            return True
        device = id(self.tokens[at]) in self.device
        if name in self.frame.known and not (device and name in HOST_C):
            return True  # what the trusted host code calls has no hooks in device code
        if after == "::" and name in CUDA_ROOTS:
            return True
        if after == "]" and self._text(at - 1) == "[" and self._is_operand(at):
            return True
        if self._text(at - 1) == "goto" or (after == ":" and self._text(at - 1) in ";{}:"):
            return True
        return is_plain(name, device=device)

    def _is_operand(self, at: int) -> bool:
        """Whether `[name]` names an operand of inline assembly."""
        return at + 2 < len(self.tokens) and self.tokens[at + 2].kind == "string"

    def _builtin(self, at: int, token: Token) -> Iterator[Refused]:
        """`threadIdx` and its like may be read; their types are the header's own."""
        before, outer = self._text(at - 1), self._text(at - 2)
        asked = before == "(" and outer in ("sizeof", "decltype", "alignof", "typeid", "noexcept")
        if (asked and self._text(at + 1) == ")") or (before == "&" and outer in ("(", "=", ",")):
            yield _refused(token, token.text, "has another type or address on a GPU")

    def _api(self, at: int, token: Token) -> Iterator[Refused]:
        """A library's function may be called; its address tells where the program runs."""
        if token.text not in CALLS and token.text not in self.frame.inside:
            yield _refused(
                token, token.text, "is not on the list of the libraries' calls that candidates make"
            )
            return
        called = self._text(at + 1) in ("(", "<") and self._text(at - 1) != "&"
        if not called and self._text(at + 1) != "::":
            yield _refused(token, token.text, "may be called, but its address must not be taken")

    def _assembly(self) -> Iterator[Refused]:
        """Registers of clocks and of the machine tell the emulator from a GPU."""
        for word, _, strings in assembly_statements(self.tokens, self.own.match):
            if word.trusted:
                continue
            values = [value_of_literal(item.text) for item in strings]
            unread = next((i for i, v in zip(strings, values, strict=True) if v is None), None)
            if unread is not None:
                yield _refused(unread, f"an escape in {unread.text}", "is read as something else")
            # What stands side by side is one text, in which a name may begin and end anywhere.
            text = "".join(value or "" for value in values)
            for name in dict.fromkeys(_REGISTER.findall(text)):
                local = re.search(rf"\.reg\b[^;]*%{name}\b", text)
                if not (_REGISTERS_ALLOWED.match(name) or local or self._spelled(name)):
                    at = next((i for i in strings if f"%{name}" in i.text), strings[0])
                    yield _refused(at, f"%{name}", "tells the time or the machine")

    def _spelled(self, register: str) -> bool:
        return register in self.frame.registers


def _refused(token: Token, name: str, why: str) -> Refused:
    return Refused(
        "forbidden_call",
        f"{name} {why}",
        token.line,
        hint="use CUDA, NCCL, MPI, the C++ library's containers and algorithms, or own functions",
    )
