"""What a region declares must not change what the frame's text after it means."""

from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.identifiers import Identifiers
from warploom.evaluation.legality.region_rules import Refused, is_library_name
from warploom.evaluation.legality.tokens import Token


class Shadowing:
    """Looks at the names that untrusted text declares in scopes which the frame opened."""

    def __init__(self, tokens: Sequence[Token], names: Identifiers, own: frozenset[str]) -> None:
        self.tokens = tokens
        self.names = names
        self.own = own
        self.opened = self._openings()
        self.declared: dict[str, list[int]] = {}
        for at, name in names.places.items():
            self.declared.setdefault(name, []).append(at)

    def refusals(self) -> Iterator[Refused]:
        """Yield each declaration that reaches frame text which uses its name."""
        frames = {token.text for token in self.tokens if token.trusted and token.kind == "name"}
        for at, name in self._outer_usings():
            if name not in self.own and (name in frames or is_library_name(name)):
                yield self._refused(at, name, "it must keep its meaning")
        for at, name in self._declarations():
            scope = self._scope_of(at)
            if scope < 0 or not self.tokens[scope].trusted or self._is_namespace(scope):
                continue
            if name in self.own:
                continue
            if is_library_name(name) or self._is_used(at, name, scope):
                yield self._refused(at, name, "it must keep its meaning after the region")

    def _refused(self, at: int, name: str, why: str) -> Refused:
        return Refused(
            "redefinition",
            f"{name} is a name that the frame uses: {why}",
            self.tokens[at].line,
            hint="give it another name, or put it in a block of its own",
        )

    def _scope_of(self, at: int) -> int:
        """Return the `{` in whose scope the name declared at `at` is."""
        scope = self.opened[at]
        if scope == -2 and self.names.text(at - 1) in ("*", "&", "&&"):
            return self.opened[at - 2] if self.names.text(at - 2) == "(" else -2
        if scope >= 0 and self._is_enumeration(scope):
            return self.opened[scope]  # enumerators are names of the scope around
        return scope

    def _is_enumeration(self, scope: int) -> bool:
        at = scope - 1
        while at >= 0 and self.names.text(at) not in (";", "{", "}", ")", "class", "struct"):
            if self.names.text(at) == "enum":
                return True
            at -= 1
        return False

    def _declarations(self) -> Iterator[tuple[int, str]]:
        for at, name in self.names.places.items():
            if not self.tokens[at].trusted:
                yield at, name
        for at, token in enumerate(self.tokens):
            if token.text == "using" and not token.trusted:
                yield from self._using(at)

    def _using(self, at: int) -> Iterator[tuple[int, str]]:
        """`using a::b;` declares b; `using namespace a;` may declare anything."""
        scope = self.opened[at]
        local = scope >= 0 and self.tokens[scope].trusted and not self._is_namespace(scope)
        end = self._using_end(at)
        if self.names.text(end) != ";" or not local or self.names.text(at + 1) == "enum":
            return
        if self.names.text(at + 1) != "namespace":
            yield from self._named_by_using(at, end)
            return
        named = {t.text for t in self.tokens[at:end]}
        close = self.names.match.get(scope, len(self.tokens))
        for place, name in self.names.places.items():
            if not self.tokens[place].trusted and named and self._frame_uses(name, end, close):
                yield at, name

    def _using_end(self, at: int) -> int:
        end = at
        while self.names.text(end) not in (";", "=", ""):
            end += 1
        return end

    def _named_by_using(self, at: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield what `using a::b, c::d;` declares: the last name of each path."""
        for last in range(at + 1, end):
            after = self.names.text(last + 1)
            if self.tokens[last].kind == "name" and (after in (",", "...") or last + 1 == end):
                yield last, self.names.text(last)

    def _outer_usings(self) -> Iterator[tuple[int, str]]:
        """Yield names that `using` brings to where the frame's text may mean them.

        `using enum` names all enumerators of a type, of which only the last name is looked at.
        """
        for at, token in enumerate(self.tokens):
            if token.text != "using" or token.trusted:
                continue
            scope = self.opened[at]
            if self.names.text(at + 1) == "enum":
                end = self._using_end(at)
                yield from ((at, name) for name in self._enumerators_of(self.names.text(end - 1)))
            elif scope == -1 or (scope >= 0 and self._is_namespace(scope)):
                end = self._using_end(at)
                if self.names.text(end) == ";" and self.names.text(at + 1) != "namespace":
                    yield from self._named_by_using(at, end)

    def _enumerators_of(self, name: str) -> Iterator[str]:
        """Yield the enumerators of all enumerations called `name`; of an unknown one, of all."""
        known = False
        for at, token in enumerate(self.tokens):
            if token.text != "enum":
                continue
            body = at
            while self.names.text(body) not in ("{", ";", ")", ""):
                body += 1
            head = {word.text for word in self.tokens[at:body]}
            if self.names.text(body) == "{" and name in head:
                known = True
                yield from self._words(body)
        if not known:
            yield from (n for at, n in self.names.places.items() if self._is_enumerator(at))

    def _words(self, body: int) -> Iterator[str]:
        inside = self.tokens[body : self.names.match.get(body, body)]
        yield from (word.text for word in inside if word.kind == "name")

    def _is_enumerator(self, at: int) -> bool:
        return self.opened[at] >= 0 and self._is_enumeration(self.opened[at])

    def _frame_uses(self, name: str, start: int, end: int) -> bool:
        return any(t.trusted and t.text == name for t in self.tokens[start:end])

    def _openings(self) -> list[int]:
        """Return for each token the `{` around it, or -1; -2 inside of round brackets."""
        opened: list[int] = []
        stack: list[int] = []
        for at, token in enumerate(self.tokens):
            if token.text in ("}", ")") and token.kind == "punct" and stack:
                stack.pop()
            opened.append(stack[-1] if stack else -1)
            if token.text == "{" and token.kind == "punct":
                stack.append(at)
            elif token.text == "(" and token.kind == "punct":
                stack.append(-2)
        return opened

    def _is_namespace(self, scope: int) -> bool:
        at = scope - 1
        while at >= 0 and self.names.text(at) not in (";", "{", "}", ")"):
            if self.names.text(at) == "namespace":
                return True
            at -= 1
        return False

    def _is_used(self, at: int, name: str, scope: int) -> bool:
        """Whether the frame uses `name` after `at` in the same scope, and means this one."""
        end = self.names.match.get(scope, len(self.tokens))
        for use in range(at + 1, end):
            token = self.tokens[use]
            if not token.trusted or token.text != name or token.kind != "name":
                continue
            if self.names.text(use - 1) in (".", "->", "::") or self._is_inner(use, name, scope):
                continue
            return True
        return False

    def _is_inner(self, use: int, name: str, scope: int) -> bool:
        """Whether a declaration closer to `use` than `scope` is meant."""
        for other in self.declared[name]:
            block = self.opened[other]
            if other > use or block <= scope:
                continue
            if block < use < self.names.match.get(block, len(self.tokens)):
                return True
        return use in self.names.places and self.opened[use] != scope
