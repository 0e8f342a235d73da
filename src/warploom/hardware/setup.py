"""Finds what runs on real GPUs need: the GPUs, NCCL, MPI, a launcher, a network."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core.errors import MissingToolError, UnsupportedError
from warploom.hardware.handed import Node
from warploom.hardware.launcher import Launcher, look_at_nodes
from warploom.hardware.network import build_network, has_card, serves
from warploom.toolchain.gpu import Gpu, one_kind, require_gpus
from warploom.toolchain.mpi import Mpi, find_mpi
from warploom.toolchain.nccl import NcclHeaders, get_nccl, nccl_library, version_key

_MANY_RANKS = (2, 30)  # the first NCCL that lets ranks share a GPU


@dataclass(frozen=True, slots=True)
class Setup:
    """What a real run needs, all found: `shared` says that ranks share GPUs.

    `network` is our plugin, where the program wants a network and the machine has no card for it.
    `launcher` starts the ranks on the machines `nodes`; without it all are on this one.
    """

    gpus: tuple[Gpu, ...]
    nccl: NcclHeaders
    mpi: Mpi | None
    ranks: int
    shared: bool
    network: Path | None = None
    launcher: Launcher | None = None
    nodes: tuple[Node, ...] = ()

    @property
    def arch(self) -> str:
        """The architecture to build for."""
        return self.gpus[0].arch


def find_setup(
    ranks: int,
    processes: str,
    *,
    uses_mpi: bool,
    wants_network: bool = False,
    nccl: str | None,
    launcher: Sequence[str] = (),
    node_size: int | None = None,
) -> Setup:
    """Find all that a run of `ranks` ranks needs.

    Args:
        ranks: number of ranks.
        processes: "per_rank", or "single" where one process drives all devices.
        uses_mpi: whether the program calls MPI.
        wants_network: whether it uses GIN or NCCL's one-sided calls.
        nccl: NCCL version, or None for the newest whose library is here.
        launcher: the words that start ranks on several machines, or none.
        node_size: how many ranks a machine has then; None: all.

    Raises:
        MissingToolError: GPUs, NCCL's library or MPI are missing, or the GPUs are too few.
        UnsupportedError: the program starts its ranks in a way that we cannot.
    """
    if launcher and processes == "single":
        raise UnsupportedError(
            f"{launcher[0]} starts one process per rank, but the program drives all from one",
            hint="judge it on one machine: leave launcher out of the workload",
        )
    if processes == "per_rank" and not uses_mpi:
        raise UnsupportedError(
            "a program of one process per rank must use MPI to be launched on GPUs, but it does "
            "not (it takes NCCL's unique id from a file)",
            hint="check it in the emulator, which starts such ranks: leave out --backend cuda",
        )
    mpi = find_mpi() if launcher else None
    starts = Launcher(tuple(launcher), node_size or ranks, mpi.kind == "hydra") if mpi else None
    nodes = look_at_nodes(starts, ranks) if starts else ()
    gpus = one_kind([gpu for node in nodes for gpu in node.gpus]) if nodes else require_gpus()
    headers = get_nccl(nccl)
    nccl_library(headers)
    fits = min(len(node.gpus) for node in nodes) * len(nodes) if nodes else len(gpus)
    shared = ranks > fits
    if shared and processes == "single":
        raise MissingToolError(
            f"{ranks} ranks in one process need as many GPUs, but here are {fits}",
            hint=f"--ranks {fits}",
        )
    if shared and version_key(headers.version)[:2] < _MANY_RANKS:
        raise MissingToolError(
            f"{ranks} ranks need as many GPUs, but here are {fits}, and NCCL "
            f"{headers.version} cannot put several ranks on one GPU",
            hint=f"--ranks {fits}, or install NCCL 2.30 or newer",
        )
    mpi = mpi or (find_mpi() if uses_mpi else None)
    setup = Setup(gpus, headers, mpi, ranks, shared, launcher=starts, nodes=nodes)
    return connect(setup, wants_network=wants_network)


def connect(setup: Setup, *, wants_network: bool) -> Setup:
    """Return `setup` with our network if a program wants one and needs ours, else without.

    Raises:
        MissingToolError: the network must be built and there is no C++ compiler; or the ranks are
            on several machines, which only cards connect.
    """
    if setup.nodes and wants_network and not all(node.card for node in setup.nodes):
        names = ", ".join(node.name for node in setup.nodes if not node.card)
        raise MissingToolError(
            f"GIN between machines needs a network card in each, but there is none in {names}",
            hint="warploom's own network is for the ranks of one machine",
        )
    own = wants_network and not setup.nodes and not has_card() and serves(setup.nccl.version)
    return replace(setup, network=build_network() if own else None)
