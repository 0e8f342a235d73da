"""The typed design space: what a device-initiated form of a collective leaves open to choose.

One **directive** fixes one dimension: backend, placement, sync scope, issuer or chunk size. The
space of a program lists, per collective, every value of every dimension, whether it can be chosen
there, and why or why not; a proposer (or a coding agent) picks from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from warploom.core.records import Api, Json, to_json
from warploom.source import AnalysisReport
from warploom.source.records import Collective


class Dimension(StrEnum):
    """What a directive decides."""

    BACKEND = "backend"
    PLACEMENT = "placement"
    SYNC_SCOPE = "sync_scope"
    ISSUER = "issuer"
    CHUNK_SIZE = "chunk_size"


class Placement(StrEnum):
    """Where the communication runs: in a kernel of its own, on a stream of its own, or fused."""

    OWN_KERNEL = "own_kernel"
    OWN_STREAM = "own_stream"
    PRODUCER = "producer"
    CONSUMER = "consumer"


class SyncScope(StrEnum):
    """What a rank waits for before it reads what arrived."""

    WORLD_BARRIER = "world_barrier"
    PEER_SIGNAL = "peer_signal"
    CHUNK_SIGNAL = "chunk_signal"


class Issuer(StrEnum):
    """Which group of threads issues one transfer."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


CHUNK_FRACTIONS = (1, 2, 4, 8, 16)
"""Into how many chunks a message may be cut; more only adds latency (docs/transform.md)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a dimension; `reason` says what it means there, or why it is not allowed."""

    value: str
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class CollectiveSpace:
    """What is open for one collective call; `choices` maps each dimension to its values."""

    name: str
    file: str
    line: int
    choices: dict[Dimension, tuple[Choice, ...]]

    def allowed(self, dimension: Dimension) -> tuple[str, ...]:
        """Return the values that can be chosen."""
        return tuple(choice.value for choice in self.choices[dimension] if choice.allowed)


@dataclass(frozen=True, slots=True)
class DesignSpace:
    """The design space of a program, on `ranks` ranks of which `lsa_size` share memory."""

    ranks: int
    lsa_size: int
    nccl: str
    collectives: tuple[CollectiveSpace, ...]

    def to_json(self) -> Json:
        """Return the space as plain JSON values."""
        return to_json(self)


def design_space(
    reports: Sequence[AnalysisReport],
    *,
    ranks: int,
    lsa_size: int | None,
    nccl: str,
    apis: Sequence[Api] = tuple(Api),
) -> DesignSpace:
    """Return what is open for each host collective of a program.

    Args:
        reports: analyses of the program and of its further sources.
        ranks: how many ranks there are.
        lsa_size: how many of them share memory; None: all.
        nccl: NCCL version whose rules hold, such as "2.30.7".
        apis: what the workload allows.
    """
    team = ranks if lsa_size is None else lsa_size
    spaces = tuple(
        CollectiveSpace(
            call.name,
            call.file,
            call.line,
            {
                Dimension.BACKEND: _backends(ranks, team, nccl, apis),
                Dimension.PLACEMENT: _placements(call),
                Dimension.SYNC_SCOPE: _sync_scopes(nccl),
                Dimension.ISSUER: _issuers(),
                Dimension.CHUNK_SIZE: _chunks(call),
            },
        )
        for report in reports
        for call in report.collectives
    )
    return DesignSpace(ranks, team, nccl, spaces)


def _version(nccl: str) -> tuple[int, ...]:
    return tuple(int(part) for part in nccl.split("."))


def _backends(ranks: int, team: int, nccl: str, apis: Sequence[Api]) -> tuple[Choice, ...]:
    if _version(nccl) < (2, 28):
        why = f"the device API begins with NCCL 2.28, and the rules are those of {nccl}"
        return tuple(Choice(api, False, why) for api in Api)
    gin = Choice(Api.GIN, True, "puts through the network; reaches every rank")
    lsa = Choice(Api.LSA, True, f"loads and stores; all {ranks} ranks share memory")
    if team < ranks:
        lsa = Choice(Api.LSA, False, f"only {team} of {ranks} ranks share memory")
    forbidden = "the workload does not allow it"
    return tuple(
        choice if Api(choice.value) in apis else Choice(choice.value, False, forbidden)
        for choice in (gin, lsa)
    )


def _placements(call: Collective) -> tuple[Choice, ...]:
    return (
        Choice(Placement.OWN_KERNEL, True, "between its producers and consumers, on their stream"),
        Choice(
            Placement.OWN_STREAM, True, "beside independent compute; events order it with the rest"
        ),
        _fused(Placement.PRODUCER, "sends what a kernel has just made", call.producers),
        _fused(Placement.CONSUMER, "waits in the kernel that uses the data", call.consumers),
    )


def _fused(placement: Placement, what: str, names: tuple[str, ...]) -> Choice:
    kernels = [name for name in names if not name.startswith(("cuda", "nccl"))]
    if kernels:
        return Choice(placement, True, f"{what}: {', '.join(kernels)}")
    return Choice(placement, False, f"no kernel is the {placement} of this call's data")


def _sync_scopes(nccl: str) -> tuple[Choice, ...]:
    strength = (
        "a weak signal settles its own put, a strong one all its channel's earlier puts"
        if _version(nccl) >= (2, 30)
        else "a signal settles all earlier puts to its peer in the context"
    )
    return (
        Choice(SyncScope.WORLD_BARRIER, True, "everything has arrived everywhere; simplest"),
        Choice(SyncScope.PEER_SIGNAL, True, f"what one peer sent has arrived; {strength}"),
        Choice(SyncScope.CHUNK_SIGNAL, True, "compute starts with the first chunk; needs chunks"),
    )


def _issuers() -> tuple[Choice, ...]:
    return (
        Choice(Issuer.THREAD, True, "lowest latency for a GIN put; slow for LSA copies"),
        Choice(Issuer.WARP, True, "one peer or chunk for each warp"),
        Choice(Issuer.BLOCK, True, "most bandwidth for an LSA copy; peers or chunks over blocks"),
    )


def _chunks(call: Collective) -> tuple[Choice, ...]:
    return tuple(_chunk(call.count or "unknown", parts) for parts in CHUNK_FRACTIONS)


def _chunk(count: str, parts: int) -> Choice:
    if parts == 1:
        return Choice("1", True, f"the whole message of {count} elements")
    value = f"1/{parts}"
    if count.isdecimal() and int(count) % parts:
        return Choice(value, False, f"{count} elements are no multiple of {parts}")
    return Choice(value, True, f"{parts} chunks; ({count}) must be a multiple of {parts}")
