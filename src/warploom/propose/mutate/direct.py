"""The lever that lets a consumer read its peers' memory itself, in place of a copy before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from warploom.propose.mutate.gates import bare_view, can_fuse, gated, ungated
from warploom.propose.mutate.launches import (
    Kernel,
    Launch,
    edited,
    kernels,
    launches,
    masked,
    root_of,
)
from warploom.propose.mutate.pipeline import FUSED_VERBS, Statement, exchange_statements
from warploom.propose.rules.prelude import NAMESPACE

_PLAIN = re.compile(r"const\s+([\w:]+)\s*\*\s*(?:__restrict__\s+)?(\w+)")
_VIEW = re.compile(rf"const\s+{NAMESPACE}::(?:View|Peers)<([\w:]+)>\s+(\w+)")
_AT = "\n#undef DEVICE_COMM_CUDA\n"
_CLOSING = (
    "if (s.open && kCloseTogether && !kLeaveTogether) {",
    "if (s.open && kCloseTogether) {",
)
_SHARED = {"AlltoAll", "AllGather"}
_VERBS = {
    "copied": "launch",
    "direct": "share",
    "fenced": "share",
    "fused": "fuse",
    "guarded": "guard",
}
_INCLUDE = ("#include <nccl_device.h>\n", "#include <nccl_device.h>\n#include <cuda/atomic>\n")


@cache
def _fragment(name: str) -> str:
    path = files("warploom.propose.mutate") / "templates" / f"{name}.cuh"
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Use:
    """A launch that takes the received data as its argument number `index`."""

    launch: Launch
    kernel: Kernel
    index: int


@dataclass(frozen=True, slots=True)
class _Flow:
    """The exchanges into one buffer, and all launches that take it."""

    exchanges: tuple[Statement, ...]
    uses: tuple[_Use, ...]


@dataclass(frozen=True, slots=True)
class DirectLever:
    """Where a consumer takes what other ranks send: from a copy, or from their memory (LSA).

    For kernels that only index the data, and read each element once or a few times: what crosses
    NVLink is not cached. `direct` leaves a meeting of all ranks in the place of the copy; `fenced`
    adds another after the consumer, for senders that write again before the next communication.
    `fused` and `guarded` are the same without any kernel: the producer's last block tells the
    peers, the consumer waits for that first, and with `guarded` the producer waits for consumers.
    """

    buffer: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"read:{self.buffer}"

    def current(self, source: str) -> str | None:
        """Return the value; None where the consumers cannot be changed."""
        flow = self._flow(source)
        if flow is None:
            return None
        verbs = {statement.verb for statement in flow.exchanges}
        if len(verbs) > 1:
            return None
        verb = verbs.pop()
        if verb == "share":
            return "fenced" if self._meetings(source, flow) else "direct"
        return next(value for value, name in _VERBS.items() if name == verb)

    def others(self, source: str) -> tuple[str, ...]:
        """Return the other values: gates only where no kernel stands in their way."""
        now, flow = self.current(source), self._flow(source)
        assert flow is not None, "the caller has looked at `current`"
        fits = can_fuse(source, flow.exchanges)
        values = [v for v, verb in _VERBS.items() if fits or verb not in FUSED_VERBS]
        return tuple(value for value in values if value != now)

    def describe(self, value: str) -> str:
        """Return what the value does."""
        read = f"Consumers of {self.buffer} read it from the memory of its senders"
        how = {
            "copied": f"Consumers of {self.buffer} read a copy of what other ranks send",
            "direct": read,
            "fenced": f"{read}, and all ranks meet after that",
            "fused": f"{read}; producers tell that it is there, and consumers wait for that",
            "guarded": f"{read}; producers tell that it is there, and wait until it is read",
        }
        return f"{how[value]}."

    def set(self, source: str, value: str) -> str:
        """Return the program with other exchanges, arguments and parameters."""
        source = ungated(source)
        flow = self._flow(source)
        assert flow is not None, "the caller has looked at `current`"
        edits: dict[tuple[int, int], str] = {}
        for one in flow.exchanges:
            at = source.index(f"{NAMESPACE}::{one.verb}{one.name}", one.start)
            start = at + len(NAMESPACE) + 2
            edits[start, start + len(one.verb)] = _VERBS[value]
        for use in flow.uses:
            self._edit_use(edits, use, direct=_VERBS[value] == "share")
        for start, end in self._meetings(source, flow):
            edits[start, end] = ""
        if value == "fenced":
            wrapper = flow.exchanges[0].wrapper
            for use in flow.uses:
                stream = use.launch.shape[3].text if len(use.launch.shape) > 3 else "0"
                call = f"{NAMESPACE}::meet({stream})"
                text = f"{wrapper}({call});" if wrapper else f"{call};"
                end = source.index(";", use.launch.end) + 1
                edits[end, end] = f" {text}"
        return _with_support(gated(edited(source, edits)))

    def _edit_use(self, edits: dict[tuple[int, int], str], use: _Use, *, direct: bool) -> None:
        parameter, argument = use.kernel.parameters[use.index], use.launch.arguments[use.index]
        plain, view = _PLAIN.fullmatch(parameter.text), _VIEW.fullmatch(parameter.text)
        found = plain or view
        assert found is not None, "`_flow` has seen it"
        element, name = found[1], found[2]
        new = f"const {NAMESPACE}::View<{element}> {name}" if direct else f"const {element}* {name}"
        edits[parameter.start, parameter.end] = new
        bare = bare_view(argument.text)
        edits[argument.start, argument.end] = (
            f"{NAMESPACE}::viewOf<{element}>({bare})" if direct else bare
        )

    def _meetings(self, source: str, flow: _Flow) -> list[tuple[int, int]]:
        pattern = re.compile(rf"\s*;( (?:\w+\()?{NAMESPACE}::meet\([^;]*\);)")
        text = masked(source)
        found = (pattern.match(text, use.launch.end) for use in flow.uses)
        return [match.span(1) for match in found if match]

    def _flow(self, source: str) -> _Flow | None:
        return _flow(source, self.buffer)


@lru_cache(maxsize=32)
def _flow(source: str, buffer: str) -> _Flow | None:
    """Return what fills a buffer and what takes it; None where the takers cannot be changed."""
    if "const char** parts" not in source:
        return None
    text = masked(source)
    into = [s for s in exchange_statements(text) if root_of(s.arguments[1].text) == buffer]
    if not into or any(s.name not in _SHARED for s in into):
        return None
    defined = {kernel.name: kernel for kernel in kernels(text)}
    every = launches(text)
    uses: list[_Use] = []
    for launch in every:
        for index, argument in enumerate(launch.arguments):
            if root_of(bare_view(argument.text)) != buffer:
                continue
            kernel = defined.get(launch.kernel)
            if kernel is None or not _only_indexed(kernel, index):
                return None
            uses.append(_Use(launch, kernel, index))
    changed = {use.kernel.name for use in uses}
    if not uses or sum(x.kernel in changed for x in every) != len(uses):
        return None  # another launch of the kernel has a plain pointer there
    return _Flow(tuple(into), tuple(uses))


def _only_indexed(kernel: Kernel, index: int) -> bool:
    if index >= len(kernel.parameters):
        return False
    text = kernel.parameters[index].text
    found = _PLAIN.fullmatch(text) or _VIEW.fullmatch(text)
    if found is None:
        return False
    uses = re.finditer(rf"\b{found[2]}\b\s*(.)", kernel.body.text)
    return all(use[1] == "[" for use in uses)


def _with_support(source: str) -> str:
    """Return the program with what its exchanges need, and without what they do not need."""
    verbs = {one.verb for one in exchange_statements(masked(source))}
    shares, fuses = bool(verbs - {"launch"}), bool(verbs & set(FUSED_VERBS))
    had = _fragment("direct") in source, _fragment("gates") in source
    source = source.replace(_fragment("gates"), "").replace(_fragment("direct"), "")
    if shares:
        at = source.rindex(_AT)
        text = _fragment("direct") + (_fragment("gates") if fuses else "")
        source = source[:at] + text + source[at:]
    if shares != had[0]:
        without, needed = (text + "  // a last" for text in _CLOSING)
        source = source.replace(*((without, needed) if shares else (needed, without)))
    if fuses != had[1]:
        bare, included = _INCLUDE
        source = source.replace(*((bare, included) if fuses else (included, bare)))
    return source


def direct_levers(source: str) -> Sequence[DirectLever]:
    """Return one lever for each buffer that exchanges fill, in the order of the text."""
    statements = exchange_statements(masked(source))
    roots = dict.fromkeys(root_of(s.arguments[1].text) for s in statements)
    return [DirectLever(root) for root in roots if root]
