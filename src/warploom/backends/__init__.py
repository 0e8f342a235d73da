"""What runs programs: one protocol, for the emulator, GPUs and whatever comes next."""

from importlib import import_module
from types import MappingProxyType
from typing import cast

from warploom.backends.protocol import (
    MEASURED,
    MODELLED,
    NO_TIME,
    OWN_NETWORK,
    Backend,
    Built,
    Interval,
    LaunchForm,
    Machine,
    Order,
    Readback,
    Run,
)
from warploom.core.errors import BadInputError

EMULATOR, CUDA = "emulator", "cuda"
BACKENDS = MappingProxyType(
    {
        EMULATOR: "warploom.backends.emulated:EmulatorBackend",
        CUDA: "warploom.backends.cuda:CudaBackend",
    }
)
"""The backends by name, and where each is: imported when it is asked for."""

__all__ = [
    "BACKENDS",
    "CUDA",
    "EMULATOR",
    "MEASURED",
    "MODELLED",
    "NO_TIME",
    "OWN_NETWORK",
    "Backend",
    "Built",
    "Interval",
    "LaunchForm",
    "Machine",
    "Order",
    "Readback",
    "Run",
    "find_backend",
]


def find_backend(which: Backend | str) -> Backend:
    """Return the backend of that name, or the one that is given.

    Raises:
        BadInputError: there is no such backend.
    """
    if not isinstance(which, str):
        return which
    if which not in BACKENDS:
        known = " or ".join(BACKENDS)
        raise BadInputError(f"the backend must be {known}, got {which!r}")
    module, name = BACKENDS[which].split(":")
    return cast("Backend", getattr(import_module(module), name)())
