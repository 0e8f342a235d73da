"""How long the reference takes on a GPU, in eager mode and in torch.compile's modes."""

from collections.abc import Callable, Sequence
from typing import Any

from warploom.synthesize.reference.failures import ReferenceFailedError, first_line
from warploom.synthesize.reference.torch_module import is_tensor, torch

MODES = ("eager", "default", "reduce-overhead", "max-autotune-no-cudagraphs")
"""Eager mode, and the modes of torch.compile."""
_WARM = 3
_COPIED = 1 << 28
_COPIES = 10


def gpu() -> dict[str, Any]:
    """Return what GPU PyTorch sees here, and how many bytes it copies in a nanosecond."""
    if not torch.cuda.is_available():
        return {"name": "", "copy_gbs": 0.0}
    source = torch.empty(_COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = [_timed(lambda: target.copy_(source)) for _ in range(_COPIES)][2:]
    rate = 2 * _COPIED / (sorted(times)[len(times) // 2] * 1e6)
    return {"name": torch.cuda.get_device_name(), "copy_gbs": rate}


class Timer:
    """Times one reference; what torch.compile made is kept for the next turn."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._made: dict[str, Callable[..., Any]] = {}

    def turn(self, calls: Sequence[Sequence[Any]], flush: int) -> list[dict[str, Any]]:
        """Return the times of each mode, call by call, each with values of its own.

        Raises:
            ReferenceFailedError: eager mode fails on the GPU.
        """
        found: list[dict[str, Any]] = []
        for mode in MODES:
            try:
                found.append({"mode": mode, "milliseconds": self._mode(mode, calls, flush)})
            except Exception as error:
                if mode == "eager":
                    raise ReferenceFailedError(
                        f"the reference fails on the GPU: {first_line(error)}"
                    ) from error
        return found  # a mode that cannot compile the reference is no baseline

    def _mode(self, mode: str, calls: Sequence[Sequence[Any]], flush: int) -> list[float]:
        if mode not in self._made:
            made = self._function
            if mode != "eager":
                made = torch.compile(self._function, mode=mode)
            self._made[mode] = made
            with torch.no_grad():
                for _ in range(_WARM):
                    made(*_on_gpu(calls[0]))
        function = self._made[mode]
        times: list[float] = []
        for call in calls:
            inputs = _on_gpu(call)
            torch.empty(flush, dtype=torch.uint8, device="cuda").fill_(1)
            with torch.no_grad():
                times.append(_timed(lambda made=function, given=inputs: made(*given)))
        return times


def _on_gpu(call: Sequence[Any]) -> list[Any]:
    return [value.to("cuda") if is_tensor(value) else value for value in call]


def _timed(call: Callable[[], Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end))
