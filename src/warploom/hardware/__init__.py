"""Runs programs on real GPUs: build with nvcc, launch, read-backs, times, compute-sanitizer."""

from warploom.core.records import Interval
from warploom.hardware.build import HardwareBuild, build_executable
from warploom.hardware.network import timings, wants_network
from warploom.hardware.noted import Readback
from warploom.hardware.run import (
    HardwareOptions,
    HardwareRun,
    run_hardware,
    run_tools,
)
from warploom.hardware.sanitizer import TOOLS, SanitizerReport
from warploom.hardware.setup import Setup, connect, find_setup

__all__ = [
    "TOOLS",
    "HardwareBuild",
    "HardwareOptions",
    "HardwareRun",
    "Interval",
    "Readback",
    "SanitizerReport",
    "Setup",
    "build_executable",
    "connect",
    "find_setup",
    "run_hardware",
    "run_tools",
    "timings",
    "wants_network",
]
