"""Inline PTX as C++: `asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p));`.

A statement becomes a block: its operands as registers of the constraint's type, one C++ statement
per instruction, then the outputs. What an instruction means is in `ptx_instructions`.
"""

import re
from dataclasses import dataclass, field

from warploom.emulator.ptx.instructions import statement
from warploom.emulator.ptx.operands import REGISTERS, TYPES, Instruction
from warploom.emulator.ptx.template import (
    LABEL,
    PREDICATE,
    Texts,
    UnknownInstructionError,
    instructions,
    template_of,
)
from warploom.emulator.tokens import Kind, Token, TokenStream
from warploom.source.edits import decode

_CONSTRAINTS = {
    "r": "std::uint32_t",
    "l": "std::uint64_t",
    "h": "std::uint16_t",
    "f": "float",
    "d": "double",
    "q": "unsigned __int128",
    "n": "std::uint64_t",
}
_TYPES = {**TYPES, "f16": "std::uint16_t", "f16x2": "std::uint32_t"}
_RANGE = re.compile(r"([%\w$]+)<(\d+)>")
# A loop of these waits for others; what computes is counted once, and must stand in C++ loops.
_IN_LOOPS = frozenset(("mbarrier", "bra", "nanosleep"))


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an asm statement: its constraint and the C++ expression."""

    constraint: str
    expression: str
    name: str = ""

    @property
    def register(self) -> str:
        """The C++ type of the register that holds it."""
        letter = self.constraint.strip("=+&")
        if letter not in _CONSTRAINTS:
            raise UnknownInstructionError(f'the constraint "{self.constraint}"')
        return _CONSTRAINTS[letter]


@dataclass(slots=True)
class _Block:
    """The C++ of one asm statement while it is made."""

    operands: tuple[Operand, ...]
    lines: list[str] = field(default_factory=list[str])
    declared: list[str] = field(default_factory=list[str])  # jumps do not pass over these
    locals: dict[str, str] = field(default_factory=dict[str, str])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    names: list[str] = field(default_factory=list[str])  # of instructions so far
    begins: dict[str, int] = field(default_factory=dict[str, int])  # of labels, in these

    def reference(self, text: str) -> str:
        """Return the C++ of one PTX operand that is no address and no vector."""
        text = text.strip()
        if found := re.fullmatch(r"%(\d+)", text):
            number = int(found[1])
            if number >= len(self.operands):
                raise UnknownInstructionError(f"operand {text}")
            return f"wl_a{number}"
        if found := re.fullmatch(r"%\[(\w+)\]", text):
            for number, operand in enumerate(self.operands):
                if operand.name == found[1]:
                    return f"wl_a{number}"
        if text in self.locals:
            return self.locals[text]
        plain = text.removeprefix("%").removeprefix("%")
        if text.startswith("%") and plain in REGISTERS:
            return REGISTERS[plain]
        if found := re.fullmatch(r"0[fF]([0-9A-Fa-f]{8})", text):
            return f"__uint_as_float(0x{found[1]}u)"
        if found := re.fullmatch(r"0[dD]([0-9A-Fa-f]{16})", text):
            return f"__longlong_as_double(0x{found[1]}ll)"
        if re.fullmatch(r"[+-]?(?:0[xX][0-9A-Fa-f]+|\d+)U?|[+-]?\d+\.\d*", text):
            return f"({text})"
        if text == "WARP_SZ":
            return "32"
        raise UnknownInstructionError(text)

    def declare(self, kind: str, names: str) -> None:
        """Enter the registers of a `.reg` line."""
        if kind not in _TYPES:
            raise UnknownInstructionError(f".reg .{kind}")
        for item in names.split(","):
            item = item.strip()
            many = _RANGE.fullmatch(item)
            found = [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [item]
            for name in found:
                variable = f"wl_r{len(self.locals)}"
                self.locals[name] = variable
                self.declared.append(
                    f"[[maybe_unused]] {_TYPES[kind]} {variable} = {_unset(_TYPES[kind], name)};"
                )

    def label(self, name: str) -> str:
        """Return the C++ label that stands for a label."""
        return self.labels.setdefault(name, f"wl_l{len(self.labels)}")

    def jump(self, target: str) -> str:
        """Return the jump of a `bra`; backwards it may only repeat waits."""
        begin = self.begins.get(target)
        if begin is not None and not _IN_LOOPS.issuperset(self.names[begin:]):
            raise UnknownInstructionError(f"bra {target} (a loop of other things than waits)")
        return f"goto {self.label(target)};"

    def add(self, text: str) -> None:
        """Translate one instruction or declaration, with the labels before it."""
        text = text.strip()
        while found := LABEL.fullmatch(text):
            if found[1] in self.begins:
                raise UnknownInstructionError(f"the label {found[1]}, which is there twice")
            self.begins[found[1]] = len(self.names)
            self.lines.append(f"{self.label(found[1])}:;")
            text = found[2].strip()
        if not text:
            return
        if found := re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text, re.DOTALL):
            self.declare(found[1], found[2])
            return
        guard = ""
        if found := PREDICATE.fullmatch(text):
            guard = f"if ({found[1]}{self.reference(found[2])}) "
            text = found[3].strip()
        head, _, rest = text.partition(" ") if " " in text else (text, "", "")
        name, *suffixes = head.replace("::", "__").split(".")
        self.names.append(name)
        if name == "bra" and suffixes in ([], ["uni"]):
            self.lines.append(f"{guard}{{ {self.jump(rest.strip())} }}")
            return
        instruction = Instruction(name, tuple(suffixes), tuple(_split(rest)), self.reference)
        made = statement(instruction)
        if made is None:
            raise UnknownInstructionError(text)
        self.lines.append(f"{guard}{{ {made} }}")


def _unset(kind: str, name: str) -> str:
    """Return the C++ of what a register of a type holds that nobody has set."""
    return f'::warploom::unset_value<{kind}>("{name}")'


def _split(text: str) -> list[str]:
    """Split operands at the commas that are in no bracket."""
    parts: list[str] = []
    depth = 0
    current = ""
    for char in text:
        if char in "[{(":
            depth += 1
        elif char in ")}]":
            depth -= 1
        if (char == "," and depth == 0) or (char == "|" and depth == 0):
            parts.append(current.strip())
            current = ""
        else:
            current += char
    if current.strip():
        parts.append(current.strip())
    return parts


def _sections(stream: TokenStream, opener: int, closer: int) -> list[list[range]]:
    """Return the token ranges between the colons and commas inside of an asm statement."""
    sections: list[list[range]] = [[]]
    begin = at = opener + 1
    while at <= closer:
        text = stream.tokens[at].text
        if text in (b":", b"::", b",") or at == closer:
            if at > begin:
                sections[-1].append(range(begin, at))
            if text == b":":
                sections.append([])
            elif text == b"::":
                sections += [[], []]
            begin = at + 1
        elif text in (b"(", b"[", b"{"):
            at = stream.closing(at) or at
            ended = text == b"(" and stream.kind_at(at + 1) is Kind.STRING
            if len(sections) > 1 and ended:
                sections[-1].append(range(begin, at + 1))  # nvcc does not ask for the comma
                begin = at + 1
        at += 1
    return sections


def _operand(stream: TokenStream, tokens: range) -> Operand:
    """Read `[name] "constraint" (expression)`."""
    at = tokens.start
    name = ""
    if stream.is_at(at, b"["):
        name = decode(stream.tokens[at + 1].text)
        at += 3
    if stream.kind_at(at) is not Kind.STRING or not stream.is_at(at + 1, b"("):
        raise UnknownInstructionError("an operand")
    constraint = decode(stream.tokens[at].text).strip('"')
    return Operand(constraint, _expression(stream, range(at + 1, tokens.stop)), name)


def _expression(stream: TokenStream, tokens: range) -> str:
    """Return the text of an operand without its comments; `<<` and its like are two tokens."""
    found = ""
    end = stream.tokens[tokens.start].start
    for token in (stream.tokens[at] for at in tokens):
        found += (" " if token.start > end else "") + decode(token.text)
        end = token.end
    return found


def template_tokens(stream: TokenStream, opener: int, closer: int) -> list[Token]:
    """Return the words of the template of an asm statement: literals, and macros that name them."""
    return [stream.tokens[at] for part in _sections(stream, opener, closer)[0] for at in part]


def translate(stream: TokenStream, opener: int, closer: int, macros: Texts) -> str:
    """Return the C++ statement for the asm statement in the brackets at `opener` and `closer`.

    `macros` are those that the template may name.

    Raises:
        UnknownInstructionError: an instruction, register or constraint is not emulated.
    """
    sections = _sections(stream, opener, closer)
    template = template_of(template_tokens(stream, opener, closer), macros)
    outputs = [_operand(stream, part) for part in (sections[1] if len(sections) > 1 else [])]
    inputs = [_operand(stream, part) for part in (sections[2] if len(sections) > 2 else [])]
    block = _Block((*outputs, *inputs))
    for number, operand in enumerate(block.operands):
        value = f"::warploom::ptx::input<{operand.register}>({operand.expression})"
        known = number >= len(outputs) or operand.constraint.startswith("+")
        first = value if known else _unset(operand.register, f"%{number}")
        block.lines.append(f"[[maybe_unused]] {operand.register} wl_a{number} = {first};")
    for text in instructions(template):
        block.add(text)
    block.lines += [
        f"::warploom::ptx::assign({operand.expression}, wl_a{number});"
        for number, operand in enumerate(outputs)
    ]
    if missing := set(block.labels) - set(block.begins):
        raise UnknownInstructionError(f"bra {min(missing)}")
    labels = "".join(f"__label__ {label}; " for label in block.labels.values())
    return f"do {{ {labels}{' '.join(block.declared + block.lines)} }} while (0)"
