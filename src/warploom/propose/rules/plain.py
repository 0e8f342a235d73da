"""The plain form of the prelude, as a person would write it, for programs that need no more.

Most programs have one communicator, one stream that communicates, and buffers that they allocate
once, in the same order and size on every rank. Then a place means the same on every rank, and each
communication is one short kernel: no mailbox of places, and no agreement on windows at run time.
`plain_spec` says whether a program is one of these; whether its plain form is right is judged as
that of any other candidate, and where it is not the general form comes next.
"""

import re
from dataclasses import dataclass

from warploom.core.records import Api
from warploom.propose.protocol import Stage
from warploom.propose.rules.fragments import template
from warploom.propose.rules.lexing import find_mentions
from warploom.propose.rules.prelude import (
    CREATIONS,
    GROUPS,
    LAUNCHERS,
    MEMORY,
    NAMESPACE,
    element_of,
    include_lines,
    reducible_type,
    requirements,
)
from warploom.source import AnalysisReport, SourceFile
from warploom.source.records import Allocation, Buffer, Collective
from warploom.source.regions import END, START

PLAIN = ", plain form"
"""What the first line of a prelude in the plain form says."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_PATH = re.compile(r"\w+(?:(?:\.|->)\w+)*(?:\s*\+[\w\s.*+()]*)?")
_SUPPORTED = {
    Api.LSA: frozenset({"ncclAllReduce", "ncclAllGather", "ncclAlltoAll"}),
    Api.GIN: frozenset({"ncclAllReduce", "ncclAllGather", "ncclAlltoAll"}),
}
_EXCHANGES = {
    "ncclAllGather": ("bytes", "0"),
    "ncclAlltoAll": ("bytes * dev.nRanks", "bytes"),
}
"""How much a rank sends from, and how far apart is what it has for each peer."""
_OPERATORS = {
    "ncclSum": "", "ncclAvg": "", "ncclProd": "a * b", "ncclMax": "a < b ? b : a",
    "ncclMin": "b < a ? b : a",
}  # fmt: skip
_HALVES = {"ncclFloat16", "ncclBfloat16"}
_BEYOND = ("ncclCommFinalize", "ncclCommAbort", *MEMORY["nccl"], *MEMORY["async"])


@dataclass(frozen=True, slots=True)
class PlainSpec:
    """What a plain prelude holds: the calls that it replaces, of which data types and operators.

    `reduced` is the data type that is reduced, or "". `one_stream` says that the program has no
    second stream on which it could communicate.
    """

    api: Api
    calls: frozenset[str]
    types: frozenset[str]
    reduced: str
    operators: frozenset[str]
    markers: bool
    one_stream: bool


def plain_spec(
    file: SourceFile, analysis: AnalysisReport, api: Api, stage: Stage, *, markers: bool
) -> PlainSpec | None:
    """Return what the plain prelude of a program holds; None where it needs the general one.

    The caller knows that its processes have one device and one thread each, and that a statement
    opens the windows.
    """
    data = analysis.collectives
    types = {reducible_type(c.dtype or "") for c in data}
    named = frozenset(name for name in types if name is not None)
    reductions = [c for c in data if c.name == "ncclAllReduce"]
    operators = frozenset(c.op or "" for c in reductions)
    reduced = {reducible_type(c.dtype or "") or "" for c in reductions}
    if (
        not data
        or not {c.name for c in data} <= _SUPPORTED[api]
        or {m.name for m in find_mentions(file.text, LAUNCHERS)} - GROUPS != {c.name for c in data}
        or len(named) != len(types)
        or not operators <= set(_OPERATORS)
        or len(reduced) > 1
        or reduced & _HALVES  # they add up in another type
        or len({c.stream for c in data}) != 1
        or not _has_one_communicator(file, analysis)
        or not all(_is_plain(c, analysis) for c in data)
    ):
        return None
    calls = frozenset(c.name for c in data) if stage is Stage.DEVICE else frozenset[str]()
    made = [s for s in analysis.streams if s.file == analysis.file]
    alone = len(made) == len(analysis.streams) == 1 and not made[0].site.in_loop
    return PlainSpec(api, calls, named, "".join(reduced), operators, markers, one_stream=alone)


def _has_one_communicator(file: SourceFile, analysis: AnalysisReport) -> bool:
    made = [m.name for m in find_mentions(file.text, CREATIONS) if m.called]
    if made != ["ncclCommInitRank"] or len(analysis.communicators) != 1:
        return False
    line = analysis.communicators[0].line
    grouped = any(g.line <= line <= (g.end_line or line) for g in analysis.groups)
    return not grouped and not find_mentions(file.text, _BEYOND)


def _is_plain(call: Collective, analysis: AnalysisReport) -> bool:
    """Whether a call's buffers are plain names of memory that all ranks allocate alike."""
    if call.name in _EXCHANGES and call.in_place:
        return False
    sides = ((call.send, call.send_buffers), (call.recv, call.recv_buffers))
    return all(_is_named(text or "", buffers, analysis) for text, buffers in sides)


def _is_named(text: str, buffers: tuple[Buffer, ...], analysis: AnalysisReport) -> bool:
    """Whether an argument is a buffer, or a place in it, that is the same one on all ranks."""
    if not _PATH.fullmatch(text.strip()) or _own_names(analysis) & set(_NAME.findall(text)):
        return False
    if len(buffers) != 1 or len(buffers[0].allocations) != 1:
        return False
    line = buffers[0].allocations[0]
    made = [a for a in analysis.allocations if (a.file, a.line) == (analysis.file, line)]
    return len(made) == 1 and _is_alike(made[0], analysis)


def _is_alike(memory: Allocation, analysis: AnalysisReport) -> bool:
    """Whether the size of an allocation is that of every rank, as far as its text says."""
    named = set(_NAME.findall(memory.bytes))
    return memory.call == "cudaMalloc" and not memory.calls and not _own_names(analysis) & named


def _own_names(analysis: AnalysisReport) -> set[str]:
    """Return the names in what the program gives a communicator as its rank."""
    return {name for c in analysis.communicators for name in _NAME.findall(c.rank or "")}


def render_plain(spec: PlainSpec) -> str:
    """Return the text of a plain prelude: includes, then one namespace; ends with a newline."""
    names = ["core", *_kernels(spec), "host"]
    if spec.calls:
        names += ["find"] if spec.one_stream else ["find", "on_stream"]
    if spec.calls & _EXCHANGES.keys() and len(_sizes(spec)) > 1:
        names.append("bytes")
    text = "".join(template(f"plain/{name}.cuh") for name in names)
    text += "".join(_launcher(name) for name in sorted(spec.calls))
    for key, value in _values(spec).items():
        text = text.replace(f"@{key}@", value)
    close = f"\n#undef DEVICE_COMM_NCCL\n\n}}  // namespace {NAMESPACE}\n"
    headers = ("cuda_runtime.h", "nccl.h", "nccl_device.h")
    includes = include_lines(headers, ("cstdint", "cstdio", "vector"))
    return includes + "\n" + text + close


def _launcher(call: str) -> str:
    """Return what takes the place of a call; of exchanges, all but what differs is one text."""
    if call not in _EXCHANGES:
        return template("plain/allreduce.cuh")
    sent, stride = _EXCHANGES[call]
    text = template("plain/exchange_call.cuh").replace("launch@CALL@", LAUNCHERS[call])
    return text.replace("@SENT@", sent).replace("@STRIDE@", stride)


def _kernels(spec: PlainSpec) -> list[str]:
    names = [str(spec.api)]
    if spec.calls & _EXCHANGES.keys():
        names.append(f"{spec.api}_exchange")
    if "ncclAllReduce" in spec.calls:
        names += ["combine", f"{spec.api}_allreduce"]
    return names


def _values(spec: PlainSpec) -> dict[str, str]:
    api = str(spec.api)
    sizes = _sizes(spec)
    many = len(sizes) > 1
    element = element_of(spec.reduced) if spec.reduced else ""
    staged = spec.api is Api.GIN and "ncclAllReduce" in spec.calls
    return {
        "API": api.upper(),
        "PROTOCOL": template(f"plain/{api}_protocol.txt").rstrip("\n"),
        "REGION_START": f"// {START} communication\n" if spec.markers and spec.calls else "",
        "REGION_END": f"// {END}\n" if spec.markers and spec.calls else "",
        "CREATE": template(f"plain/{api}_create.cuh"),
        "REQUIREMENTS": requirements(spec.api, signals="3" if staged else "2", barriers="kBlocks"),
        "SIZES": _cases(spec),
        "BYTES": "bytesOf(type)" if many else str(min(sizes)),
        "UNIT": f"uint{8 * min(sizes)}_t",
        "TYPE": " type" if many else "",
        "COMBINE": _combine(spec),
        "AVERAGE": template(f"plain/{api}_average.cuh") if "ncclAvg" in spec.operators else "",
        "DONE": ", kDone = 2" if staged else "",
        "STAGING": template("plain/gin_staging.cuh") if staged else "",
        "STAGED": "inline char* staging = nullptr;\n" if staged else "",
        "UNSTAGE": "  if (windowFree(staging) != cudaSuccess) return ncclUnhandledCudaError;\n"
        if staged
        else "",
        "FIND_STAGING": "  Place room;\n  DEVICE_COMM_NCCL(find(staging, 1, &room));\n"
        if staged
        else "",
        "EXCHANGE_SHAPE": "blocksFor(bytes * dev.nRanks), kThreads"
        if spec.api is Api.LSA
        else "1, 32",
        "REDUCE_SHAPE": f"blocksFor(count * sizeof({element})), kThreads"
        if spec.api is Api.LSA
        else "1, 256",
        "ON_STREAM": "" if spec.one_stream else "  DEVICE_COMM_NCCL(onStream(stream));\n",
        "STAGE": "room, " if staged else "",
        "ELEMENT": element,
    }


def _sizes(spec: PlainSpec) -> set[int]:
    """Return how many bytes the values have that are communicated."""
    return {_size(name) for name in spec.types}


def _size(name: str) -> int:
    return int(re.sub(r"\D", "", name)) // 8  # NCCL's names end with the bits of a value


def _cases(spec: PlainSpec) -> str:
    """Return the cases of a switch over data types."""
    return "".join(f"    case {n}:\n      return {_size(n)};\n" for n in sorted(spec.types))


def _combine(spec: PlainSpec) -> str:
    lines = [
        f"  if (op == {name}) return {how};\n"
        for name, how in _OPERATORS.items()
        if how and name in spec.operators
    ]
    return "".join(lines) + "  return a + b;\n"
