"""Assembles the device and host code that a transformed program carries, from templates.

The templates are fragments of CUDA text in `templates/`. A prelude holds only what the program's
calls need: a type, kernel or launcher that nothing uses is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent
from types import MappingProxyType

from warploom.core.records import Api
from warploom.propose.rules.fragments import template
from warploom.propose.rules.premul_scales import scale_values
from warploom.source.regions import END, START

# Not `warploom`: that is the emulator's, and closed to candidates.
NAMESPACE = "device_comm"

SHARED_HEADER = "device_comm.cuh"
"""The file of the prelude where several files of a program need it."""

REDUCTIONS = frozenset({"ncclAllReduce", "ncclReduceScatter", "ncclReduce"})
MESSAGES = frozenset({"ncclSend", "ncclRecv"})
CAPTURES = ("cudaStreamBeginCapture", "cudaStreamBeginCaptureToGraph")
"""Calls behind which communications go into a graph."""

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

CREATIONS = MappingProxyType(
    {
        "ncclCommInitRank": "commInitRank",
        "ncclCommInitRankConfig": "commInitRankConfig",
        "ncclCommInitRankScalable": "commInitRankScalable",
        "ncclCommInitAll": "commInitAll",
        "ncclCommSplit": "commSplit",
    }
)
"""NCCL call that makes a communicator -> what takes its place, with the same arguments."""

MEMORY = MappingProxyType(
    {
        "nccl": ("ncclMemAlloc", "ncclMemFree"),
        "async": ("cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaFreeAsync"),
        "managed": ("cudaMallocManaged",),
    }
)
"""Further allocators of windows, and the calls that each has."""

_CREATION_TEMPLATES = MappingProxyType(
    {
        "ncclCommInitRank": "comm_init_rank",
        "ncclCommInitRankConfig": "comm_init_rank_config",
        "ncclCommInitRankScalable": "comm_init_rank_scalable",
        "ncclCommInitAll": "comm_init_all",
        "ncclCommSplit": "comm_split",
    }
)

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


def element_of(name: str) -> str:
    """Return the C++ type of a data type, which has NCCL's newest spelling."""
    return _ELEMENTS[name]


@dataclass(frozen=True, slots=True)
class PreludeSpec:
    """What a prelude must hold.

    `calls` are the NCCL data calls that it replaces (none: windows only, as in stage A).
    `types` are the data types that are reduced; empty stands for all of them. `memory` names the
    allocators in `MEMORY` that the program uses, `markers` says that evolve markers go around the
    kernels, `one_stream` that all communication is on one stream. `creations` are the calls by
    which the program makes communicators, `many_devices` says that a process has several devices,
    `threads` that it has several threads. `shared` says that several files include it, as a header,
    `captures` that communications may be captured into graphs, `scales` that the program makes
    operators by `ncclRedOpCreatePreMulSum`.
    """

    api: Api
    calls: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    memory: frozenset[str] = frozenset()
    markers: bool = False
    one_stream: bool = False
    creations: frozenset[str] = frozenset()
    many_devices: bool = False
    threads: bool = False
    shared: bool = False
    captures: bool = False
    scales: bool = False


def render(spec: PreludeSpec) -> str:
    """Return the text of a prelude: includes, then one namespace; ends with a newline."""
    text = "".join(template(name) for name in _fragments(spec))
    for key, value in _values(spec).items():
        text = text.replace(f"@{key}@", value)
    if spec.shared:  # nvcc warns of inline kernels
        text = text.replace("\n__global__ void ", "\nstatic __global__ void ")
    close = f"\n#undef DEVICE_COMM_CUDA\n#undef DEVICE_COMM_NCCL\n\n}}  // namespace {NAMESPACE}\n"
    once = "#pragma once\n\n" if spec.shared else ""
    return once + includes(spec) + "\n" + text + close


def includes(spec: PreludeSpec) -> str:
    """Return the include lines that the prelude needs."""
    headers = ["cuda_runtime.h", "nccl.h", "nccl_device.h"]
    if spec.api is Api.LSA and spec.calls & MESSAGES:
        headers.append("cuda/atomic")
    headers += [_HALF_HEADERS[t] for _, t in _types(spec) if t in _HALF_HEADERS]
    mutex = ["mutex"] if spec.threads else []
    text = ["cstring"] if spec.scales else []
    standard = ["algorithm", "cstdint", "cstdio", *text, "list", "map", *mutex, "vector"]
    return include_lines(headers, standard)


def include_lines(headers: Iterable[str], standard: Iterable[str]) -> str:
    """Return lines that include CUDA's and NCCL's headers, then the standard library's."""
    lines = [f"#include <{name}>" for name in headers]
    return "\n".join([*lines, "", *(f"#include <{name}>" for name in standard)]) + "\n"


def requirements(api: Api, *, signals: str, barriers: str) -> str:
    """Return the lines that say what a device communicator must have: GIN's signals or barriers."""
    lines = template(f"{api}_requirements.cuh").rstrip("\n")
    return lines.replace("@SIGNALS@", signals).replace("@BARRIERS@", barriers)


def _types(spec: PreludeSpec) -> list[tuple[str, str]]:
    if not spec.calls & REDUCTIONS:
        return []
    return [(n, t) for n, t in _ELEMENTS.items() if not spec.types or n in spec.types]


def _fragments(spec: PreludeSpec) -> list[str]:
    reduces, sends = bool(spec.calls & REDUCTIONS), bool(spec.calls & MESSAGES)
    names = ["core", *_device_fragments(spec)]
    names += ["host_memory", *(f"host_memory_{kind}" for kind in sorted(spec.memory))]
    names += ["host_windows", "host_comm"]
    if spec.calls:
        names.append("host_launch")
    if _batches(spec):
        names.append("host_exchange")
    if reduces:
        names.append("host_reduction")
    if spec.scales:
        names.append("host_scale")
    if "ncclBcast" in spec.calls:
        names.append("launch_broadcast")
    # Sorted, so that equal programs give equal texts; a Bcast needs Broadcast before it.
    launches = (f"launch_{call.removeprefix('nccl').lower()}" for call in spec.calls)
    done = set(names)
    names += sorted(name for name in launches if _is_template(name) and name not in done)
    if sends:
        names.append("host_messages")
    if _batches(spec):  # what is no reduction can be launched together
        names.append("host_group")
    return [f"{name}.cuh" for name in names]


def _device_fragments(spec: PreludeSpec) -> list[str]:
    """Return the kernels and their launch shapes: what may be changed once it is verified."""
    api = str(spec.api)
    names = ["region_start", f"{api}_tuning", f"{api}_exchange", f"{api}_launch_exchange"]
    if spec.calls & REDUCTIONS:
        own = ["gin_scale"] if spec.scales and spec.api is Api.GIN else []
        names += ["reduction", *own, f"{api}_reduction", f"{api}_launch_reduction"]
    if spec.calls & MESSAGES:
        names += ["messages", f"{api}_messages"]
    return [*names, "region_end"]


def _batches(spec: PreludeSpec) -> bool:
    """Tell whether calls of the program are gathered until their group ends."""
    return bool(spec.calls - REDUCTIONS)


def _is_template(name: str) -> bool:
    return name.removeprefix("launch_") not in ("send", "recv", "groupstart", "groupend")


def _values(spec: PreludeSpec) -> dict[str, str]:
    is_gin = spec.api is Api.GIN
    return _session_values(spec) | {
        "API": "GIN" if is_gin else "LSA",
        "PROTOCOL": template(f"{spec.api}_protocol.txt").rstrip("\n"),
        "CONSTANTS": template(f"{spec.api}_constants.cuh").rstrip("\n"),
        "HALF_ACCUMULATORS": _half_accumulators(spec),
        "REDUCE_CASES": _reduce_cases(spec),
        "REDUCIBLE_CASES": "\n".join(f"    case {name}:" for name, _ in _types(spec)),
        "MAIL_BYTES": _mail_bytes(spec),
        "REQUIREMENTS": requirements(spec.api, signals="3 * s.ranks", barriers="kMaxBlocks"),
        "PRECONDITION": template(f"{spec.api}_precondition.cuh").rstrip("\n"),
        "REGION_START": f"// {START} communication\n" if spec.markers else "",
        "REGION_END": f"// {END}\n" if spec.markers else "",
        "SLOT": _slot(spec),
        "LAZY": "1" if spec.one_stream else "0",
        "PARTS": "" if is_gin else template("lsa_parts.cuh"),
        "AHEAD": template("gin_ahead.cuh") if is_gin else "",
        "EXPECTED": template("gin_expected.cuh") if is_gin else "",
        "EXPECT": template("gin_expect.cuh").rstrip("\n") if is_gin else "",
        "LOOK_AHEAD": "  DEVICE_COMM_NCCL(lookAhead(work));\n" if is_gin else "",
        "MESSAGE_THREADS": "32" if is_gin else "kThreads",
        **_plan_values(spec),
        **scale_values(spec.api, scales=spec.scales),  # the last: texts above name these
    }


def _plan_values(spec: PreludeSpec) -> dict[str, str]:
    """Return where a kernel finds the messages of its group: each replay of a graph reads them."""
    written = template("messages_plan.cuh")
    if not spec.captures:
        return {
            "PLAN": "", "WRITE_PLAN": written, "PLAN_NAME": "s.plan", "PLANS": "", "FREE_PLANS": "",
        }  # fmt: skip
    either = template("messages_plan_or_kept.cuh")
    return {
        "PLAN": template("messages_kept_plan.cuh"),
        "WRITE_PLAN": either.replace("@WRITE_PLAN@", indent(written, "  ")),
        "PLAN_NAME": "where",
        "PLANS": "  std::vector<void*> plans;  // of captured groups\n",
        "FREE_PLANS": "  for (void* plan : s.plans) DEVICE_COMM_CUDA(cudaFreeHost(plan));\n",
    }


def _session_values(spec: PreludeSpec) -> dict[str, str]:
    """Return what depends on how many communicators, devices and threads a process has.

    These stand first: what they bring may have names of other values in it.
    """
    sends, many = bool(spec.calls & MESSAGES), spec.many_devices
    made = sorted(_CREATION_TEMPLATES[call] for call in spec.creations)
    state = ["  Batch batch;\n"] if _batches(spec) else []
    state += ["  Group group;\n"] if sends else []
    state += ["  std::vector<Scale> scales;\n"] if spec.scales else []
    is_lsa = spec.api is Api.LSA
    leave = "  DEVICE_COMM_NCCL(leaveTogether(s));\n" if many else template("lsa_leave.cuh")
    return {
        "BATCH": template("host_batch.cuh") if _batches(spec) else "",
        "PENDING": (template("host_pending.cuh") if sends else "")
        + (template("scale_state.cuh") if spec.scales else ""),
        "STATE": "".join(state),
        "CREATIONS": "".join(template(f"{name}.cuh") for name in made),
        "LEAVE_STEPS": template("lsa_leave_together.cuh") if is_lsa and many else "",
        "LEAVE": leave if is_lsa else "",
        "LAUNCH_KEPT": template("launch_kept.cuh") if sends else "  return launchBatch();\n",
        "MUTEX": "  std::mutex mutex;\n" if spec.threads else "",
        "LOCK": "  std::lock_guard<std::mutex> lock(state().mutex);\n" if spec.threads else "",
        "THREAD": "thread_local " if spec.threads else "",
        "ON_DEVICE_CLASS": template("host_on_device.cuh") if many else "",
        "ON_DEVICE": "  OnDevice on(s.device);\n" if many else "",
        "ON_SESSION": "  OnDevice on(session().device);\n" if many else "",
        "ON_STAR": "    OnDevice on(s->device);\n" if many else "",
        "ON_BLOCK": "  OnDevice on(device);\n" if many else "",
        "PRELOAD": _preload(spec) if many else "",
    }


def _preload(spec: PreludeSpec) -> str:
    """Return what loads the kernels ahead of their first launch."""
    kernels = ["exchangeKernel", "publishList"]
    kernels += ["reduceKernel"] if spec.calls & REDUCTIONS else []
    kernels += ["messageKernel"] if spec.calls & MESSAGES else []
    lines = "".join(
        f"  DEVICE_COMM_CUDA(cudaFuncSetCacheConfig({name}, cudaFuncCachePreferNone));\n"
        for name in kernels
    )
    why = "  // Loads the kernels: a first launch later could wait for one that waits for it.\n"
    return why + lines


def _half_accumulators(spec: PreludeSpec) -> str:
    halves = [t for _, t in _types(spec) if t in _HALF_HEADERS]
    return "".join(
        f"template <>\nstruct Accumulator<{t}> {{\n  using type = float;\n}};\n" for t in halves
    )


def _reduce_cases(spec: PreludeSpec) -> str:
    call = "reduceStaged<{}>(wire, r, offset, count)"
    if spec.api is Api.LSA:
        call = "reducePeers<{}>(wire, r, from, to@BITS@)"
    return "\n".join(
        f"    case {name}:\n      {call.format(t)};\n      break;" for name, t in _types(spec)
    )


def _mail_bytes(spec: PreludeSpec) -> str:
    sends = bool(spec.calls & MESSAGES)
    if spec.api is Api.GIN:
        return "boxOf(ranks, ranks)" if sends else "mailboxOf(ranks, 0)"
    if sends:
        return "mailboxOf(kMaxBlocks, 0) + ranks * kMaxParts * (sizeof(Box) + sizeof(Seen))"
    return "mailboxOf(kMaxBlocks, 0) + 0 * ranks"


def _slot(spec: PreludeSpec) -> str:
    if spec.api is Api.LSA or not spec.calls & REDUCTIONS:
        return "  s.wire.slot = 0;  // no reduction needs staging"
    return (
        "  s.wire.slot = DEVICE_COMM_STAGING_BYTES / s.ranks / 16 * 16;\n"
        "  if (s.wire.slot < 16) s.wire.slot = 16;"
    )
