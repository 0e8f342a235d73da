"""The network that stands in where a machine has no card for NCCL's GIN: its build, its timings."""

import re
from pathlib import Path

from warploom.core.ids import digest
from warploom.core.process import run_tool
from warploom.core.records import BuildSpec, Limits
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.nccl import version_key
from warploom.toolchain.nvcc import user_contents

_SOURCES = Path(__file__).with_name("network")
_CARDS = Path("/sys/class/infiniband")
_GIN = re.compile(rb"\bnccl(?:Gin|BarrierSession|PutSignal|WaitSignal)|\bgin\w*Count\b")
_OLDEST = (2, 30, 5)  # the first NCCL with the plugin interface that ours has
EAGER = "eager"
"""Everything leaves at once, in order."""


def wants_network(spec: BuildSpec) -> bool:
    """Return whether a program uses what NCCL carries over a network: GIN, or one-sided calls."""
    return any(_GIN.search(text) for text in user_contents(spec).values())


def has_card() -> bool:
    """Return whether this machine has a network card that NCCL's GIN may be able to use."""
    return _CARDS.is_dir() and any(_CARDS.iterdir())


def serves(nccl: str) -> bool:
    """Return whether NCCL of this version takes our network: 2.30.5 or newer."""
    return version_key(nccl) >= _OLDEST


def timings(runs: int) -> tuple[str, ...]:
    """Return the network's timing of each of several runs.

    One alone is random, the most telling; of more, the first is eager, the second holds every
    operation back (lazy), the others hold each back for a time of its own.
    """
    if runs == 1:
        return ("random:1",)
    return (EAGER, "lazy", *(f"random:{seed}" for seed in range(1, runs - 1)))


def build_network() -> Path:
    """Build the plugin that NCCL loads; cached.

    Raises:
        MissingToolError: there is no C++ compiler.
    """
    compiler = find_compiler()
    sources = sorted(_SOURCES.glob("*.cpp"))
    texts = [path.read_bytes() for path in sorted(_SOURCES.iterdir())]

    def make(folder: Path) -> None:
        command = [*compiler.command, "-std=c++20", "-O2", "-fPIC", "-shared"]
        command += ["-fvisibility=hidden", *map(str, sources), "-o", str(folder / "network.so")]
        run_tool([*command, "-ldl", "-lpthread"], limits=Limits(seconds=120.0))

    folder, _ = cached_folder("hardware-network", digest([compiler.identity, *texts]), make)
    return folder / "network.so"
