"""The macros of a program's own text, expanded as the compiler does; the system's stay as they are.

What a macro hides is judged where it is used. Each token keeps whether the frame or untrusted text
spelled it, and has the line of its use. `preprocessed` holds the result against the compiler's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warploom.evaluation.legality.spelling import is_only_printed, shows_rewriting
from warploom.evaluation.legality.tokens import Token, scan

_Hidden = frozenset[str]
_Marked = tuple[Token, _Hidden]
_NONE: _Hidden = frozenset()
_MOST_TOKENS = 400_000


class UnjudgedError(ValueError):
    """Text that cannot be expanded with certainty; `line` is where, `what` says why."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


@dataclass(frozen=True, slots=True)
class Macro:
    """One definition. `parameters` is None for an object-like macro.

    `rest` is the parameter that takes all further arguments, "" where there is none.
    """

    name: str
    parameters: tuple[str, ...] | None
    rest: str
    body: tuple[Token, ...]
    trusted: bool


def parse_macro(words: Sequence[Token]) -> Macro:
    """Return the macro that the tokens after `#define` make.

    Raises:
        UnjudgedError: its parameters are not a list of names.
    """
    name = words[0]
    if len(words) == 1 or words[1].text != "(" or words[1].spaced:
        return Macro(name.text, None, "", tuple(words[1:]), name.trusted)
    end = next((i for i, w in enumerate(words) if w.text == ")"), None)
    if end is None:
        raise UnjudgedError(f"the parameters of macro {name.text} do not end", name.line)
    texts = [w.text for w in words[2:end]]
    rest = ""
    if texts[-1:] == ["..."]:
        named = len(texts) > 1 and texts[-2] != ","
        rest = texts[-2] if named else "__VA_ARGS__"
        texts = texts[: -2 if named else -1]
    parameters = tuple(t for t in texts if t != ",")
    if not all(re.fullmatch(r"[A-Za-z_$][\w$]*", p) for p in parameters):
        raise UnjudgedError(f"macro {name.text} has odd parameters", name.line)
    body = tuple(words[end + 1 :])
    return Macro(name.text, parameters, rest, body, name.trusted)


class Expander:
    """Expands tokens by the macros that are defined at the time."""

    def __init__(self, defines: Mapping[str, str]) -> None:
        self.macros: dict[str, Macro] = {}
        self.shown: dict[tuple[str, int], None] = {}  # macros that show our rewriting, and lines
        self._made = 0
        for spelled, value in defines.items():
            words = scan(f"{spelled} {value or '1'}").tokens
            trusted = tuple(_copy(w, w.line, True) for w in words)
            self.macros[trusted[0].text] = parse_macro(trusted)

    def define(self, words: Sequence[Token]) -> None:
        """Take a `#define` into account; `words` follow the directive's name."""
        if words:
            macro = parse_macro(words)
            self.macros[macro.name] = macro

    def undefine(self, words: Sequence[Token]) -> None:
        """Take an `#undef` into account."""
        if words:
            self.macros.pop(words[0].text, None)

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Return `tokens` with every macro of the program expanded.

        Raises:
            UnjudgedError: a macro's arguments do not end here, or pasting makes no token.
        """
        macros = self.macros
        if not any(token.text in macros for token in tokens if token.kind == "name"):
            return list(tokens)
        pending: list[_Marked] = [(token, _NONE) for token in reversed(tokens)]
        return [token for token, _ in self._run(pending)]

    def _run(self, pending: list[_Marked]) -> list[_Marked]:
        """Expand what `pending` holds, its last token first."""
        done: list[_Marked] = []
        while pending:
            token, hidden = pending.pop()
            macro = self.macros.get(token.text) if token.kind == "name" else None
            if macro is None or token.text in hidden:
                done.append((token, hidden))
                continue
            if macro.parameters is None:
                made = self._substitute(macro, {}, hidden | {macro.name}, token, hidden)
            else:
                if not pending or pending[-1][0].text != "(":
                    done.append((token, hidden))
                    continue
                arguments, closing = _arguments(macro, token, pending)
                inner = (hidden & closing) | {macro.name}
                made = self._substitute(macro, arguments, inner, token, hidden)
            self._made += len(made)
            if self._made > _MOST_TOKENS:
                raise UnjudgedError("macros that expand to more than can be judged", token.line)
            pending.extend(reversed(made))
        return done

    def _substitute(
        self,
        macro: Macro,
        arguments: Mapping[str, list[_Marked]],
        hidden: _Hidden,
        use: Token,
        around: _Hidden,
    ) -> list[_Marked]:
        body = [(_copy(t, use.line, t.trusted), _NONE) for t in macro.body]
        if body:
            body[0] = (_spaced(body[0][0], use.spaced), _NONE)
        made = self._replace(macro, body, arguments, use, nested=bool(around))
        return [(token, own | hidden) for token, own in made if token.text]

    def _replace(
        self,
        macro: Macro,
        body: Sequence[_Marked],
        arguments: Mapping[str, list[_Marked]],
        use: Token,
        *,
        nested: bool,
    ) -> list[_Marked]:
        """Put arguments in the place of parameters, make strings and paste.

        `nested`: the use of the macro stands in another one.
        """
        out: list[_Marked] = []
        at = 0
        while at < len(body):
            token = body[at][0]
            follows = body[at + 1][0].text if at + 1 < len(body) else ""
            if token.text == "#" and macro.parameters is not None and follows in arguments:
                given = arguments[follows]
                words = [word for word, _ in given]
                if not macro.trusted and shows_rewriting(words, nested=nested):
                    self._note(macro, [word for word, _ in body], at, use)
                out.append((_string(token, given), _NONE))
                at += 2
            elif token.text == "##" and out and at + 1 < len(body):
                at = self._paste(macro, body, arguments, use, out, at + 1)
            elif token.text == "__VA_OPT__" and macro.rest and follows == "(":
                end = _closing(body, at + 1)
                if self._expanded(arguments[macro.rest]):
                    inner = body[at + 2 : end]
                    out += self._replace(macro, inner, arguments, use, nested=nested)
                at = end + 1
            elif token.text in arguments:
                raw = arguments[token.text]
                placed = raw if follows == "##" else self._expanded(raw)
                out += _placed(placed, token, keep_empty=follows == "##")
                at += 1
            else:
                out.append(body[at])
                at += 1
        return out

    def _note(self, macro: Macro, body: Sequence[Token], at: int, use: Token) -> None:
        """Keep that a string of `macro` shows how text is rewritten here."""
        if not is_only_printed(body, at):
            self.shown[macro.name, use.line] = None

    def _paste(
        self,
        macro: Macro,
        body: Sequence[_Marked],
        arguments: Mapping[str, list[_Marked]],
        use: Token,
        out: list[_Marked],
        at: int,
    ) -> int:
        """Join the last token of `out` with what stands at `at`; returns where to go on."""
        token = body[at][0]
        if token.text == "__VA_OPT__" or token.text == "#":
            raise UnjudgedError(f"macro {macro.name} pastes what cannot be judged", use.line)
        if token.text == macro.rest and out[-1][0].text == ",":
            if not arguments[macro.rest]:
                out.pop()
            else:
                out += _placed(self._expanded(arguments[macro.rest]), token)
            return at + 1
        right = [body[at]]
        if token.text in arguments:
            right = _placed(arguments[token.text], token, keep_empty=True)
        left = out.pop()[0]
        out.append((_joined(left, right[0][0], use), _NONE))
        out += right[1:]
        return at + 1

    def _expanded(self, tokens: Sequence[_Marked]) -> list[_Marked]:
        return self._run(list(reversed(tokens)))


def _copy(token: Token, line: int, trusted: bool) -> Token:
    return Token(token.kind, token.text, line, "", token.spaced, trusted)


def _spaced(token: Token, spaced: bool) -> Token:
    return Token(token.kind, token.text, token.line, "", spaced, token.trusted)


def _placed(tokens: Sequence[_Marked], place: Token, *, keep_empty: bool = False) -> list[_Marked]:
    """Return an argument's tokens with the blanks of the parameter that they stand for."""
    if not tokens:
        empty = Token("punct", "", place.line, "", place.spaced, True)
        return [(empty, _NONE)] if keep_empty else []
    first, hidden = tokens[0]
    return [(_spaced(first, place.spaced), hidden), *tokens[1:]]


def _closing(body: Sequence[_Marked], at: int) -> int:
    depth = 0
    for i in range(at, len(body)):
        depth += (body[i][0].text == "(") - (body[i][0].text == ")")
        if depth == 0:
            return i
    raise UnjudgedError("__VA_OPT__ does not end", body[at][0].line)


def _joined(left: Token, right: Token, use: Token) -> Token:
    text = left.text + right.text
    trusted = left.trusted and right.trusted
    if not text:
        return Token("punct", "", use.line, "", left.spaced, True)
    scanned = scan(text)
    if len(scanned.tokens) != 1 or scanned.tricks:
        raise UnjudgedError(f"## joins {left.text} and {right.text} to no token", use.line)
    return Token(scanned.tokens[0].kind, text, use.line, "", left.spaced, trusted)


def _string(place: Token, tokens: Iterable[_Marked]) -> Token:
    text = ""
    for token, _ in tokens:
        shown = token.text
        if token.kind in ("string", "char"):
            shown = shown.replace("\\", "\\\\").replace('"', '\\"')
        text += (" " if token.spaced and text else "") + shown
    return Token("string", f'"{text}"', place.line, "", place.spaced, place.trusted)


def _arguments(
    macro: Macro, use: Token, pending: list[_Marked]
) -> tuple[dict[str, list[_Marked]], _Hidden]:
    """Take the arguments of a use from `pending`; also returns what its `)` hides."""
    assert macro.parameters is not None
    pending.pop()
    names = macro.parameters
    given: list[list[_Marked]] = [[]]
    depth = 0
    closing = _NONE
    while True:
        if not pending:
            raise UnjudgedError(f"the arguments of macro {use.text} do not end", use.line)
        token, hidden = pending.pop()
        if token.text == ")" and depth == 0:
            closing = hidden
            break
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0 and not (macro.rest and len(given) > len(names)):
            given.append([])
        else:
            given[-1].append((token, hidden))
    if not names and not macro.rest and given == [[]]:
        given = []
    wanted = len(names) + bool(macro.rest)
    if macro.rest and len(given) == len(names):
        given.append([])
    if len(given) != wanted:
        raise UnjudgedError(
            f"macro {use.text} takes {wanted} arguments, got {len(given)}", use.line
        )
    every = (*names, macro.rest) if macro.rest else names
    return dict(zip(every, given, strict=True)), closing
