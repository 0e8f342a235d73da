"""How long the reference takes on a GPU, in eager mode and in torch.compile's modes."""

import fcntl
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from warploom.synthesis.reference.failures import ReferenceFailedError, first_line
from warploom.synthesis.reference.torch_module import is_tensor, torch

MODES = ("eager", "default", "reduce-overhead", "max-autotune-no-cudagraphs")
"""Eager mode, and the modes of torch.compile."""
_WARM = 3
_FILLS = 64  # as in the program around a candidate (correctness/frame.py)


def gpu() -> dict[str, Any]:
    """Return what GPU PyTorch sees here; an empty name: none."""
    return {"name": torch.cuda.get_device_name() if torch.cuda.is_available() else ""}


@contextmanager
def alone(lock: str) -> Generator[None]:
    """Hold the lock of a file, where one is named: others who want to use the GPU hold it too."""
    if not lock:
        yield
        return
    with Path(lock).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def placed(device: str, inputs: Sequence[Any]) -> Generator[list[Any]]:
    """Yield inputs on a device where what is made meanwhile lies too; it is free afterward."""
    if device == "cpu":
        yield list(inputs)
        return
    with torch.device(device):
        yield _moved(inputs, device)
    torch.cuda.empty_cache()


class Timer:
    """Times one reference; what torch.compile made is kept for the next turn."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._made: dict[str, Callable[..., Any]] = {}
        self._device: Callable[[], AbstractContextManager[Any]] = nullcontext

    def turn(self, calls: Sequence[Sequence[Any]], flush: int, moved: int) -> list[dict[str, Any]]:
        """Return the times of each mode, call by call, each with values of its own.

        `flush` bytes are written again and again before a call, so that it is queued before the GPU
        comes to it. Last are the times of copies that read and write `moved` bytes in all.

        Raises:
            ReferenceFailedError: eager mode fails on the GPU.
        """
        dirt = torch.empty(flush, dtype=torch.uint8, device="cuda")
        calls = [_moved(call, "cuda") for call in calls]
        found: list[dict[str, Any]] = []
        for mode in MODES:
            try:
                found.append({"mode": mode, "milliseconds": self._mode(mode, calls, dirt)})
            except Exception as error:
                if mode == "eager":
                    raise ReferenceFailedError(
                        f"the reference fails on the GPU: {first_line(error)}"
                    ) from error
        # A mode that cannot compile the reference is no baseline.
        copies = [_copied(moved // 2, dirt) for _ in calls]
        return [*found, {"mode": "copy", "milliseconds": copies}]

    def _mode(self, mode: str, calls: Sequence[Sequence[Any]], dirt: Any) -> list[float]:
        if mode not in self._made:
            self._make(mode, _copies(calls[0]))
        function = self._made[mode]
        times: list[float] = []
        for call in calls:
            inputs = _copies(call)
            with torch.no_grad(), self._device():
                times.append(timed(lambda made=function, given=inputs: made(*given), dirt))
        return times

    def _make(self, mode: str, inputs: list[Any]) -> None:
        """Compile the reference, and call it until it is warm."""
        made = self._function
        if mode != "eager":
            made = torch.compile(self._function, mode=mode)
        elif self._makes_tensors_on_the_host(inputs):
            self._device = lambda: torch.device("cuda")
        with torch.no_grad(), self._device():
            for _ in range(_WARM):
                made(*inputs)
        self._made[mode] = made

    def _makes_tensors_on_the_host(self, inputs: list[Any]) -> bool:
        """Whether the reference makes tensors of its own, which PyTorch puts on the host."""
        try:
            with torch.no_grad():
                self._function(*inputs)
        except RuntimeError:
            return True
        return False


def _moved(call: Sequence[Any], device: str) -> list[Any]:
    return [value.to(device) if is_tensor(value) else value for value in call]


def _copies(call: Sequence[Any]) -> list[Any]:
    return [value.clone() if is_tensor(value) else value for value in call]


def _copied(size: int, dirt: Any) -> float:
    source = torch.ones(max(size, 1), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return timed(lambda: target.copy_(source), dirt)


def timed(call: Callable[[], Any], dirt: Any) -> float:
    """Return the milliseconds of a call on the GPU, which writes `dirt` until it is queued."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    for value in range(_FILLS):
        dirt.fill_(value)
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end))
