"""Which names a program declares, in any scope, read from its expanded tokens.

A name counts as declared only where nothing but a declaration can stand: what may be an expression
(`a * b;`) declares nothing unless `a` is known to be a type.
"""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.allowed_names import TYPES, VECTOR_TYPE
from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.tokens import Token

_NO_TYPE = words(
    """
    return else case goto new delete throw co_return co_await co_yield sizeof typeid operator do
    and or not xor bitand bitor compl and_eq or_eq not_eq xor_eq alignof if while for switch
    break continue default using namespace true false nullptr this requires noexcept try catch
    public private protected template friend
    """
)
_TYPE_WORDS = words(
    """
    void bool char short int long float double signed unsigned auto char8_t char16_t char32_t
    wchar_t const volatile
    """
)
_STARTS = frozenset({";", "{", "}", "(", ",", "::", "<", ":", ")", ">", ""})
_ENDS = frozenset({"=", ";", ",", ")", "[", ":", "{", ">", "..."})
_TAGS = frozenset({"struct", "class", "union", "enum", "typename", "namespace", "concept"})
_SPECIFIERS = words(
    "const static constexpr inline extern volatile mutable register thread_local typename struct "
    "class union enum constinit __device__ __host__ __shared__ __constant__ __managed__ "
    "__forceinline__ __noinline__ __restrict__ unsigned signed long friend explicit virtual"
)
_TYPE_TAGS = words("typename struct class union enum friend unsigned signed long")
_ATTRIBUTES = words(
    "__attribute__ __attribute alignas asm __asm __asm__ final override noexcept const volatile "
    "requires __restrict__ __restrict restrict"
)
_CLOSE = {")": "(", "]": "[", "}": "{"}


class Identifiers:
    """The declared names of `tokens`: `names` all, `types` those of types."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.match = _brackets(tokens)
        self.type_places = dict(self._types())
        self.types = set(self.type_places.values())
        self.places = {**self.type_places, **dict(self._declarations())}
        self.names = {tokens[at].text for at in self.places} | self.types

    def text(self, at: int) -> str:
        """Return the text of a token, "" outside of the program."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def _types(self) -> Iterator[tuple[int, str]]:
        for at, token in enumerate(self.tokens):
            if token.kind != "name":
                continue
            before = self.text(at - 1)
            if token.text == "typedef":
                yield from self._typedef(at)
            elif (
                before in _TAGS
                or (before == "..." and self.text(at - 2) in ("typename", "class"))
                or (before == "using" and self.text(at + 1) == "=")
                or (before == ")" and self._attributed(at - 1))
            ):
                yield at, token.text

    def _attributed(self, at: int) -> bool:
        """Whether the group that ends at `at` stands between `struct` and its name."""
        opening = self.match.get(at, at)
        return self.text(opening - 1) in ("alignas", "__align__") and (
            self.text(opening - 2) in _TAGS
        )

    def _typedef(self, at: int) -> Iterator[tuple[int, str]]:
        last = -1
        while at + 1 < len(self.tokens) and self.text(at) != ";":
            if self.text(at) in ("{", "["):
                at = self.match.get(at, at)
            elif self.tokens[at].kind == "name":
                last = at
            at += 1
        if last >= 0:
            yield last, self.text(last)

    def _declarations(self) -> Iterator[tuple[int, str]]:
        for at, token in enumerate(self.tokens):
            if token.kind == "name" and token.text not in _NO_TYPE and self._declares(at):
                yield at, token.text
                yield from self._further(at)
            elif token.text == "[" and self._binds(at):
                for i in range(at + 1, self.match.get(at, at)):
                    if self.tokens[i].kind == "name":
                        yield i, self.text(i)
            elif token.text == "enum":
                yield from self._enumerators(at)

    def _binds(self, at: int) -> bool:
        """Whether `[` begins the names of a structured binding."""
        before = at - 1
        while self.text(before) in ("&", "&&"):
            before -= 1
        return self.text(before) == "auto"

    def _enumerators(self, at: int) -> Iterator[tuple[int, str]]:
        while self.text(at) not in ("{", ";", ""):
            at += 1
        if self.text(at) != "{":
            return
        fresh = True
        end = self.match.get(at, at)
        i = at + 1
        while i < end:
            if fresh and self.tokens[i].kind == "name":
                yield i, self.text(i)
            fresh = self.text(i) == ","
            i = self.match.get(i, i) + 1 if self.text(i) in ("(", "{", "[") else i + 1

    def _declares(self, at: int) -> bool:
        before, after = self.text(at - 1), self.text(at + 1)
        previous = self.tokens[at - 1] if at else None
        if previous is None or before in (".", "->", "::"):
            return False
        if previous.kind == "name":
            names_type = before in _SPECIFIERS - _TYPE_TAGS and self._declarator_follows(at)
            return before not in _NO_TYPE and after not in (".", "->") and not names_type
        if before == "[":
            return after == "=" and self.text(at + 2) != "="  # a capture: [x = f()]
        if before in (">", ">>"):
            return after in _ENDS | {"("} and self._after_template(at - 1)
        if before == "...":
            return after in _ENDS
        if before in ("*", "&", "&&"):
            return after in _ENDS | {"("} and self._after_pointer(at)
        if before == "}":
            return after in (";", ",", "[", "=") and self._after_type(at - 1)
        if before == ")":
            opening = self.match.get(at - 1, 0)
            return self.text(opening - 1) in (
                "decltype", "alignas", "__launch_bounds__", "__align__", "__cluster_dims__",
                "__maxnreg__",
            )  # fmt: skip
        return False

    def _declarator_follows(self, at: int) -> bool:
        """Whether what is declared comes after `at`: then the name is its type."""
        i = at + 1
        if self.text(i) == "<":
            depth = 0
            while i < len(self.tokens) and self.text(i) not in (";", "{", "}", "("):
                word = self.text(i)
                depth += (word == "<") - (len(word) if word in (">", ">>", ">>>") else 0)
                i += 1
                if depth <= 0:
                    break
            else:
                return False
        if self.text(i) in ("*", "&", "&&", "::"):
            return True
        named = i < len(self.tokens) and self.tokens[i].kind == "name"
        return named and self.text(i) not in _ATTRIBUTES

    def _after_type(self, at: int) -> bool:
        """Whether the braces that end at `at` are the body of a type."""
        opening = self.match.get(at, 0)
        i = opening - 1
        while i >= 0 and self.text(i) not in (";", "{", "}", ")", "="):
            if self.text(i) in _TAGS:
                return True
            i -= 1
        return False

    def _after_template(self, at: int) -> bool:
        """Whether the `>` at `at` ends the arguments of a type: `std::vector<int> v`."""
        depth, i = 0, at
        while i >= 0 and at - i < 80:
            word = self.text(i)
            if word in (">", ">>", ">>>"):
                depth += len(word)
            elif word == "<":
                depth -= 1
            elif word in (";", "{", "}", "&&", "||", "="):
                return False
            if depth <= 0:
                break
            i -= 1
        return depth == 0 and self._is_type_at(i - 1)

    def _is_type_at(self, at: int) -> bool:
        """Whether the name that ends at `at` is a type, as far as it can be told for sure."""
        word = self.text(at)
        if self.text(at - 1) == "::":
            return True  # std::vector<int>, Traits::Row
        return self.is_type(word)

    def is_type(self, word: str) -> bool:
        """Whether a name is known to be a type."""
        return (
            word in _TYPE_WORDS
            or word in TYPES
            or word in self.types
            or VECTOR_TYPE.match(word) is not None
            or (word.startswith(("cuda", "nccl", "MPI_", "CU")) and not word.isupper())
        )

    def _after_pointer(self, at: int) -> bool:
        i = at - 1
        while self.text(i) in ("*", "&", "&&"):
            i -= 1
        if self.text(i) == "::" and self.is_type(self.text(i - 1)):
            i -= 2  # a pointer to a member: `float Pair::* which`
        if self.text(i) in (">", ">>"):
            return self._after_template(i)
        if self.text(i) == "(" and self._ends_declarator(at + 1):
            return self._is_type_at(i - 1)
        if self.text(i) in ("const", "volatile", "__restrict__", "auto"):
            return True
        if self.text(i - 1) in _SPECIFIERS - _TYPE_TAGS and i < at - 1:
            return self.tokens[i].kind == "name"  # static T* a
        if not self._is_type_at(i):
            return False
        start = i
        while self.text(start - 1) == "::":
            start -= 2
        return self.text(start - 1) in _STARTS or self.text(start - 1) in _SPECIFIERS

    def _ends_declarator(self, at: int) -> bool:
        """Whether a name in brackets is one, and no argument: `int (*f)(int)`, `T (&a)[4]`."""
        while self.text(at) == "[":
            at = self.match.get(at, at) + 1
        return self.text(at) == ")" and self.text(at + 1) in ("(", "[", "=")

    def _further(self, at: int) -> Iterator[tuple[int, str]]:
        """Yield what else the same statement declares, as b in `int a = 1, *b;`."""
        i = at + 1
        choices = 0  # `?` whose `:` is still to come
        while i < len(self.tokens):
            word = self.text(i)
            if word in ("(", "[", "{"):
                i = self.match.get(i, i)
                if word == "{" and self.text(i + 1) not in (",", ";", ")"):
                    return
            elif word == "?":
                choices += 1
            elif word == ":" and choices:
                choices -= 1
            elif word in _CLOSE or word in (";", ":") or self.tokens[i].kind == "directive":
                return
            elif word == "<" and self.tokens[i - 1].kind == "name" and self._may_close(i):
                return  # arguments of a template: commas in them part no declarators
            elif word == ",":
                i += 1
                while self.text(i) in ("*", "&", "const", "__restrict__"):
                    i += 1
                named = i < len(self.tokens) and self.tokens[i].kind == "name"
                if not named or self.text(i + 1) not in ("=", ";", ",", "[", "(", "{", ":"):
                    return
                yield i, self.text(i)
            i += 1

    def _may_close(self, at: int) -> bool:
        """Whether the `<` at `at` has a `>` in its statement: else it compares."""
        while self.text(at) not in (";", "{", "}", ""):
            if self.text(at) in (">", ">>", ">>>", ">=", ">>="):
                return True
            at += 1
        return False


def _brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Return for each bracket the other one."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "punct":
            continue
        if token.text in ("(", "[", "{"):
            stack.append(at)
        elif token.text in _CLOSE and stack and tokens[stack[-1]].text == _CLOSE[token.text]:
            opening = stack.pop()
            pairs[opening], pairs[at] = at, opening
    return pairs
