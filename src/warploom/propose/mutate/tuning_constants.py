"""Levers that are a named constant of the communication layer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from warploom.propose.rules.prelude import NAMESPACE

_LAYER = re.compile(
    rf"^namespace {NAMESPACE} \{{ ?$.*?^\}}  // namespace {NAMESPACE} ?$", re.MULTILINE | re.DOTALL
)


@lru_cache(maxsize=32)
def find_layer(source: str) -> tuple[int, int] | None:
    """Return where the text of the communication layer begins and ends; None without one."""
    match = _LAYER.search(source.replace("\r\n", " \n"))
    return match.span() if match else None


@dataclass(frozen=True, slots=True)
class ConstantLever:
    """A constant that the layer defines as `constexpr TYPE symbol = LITERAL;`, once.

    `values` maps each literal to what the value is called; `sentence` is `describe`'s, with a place
    for that name or for what `words` says in its place. `where` is what a program's text must hold
    for the constant to matter: a pattern.
    """

    name: str
    symbol: str
    values: Mapping[str, str]
    sentence: str
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    where: str = ""

    def current(self, source: str) -> str | None:
        """Return the constant's value; None where the layer does not define it once."""
        match = self._find(source)
        return self.values.get(match[1], match[1]) if match else None

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other values."""
        now = self.current(source)
        return tuple(value for value in self.values.values() if value != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        return self.sentence.format(self.words.get(value, value))

    def set(self, source: str, value: str) -> str:
        """Return the program with another literal in the constant's definition."""
        match = self._find(source)
        assert match is not None, "the caller has looked at `current`"
        literal = next(text for text, name in self.values.items() if name == value)
        return source[: match.start(1)] + literal + source[match.end(1) :]

    def _find(self, source: str) -> re.Match[str] | None:
        layer = find_layer(source)
        if layer is None or not re.search(self.where, source):
            return None
        pattern = re.compile(
            rf"^(?:\[\[maybe_unused\]\] )?constexpr \w+ {self.symbol} = (\w+);", re.MULTILINE
        )
        found = list(pattern.finditer(source, *layer))
        return found[0] if len(found) == 1 else None


def _numbers(*values: int) -> Mapping[str, str]:
    return {str(value): str(value) for value in values}


CONSTANTS = (
    ConstantLever(
        "blocks", "kBlocks", _numbers(1, 2, 4, 8, 16, 32, 64),
        "At most {} blocks share a transfer or a reduction.",
    ),
    ConstantLever(
        "block_bytes", "kBlockBytes", _numbers(2048, 4096, 8192, 16384, 32768, 65536, 131072),
        "A transfer gets one block for each {} bytes.",
    ),
    ConstantLever(
        "parts", "kParts", _numbers(1, 2, 4, 8, 16),
        "At most {} blocks share a message.",
    ),
    ConstantLever(
        "threads", "kThreads", _numbers(64, 128, 256, 512, 1024),
        "Each block of a transfer or a reduction has {} threads.",
    ),
    ConstantLever(
        "spread", "kSpread", {"kInTurn": "turn", "kByWarps": "warps", "kByBlocks": "blocks"},
        "{} of the peers.",
        {
            "turn": "All threads of a block take one after the other",
            "warps": "Each warp of a block takes some",
            "blocks": "Each block takes some",
        },
    ),
    ConstantLever(
        "leave", "kLeaveTogether", {"1": "together", "0": "alone"},
        "A rank ends an exchange {}.",
        {
            "together": "when all ranks have read",
            "alone": "when it has read itself; the next communication's barrier keeps the order",
        },
    ),
    ConstantLever(
        "close", "kCloseTogether", {"1": "together", "0": "alone"},
        "A rank gives its windows back {}.",
        {
            "together": "when all ranks have come to that",
            "alone": "at once; the program itself sees to it that nobody reads there any more",
        },
        rf"\bkLeaveTogether = 0\b|\b{NAMESPACE}::(?:share|fuse|guard)",
    ),
    ConstantLever(
        "own_bytes", "kOwnBytes", _numbers(0, 4096, 65536, 1048576),
        "What a rank has for itself, up to {} bytes, is copied by the kernel and not by a copy.",
    ),
    ConstantLever(
        "push_bytes", "kPushBytes", _numbers(32768, 131072, 524288),
        "All-reduces of up to {} bytes are pushed.",
    ),
    ConstantLever(
        "order", "kLazyOrder", {"0": "events", "1": "streams"},
        "Communications are ordered {}.",
        {
            "events": "by an event after each",
            "streams": "by their stream, and by events where the stream changes",
        },
    ),
)  # fmt: skip
