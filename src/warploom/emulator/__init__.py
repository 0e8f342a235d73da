"""The CPU emulator of CUDA, NCCL and MPI: build a program for it, run it, read what it found."""

from warploom.emulator.building.build import build
from warploom.emulator.building.build_records import EmulatorBuild
from warploom.emulator.building.diagnostics import ApiUse, NotEmulatedError
from warploom.emulator.building.runtime_build import is_emulator_built
from warploom.emulator.running.run import run, run_many
from warploom.emulator.running.run_records import (
    CHUNK_BYTES,
    FAILURE_KINDS,
    MAX_RANKS,
    Arrived,
    EmulatorRun,
    FreshRead,
    Readback,
    RunOptions,
    StaleRead,
    Taken,
    UnsupportedUse,
    Version,
    WayTaken,
)
from warploom.emulator.running.spoil import Spoil, Stops
from warploom.emulator.running.timeline import Region, Timeline
from warploom.emulator.running.topology import Topology, find_topology, topology_names

__all__ = [
    "CHUNK_BYTES",
    "FAILURE_KINDS",
    "MAX_RANKS",
    "ApiUse",
    "Arrived",
    "EmulatorBuild",
    "EmulatorRun",
    "FreshRead",
    "NotEmulatedError",
    "Readback",
    "Region",
    "RunOptions",
    "Spoil",
    "StaleRead",
    "Stops",
    "Taken",
    "Timeline",
    "Topology",
    "UnsupportedUse",
    "Version",
    "WayTaken",
    "build",
    "find_topology",
    "is_emulator_built",
    "run",
    "run_many",
    "topology_names",
]
