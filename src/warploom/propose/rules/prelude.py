"""Assembles the device and host code that a transformed program carries, from templates.

The templates are fragments of CUDA text in `templates/`. A prelude holds only what the program's
calls need: a type, kernel or launcher that nothing uses is left out.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from warploom.core.records import Api
from warploom.source.regions import END, START

# Not `warploom`: that is the emulator's, and closed to candidates.
NAMESPACE = "device_comm"

REDUCTIONS = frozenset({"ncclAllReduce", "ncclReduceScatter", "ncclReduce"})
MESSAGES = frozenset({"ncclSend", "ncclRecv"})
GROUPS = frozenset({"ncclGroupStart", "ncclGroupEnd"})

LAUNCHERS = MappingProxyType(
    {
        "ncclAllReduce": "launchAllReduce",
        "ncclBroadcast": "launchBroadcast",
        "ncclBcast": "launchBcast",
        "ncclReduce": "launchReduce",
        "ncclAllGather": "launchAllGather",
        "ncclReduceScatter": "launchReduceScatter",
        "ncclAlltoAll": "launchAlltoAll",
        "ncclGather": "launchGather",
        "ncclScatter": "launchScatter",
        "ncclSend": "launchSend",
        "ncclRecv": "launchRecv",
        "ncclGroupStart": "groupStart",
        "ncclGroupEnd": "groupEnd",
    }
)
"""NCCL data call -> what takes its place, with the same arguments."""

_ELEMENTS = MappingProxyType(
    {
        "ncclInt8": "int8_t",
        "ncclUint8": "uint8_t",
        "ncclInt32": "int32_t",
        "ncclUint32": "uint32_t",
        "ncclInt64": "int64_t",
        "ncclUint64": "uint64_t",
        "ncclFloat16": "__half",
        "ncclFloat32": "float",
        "ncclFloat64": "double",
        "ncclBfloat16": "__nv_bfloat16",
    }
)
_ALIASES = MappingProxyType(
    {
        "ncclChar": "ncclInt8",
        "ncclInt": "ncclInt32",
        "ncclHalf": "ncclFloat16",
        "ncclFloat": "ncclFloat32",
        "ncclDouble": "ncclFloat64",
    }
)
_HALF_HEADERS = MappingProxyType({"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"})


def reducible_type(expression: str) -> str | None:
    """Return the data type's name in NCCL's newest spelling; None where it is no plain name."""
    name = _ALIASES.get(expression.strip(), expression.strip())
    return name if name in _ELEMENTS else None


@dataclass(frozen=True, slots=True)
class PreludeSpec:
    """What a prelude must hold.

    `calls` are the NCCL data calls that it replaces (none: windows only, as in stage A).
    `types` are the data types that are reduced; empty stands for all of them. `nccl_memory` says
    that the program calls ncclMemAlloc itself, `markers` that evolve markers go around the kernels.
    """

    api: Api
    calls: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    nccl_memory: bool = False
    markers: bool = False


@cache
def template(name: str) -> str:
    """Return a template's text."""
    return (files("warploom.propose.rules") / "templates" / name).read_text(encoding="utf-8")


def render(spec: PreludeSpec) -> str:
    """Return the text of a prelude: includes, then one namespace; ends with a newline."""
    text = "".join(template(name) for name in _fragments(spec))
    for key, value in _values(spec).items():
        text = text.replace(f"@{key}@", value)
    close = f"\n#undef DEVICE_COMM_CUDA\n#undef DEVICE_COMM_NCCL\n\n}}  // namespace {NAMESPACE}\n"
    return includes(spec) + "\n" + text + close


def includes(spec: PreludeSpec) -> str:
    """Return the include lines that the prelude needs."""
    headers = ["cuda_runtime.h", "nccl.h", "nccl_device.h"]
    if spec.api is Api.LSA and spec.calls & MESSAGES:
        headers.append("cuda/atomic")
    headers += [_HALF_HEADERS[t] for _, t in _types(spec) if t in _HALF_HEADERS]
    standard = ["algorithm", "cstdint", "cstdio", "map", "vector"]
    lines = [f"#include <{name}>" for name in headers]
    return "\n".join([*lines, "", *(f"#include <{name}>" for name in standard)]) + "\n"


def _types(spec: PreludeSpec) -> list[tuple[str, str]]:
    if not spec.calls & REDUCTIONS:
        return []
    return [(n, t) for n, t in _ELEMENTS.items() if not spec.types or n in spec.types]


def _fragments(spec: PreludeSpec) -> list[str]:
    reduces, sends = bool(spec.calls & REDUCTIONS), bool(spec.calls & MESSAGES)
    moves = spec.calls - REDUCTIONS - MESSAGES - GROUPS
    names = ["core", *_device_fragments(spec)]
    names += ["host_memory", *(["host_memory_nccl"] if spec.nccl_memory else [])]
    names += ["host_windows", "host_comm"]
    if spec.calls:
        names.append("host_launch")
    if moves:
        names.append("host_exchange")
    if reduces:
        names.append("host_reduction")
    if "ncclBcast" in spec.calls:
        names.append("launch_broadcast")
    # Sorted, so that equal programs give equal texts; a Bcast needs Broadcast before it.
    launches = (f"launch_{call.removeprefix('nccl').lower()}" for call in spec.calls)
    done = set(names)
    names += sorted(name for name in launches if _is_template(name) and name not in done)
    if sends:
        names.append("host_messages")
    elif spec.calls & GROUPS:
        names.append("host_group")
    return [f"{name}.cuh" for name in names]


def _device_fragments(spec: PreludeSpec) -> list[str]:
    """Return the kernels and their launch shapes: what may be changed once it is verified."""
    api = str(spec.api)
    names = ["region_start", f"{api}_exchange", f"{api}_launch_exchange"]
    if spec.calls & REDUCTIONS:
        names += ["reduction", f"{api}_reduction", f"{api}_launch_reduction"]
    if spec.calls & MESSAGES:
        names += ["messages", f"{api}_messages"]
    return [*names, "region_end"]


def _is_template(name: str) -> bool:
    return name.removeprefix("launch_") not in ("send", "recv", "groupstart", "groupend")


def _values(spec: PreludeSpec) -> dict[str, str]:
    is_gin = spec.api is Api.GIN
    return {
        "API": "GIN" if is_gin else "LSA",
        "PROTOCOL": template(f"{spec.api}_protocol.txt").rstrip("\n"),
        "CONSTANTS": template(f"{spec.api}_constants.cuh").rstrip("\n"),
        "HALF_ACCUMULATORS": _half_accumulators(spec),
        "REDUCE_CASES": _reduce_cases(spec),
        "REDUCIBLE_CASES": "\n".join(f"    case {name}:" for name, _ in _types(spec)),
        "MAIL_BYTES": _mail_bytes(spec),
        "REQUIREMENTS": template(f"{spec.api}_requirements.cuh").rstrip("\n"),
        "PRECONDITION": template(f"{spec.api}_precondition.cuh").rstrip("\n"),
        "REGION_START": f"// {START} communication\n" if spec.markers else "",
        "REGION_END": f"// {END}\n" if spec.markers else "",
        "SLOT": _slot(spec),
        "MESSAGE_THREADS": "32" if is_gin else "kThreads",
    }


def _half_accumulators(spec: PreludeSpec) -> str:
    halves = [t for _, t in _types(spec) if t in _HALF_HEADERS]
    return "".join(
        f"template <>\nstruct Accumulator<{t}> {{\n  using type = float;\n}};\n" for t in halves
    )


def _reduce_cases(spec: PreludeSpec) -> str:
    call = "reduceStaged<{}>(wire, r, offset, count)"
    if spec.api is Api.LSA:
        call = "reducePeers<{}>(wire, r, from, to)"
    return "\n".join(
        f"    case {name}:\n      {call.format(t)};\n      break;" for name, t in _types(spec)
    )


def _mail_bytes(spec: PreludeSpec) -> str:
    if spec.api is Api.GIN:
        return "ranks * sizeof(Place)"
    if spec.calls & MESSAGES:
        return "mailboxOf(kBlocks) + ranks * (sizeof(Box) + sizeof(Seen))"
    return "mailboxOf(kBlocks) + 0 * ranks"


def _slot(spec: PreludeSpec) -> str:
    if spec.api is Api.LSA or not spec.calls & REDUCTIONS:
        return "  s.wire.slot = 0;  // no reduction needs staging"
    return (
        "  s.wire.slot = DEVICE_COMM_STAGING_BYTES / s.ranks / 16 * 16;\n"
        "  if (s.wire.slot < 16) s.wire.slot = 16;"
    )
