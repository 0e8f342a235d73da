"""Which values go to what a program prints, and nowhere else.

A line's number, a file's name and texts of the implementation differ between what is judged and a
cluster. Programs print them in messages of errors: directly, through a function of their own with a
parameter for it, in an exception that nobody catches, or from a variable that a call has filled.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.evaluation.legality.refusals import words
from warploom.evaluation.legality.scopes import Declared
from warploom.evaluation.legality.spelling import is_only_printed
from warploom.evaluation.legality.tokens import Token, arguments_of

FILLS: Mapping[str, tuple[int, ...]] = {
    "MPI_Error_string": (1, 2),
    "MPI_Get_processor_name": (0, 1),
    "MPI_Get_library_version": (0, 1),
    "cudaDeviceGetLimit": (0,),
    "cudaDriverGetVersion": (0,),
    "cudaRuntimeGetVersion": (0,),
    "cudaMemGetInfo": (0, 1),
    "ncclGetVersion": (0,),
}
"""Calls whose answers may be printed, with the arguments that are filled."""

_WINDOW = 600  # tokens before one in which its statement begins
_PLAIN_TYPE = words("const int unsigned long char *")
_BEFORE_CALL = frozenset({";", "{", "}", ")", "else", "do", "return", "!", "=", "&&", "||"})
_THROWN = words(
    "throw std runtime_error logic_error string to_string __LINE__ __FILE__ __func__ "
    "cudaGetErrorString cudaGetErrorName ncclGetErrorString"
)
_TEXT_CALLS = words("cudaGetErrorString cudaGetErrorName ncclGetErrorString")
_FILLED_TYPE = words("char int size_t unsigned long static const")


@dataclass(frozen=True, slots=True)
class _Function:
    """A function's parameters, and where its body begins and ends."""

    parameters: tuple[tuple[Token, ...], ...]
    first: int
    last: int


class Printed:
    """Follows values through `tokens`; `match` are their brackets, `items` their declarations."""

    def __init__(
        self, tokens: Sequence[Token], match: Mapping[int, int], items: Sequence[Declared]
    ) -> None:
        self.tokens = tokens
        self.match = match
        self._items = items
        self._known: dict[tuple[str, int], bool] = {}
        pairs = itertools.pairwise(tokens)
        self._shifts = any(a.text == "operator" and b.text == "<" for a, b in pairs)
        self._catches = any(token.text in ("catch", "current_exception") for token in tokens)
        self._places: dict[int, int] = {}
        twice: set[int] = set()
        for at, token in enumerate(tokens):
            if self._places.setdefault(id(token), at) != at:
                twice.add(id(token))
        for key in twice:
            del self._places[key]

    def is_printed(self, at: int) -> bool:
        """Whether the value at `at` is printed, by the text itself or by what it is passed to."""
        start = max(0, at - _WINDOW)
        end = min(len(self.tokens), at + _WINDOW)
        direct = not self._shifts and is_only_printed(self.tokens[start:end], at - start)
        return direct or self._is_thrown(at) or self._is_passed(at)

    def fills_what_is_printed(self, at: int) -> bool:
        """Whether the call at `at`, one of `FILLS`, fills local variables that are only printed."""
        opening = at + 1
        if self._text(opening) != "(" or opening not in self.match:
            return False
        arguments = arguments_of(self.tokens, opening)
        function = next((f for f in self._bodies() if f.first <= at < f.last), None)
        filled = FILLS[self.tokens[at].text]
        if function is None or len(arguments) <= max(filled):
            return False
        for number in filled:
            words_of = [token.text for token in arguments[number]]
            name = words_of[-1] if words_of else ""
            if words_of not in ([name], ["&", name]):
                return False
            if not self._is_local_print(name, function):
                return False
        return True

    def _text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def _bodies(self) -> Iterator[_Function]:
        for item in self._items:
            if item.kind == "function" and item.body:
                function = self._function(item)
                if function is not None:
                    yield function

    def _function(self, item: Declared) -> _Function | None:
        first, last = (self._places.get(id(t)) for t in (item.body[0], item.body[-1]))
        texts = [token.text for token in item.tokens]
        at = next((i for i, t in enumerate(texts) if t == item.name), None)
        opening = self._places.get(id(item.tokens[at + 1])) if at is not None else None
        if first is None or last is None or opening is None or opening not in self.match:
            return None
        parameters = tuple(tuple(words_of) for words_of in arguments_of(self.tokens, opening))
        return _Function(parameters, first, last + 1)

    def _is_local_print(self, name: str, function: _Function) -> bool:
        declared = False
        for at in range(function.first, function.last):
            if self._text(at) != name:
                continue
            if self._declares(at):
                declared = True
            elif not (self._is_filled(at) or self._is_null_test(at) or self.is_printed(at)):
                return False
        return declared

    def _declares(self, at: int) -> bool:
        """Whether `char name[N];`, `int name;` or `int name = 0;`, one of several perhaps."""
        after = self._text(at + 1)
        value = after == "=" and self.tokens[at + 2].kind == "number"
        ends = value and self._text(at + 3) in (",", ";")
        if after == "[":
            ends = self._text(self.match.get(at + 1, -2) + 1) in (",", ";")
        if not ends and after not in (",", ";"):
            return False
        start = at
        while start > 0 and self._text(start - 1) not in (";", "{", "}", ")"):
            start -= 1
        return self._text(start) in _FILLED_TYPE and self._text(at - 1) in (*_FILLED_TYPE, ",")

    def _is_filled(self, at: int) -> bool:
        opening = self._opening(at)
        name = self._text(opening - 1)
        if opening < 0 or name not in FILLS:
            return False
        arguments = arguments_of(self.tokens, opening)
        return any(
            token is self.tokens[at]
            for number in FILLS[name]
            if number < len(arguments)
            for token in arguments[number]
        )

    def _is_null_test(self, at: int) -> bool:
        before = (self._text(at - 2), self._text(at - 1))
        after = (self._text(at + 1), self._text(at + 2))
        nothing = ("NULL", "nullptr")
        return (before[0] in nothing and before[1] == "!=" and after[0] == ")") or (
            after[0] == "!=" and after[1] in nothing and before[1] == "("
        )

    def _opening(self, at: int) -> int:
        """Return the `(` around `at`, or -1."""
        depth = 0
        for i in range(at - 1, max(-1, at - _WINDOW), -1):
            text = self._text(i)
            if text in (")", "]", "}"):
                depth += 1
            elif text in ("(", "[", "{"):
                if depth == 0:
                    return i if text == "(" else -1
                depth -= 1
        return -1

    def _is_thrown(self, at: int) -> bool:
        """Whether it is a part of an exception's text, and the program catches none."""
        if self._catches or self._shifts:
            return False
        start = end = at
        while start > 0 and self._text(start) not in (";", "{", "}", "throw"):
            start -= 1
        while end < len(self.tokens) and self._text(end) != ";":
            end += 1
        given = range(0)
        for i in range(start, end):
            if self._text(i) in _TEXT_CALLS and i + 1 in self.match:
                given = range(i + 2, self.match[i + 1])
            free = i in given and self._text(i + 1) != "("
            if self.tokens[i].kind == "name" and not free and self._text(i) not in _THROWN:
                return False
        return self._text(start) == "throw"

    def _is_passed(self, at: int) -> bool:
        """Whether it is an argument of a function of the program's own that only prints it."""
        opening = self._opening(at)
        alone = self._text(at - 1) in ("(", ",") and self._text(at + 1) in (",", ")")
        if opening < 1 or not alone or self.tokens[opening - 1].kind != "name":
            return False
        before = arguments_of(self.tokens, opening)
        number = next(n for n, a in enumerate(before) if any(t is self.tokens[at] for t in a))
        if any(self._has_angles(argument) for argument in before[:number]):
            return False
        return self._prints_parameter(self._text(opening - 1), number)

    @staticmethod
    def _has_angles(argument: Sequence[Token]) -> bool:
        depth = 0
        for token in argument:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth == 0 and token.text == "<":
                return True
        return False

    def _prints_parameter(self, name: str, number: int) -> bool:
        key = (name, number)
        if key not in self._known:
            self._known[key] = False  # a function that passes it to itself prints nothing so
            self._known[key] = self._all_print(name, number)
        return self._known[key]

    def _all_print(self, name: str, number: int) -> bool:
        defined = [i for i in self._items if i.kind == "function" and i.name == name]
        heads = {id(token) for item in defined for token in item.tokens}
        for at, token in enumerate(self.tokens):
            if token.text == name and id(token) not in heads and not self._is_call(at):
                return False
        functions = [self._function(item) for item in defined]
        return bool(functions) and all(f is not None and self._prints(f, number) for f in functions)

    def _is_call(self, at: int) -> bool:
        before = self._text(at - 1)
        tested = before == "(" and self._text(at - 2) in ("if", "while")
        return self._text(at + 1) == "(" and (before in _BEFORE_CALL or tested)

    def _prints(self, function: _Function, number: int) -> bool:
        if number >= len(function.parameters):
            return False
        *kind, name = function.parameters[number] or (None,)
        if name is None or not kind or any(token.text not in _PLAIN_TYPE for token in kind):
            return False
        if name.kind != "name":
            return False
        return all(
            self.is_printed(at)
            for at in range(function.first, function.last)
            if self._text(at) == name.text
        )
