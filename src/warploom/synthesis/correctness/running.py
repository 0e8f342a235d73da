"""Runs a built candidate on cases in the emulator and takes its outputs apart."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from warploom.core.records import Limits, RunSpec, Timing
from warploom.emulator import RunOptions, Topology
from warploom.synthesis.correctness.expectations import PreparedCase
from warploom.synthesis.correctness.frame import (
    CASES_FILE,
    CaseBuffer,
    CaseImage,
    cases_bytes,
)
from warploom.synthesis.correctness.frame_ranks import WINDOW_GUARD
from warploom.synthesis.records import TensorArg

ITEM_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2,
              "int16": 2}  # fmt: skip
"""Bytes of an element of each type that has more than one."""
_GUARD = 64


class HasData(Protocol):
    """One copy to the host."""

    @property
    def data(self) -> bytes | memoryview:
        """Its bytes."""
        ...


@dataclass(frozen=True)
class LaidCase:
    """A case as it lies in memory: what each buffer holds before, and where its tensor is."""

    case: PreparedCase
    image: CaseImage
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CaseResult:
    """What came back of one case: the bytes of each output, and what else was touched.

    `changed_window`: what lies behind the window of its rank.
    """

    case: PreparedCase
    outputs: tuple[bytes, ...]
    changed_inputs: tuple[int, ...]
    changed_around: tuple[int, ...]
    changed_window: bool = False


def lay_out(case: PreparedCase, input_types: Sequence[str], seed: int, flush: int = 0) -> LaidCase:
    """Decide where the tensors of a case lie and what is around them; `flush`: see CaseImage."""
    words = random.Random(seed)  # noqa: S311 - a repeatable secret
    spans: list[tuple[int, int]] = []
    inputs: list[CaseBuffer] = []
    for at, data in enumerate(case.inputs):
        other = case.plan.alias.get(at)
        if other is not None:
            inputs.append(CaseBuffer(b"", inputs[other].offset, filled=False, shared=other))
            spans.append((0, 0))
            continue
        shift = case.plan.shifts[0] if case.plan.guarded else None
        buffer, span = _placed(data, input_types[at], shift, words, filled=True)
        inputs.append(buffer)
        spans.append(span)
    outputs: list[CaseBuffer] = []
    for expected in case.outputs:
        size = len(expected.native)
        poison = words.randbytes(size)
        shift = case.plan.shifts[1] if case.plan.guarded else None
        buffer, span = _placed(poison, expected.dtype, shift, words, filled=shift is not None)
        outputs.append(buffer)
        spans.append(span)
    return LaidCase(
        case,
        CaseImage(
            case.sizes,
            tuple(inputs),
            tuple(outputs),
            case.plan.guarded,
            flush,
            b"" if case.window is None else words.randbytes(case.window + WINDOW_GUARD),
        ),
        tuple(spans),
    )


def _placed(
    data: bytes, dtype: str, shift: int | None, words: random.Random, *, filled: bool
) -> tuple[CaseBuffer, tuple[int, int]]:
    if shift is None:
        return CaseBuffer(data, 0, len(data), filled), (0, len(data))
    before = _GUARD + shift * ITEM_BYTES.get(dtype, 1)
    image = words.randbytes(before) + data + words.randbytes(_GUARD)
    end = before + len(data)
    return CaseBuffer(image, before, end), (before, end)


def with_other_values(laid: LaidCase, inputs: Sequence[TensorArg]) -> LaidCase:
    """Return a case of the same sizes in the same places whose inputs hold other values.

    Elements are in reverse, and real ones have another sign and another last bit. Indices stay.
    """
    buffers = [
        replace(buffer, image=_others_of(buffer.image, *span, tensor.dtype))
        if buffer.image and not tensor.index_of
        else buffer
        for buffer, span, tensor in zip(laid.image.inputs, laid.spans, inputs, strict=False)
    ]
    return replace(laid, image=replace(laid.image, inputs=tuple(buffers)))


def _others_of(image: bytes, begin: int, end: int, dtype: str) -> bytes:
    size = ITEM_BYTES.get(dtype, 1)
    items = [image[at : at + size] for at in range(begin, end, size)]
    data = b"".join(reversed(items))
    if "float" in dtype:
        mask = int.from_bytes(bytes([1, *[0] * (size - 2), 0x80][-size:]) * len(items), "little")
        data = (int.from_bytes(data, "little") ^ mask).to_bytes(len(data), "little")
    return image[:begin] + data + image[end:]


def write_cases(cases: Sequence[LaidCase], folder: Path) -> None:
    """Write the file that the program reads, or one for each rank."""
    folder.mkdir(exist_ok=True)
    ranks = 1 + max((laid.case.rank for laid in cases), default=0)
    for rank in range(ranks):
        own = [laid.image for laid in cases if laid.case.rank == rank]
        name = CASES_FILE if ranks == 1 else f"cases-{rank}.bin"
        (folder / name).write_bytes(cases_bytes(own))


def options_for(
    folder: Path, seed: int, timing: Timing, seconds: float, machine: Topology | None = None,
    ranks: int = 1,
) -> RunOptions:  # fmt: skip
    """Return how to run the cases of `folder` once."""
    return RunOptions(
        run=RunSpec(seed, timing), ranks=ranks, folder=folder, machine=machine,
        limits=Limits(seconds=seconds, memory_mb=4096, output_mb=4),
    )  # fmt: skip


class HasReadbacks(Protocol):
    """A run, in the emulator or on a GPU, that read back what the frame reads back."""

    @property
    def readbacks(self) -> Sequence[HasData]:
        """The copies to the host, in order."""
        ...


def results_of(run: HasReadbacks, cases: Sequence[LaidCase]) -> list[CaseResult] | None:
    """Return what came back of each case; None where it is not what the frame reads back."""
    found: list[CaseResult] = []
    ranks = {laid.case.rank for laid in cases}
    taken_by = {rank: iter([r for r in run.readbacks if _rank_of(r) == rank]) for rank in ranks}
    for laid in cases:
        taken = taken_by[laid.case.rank]
        buffers = (*laid.image.inputs, *laid.image.outputs)
        count = len(laid.image.inputs)
        outputs: list[bytes] = []
        changed: list[int] = []
        around: list[int] = []
        for at, (buffer, (begin, end)) in enumerate(zip(buffers, laid.spans, strict=True)):
            if buffer.shared >= 0:
                continue
            got = b""
            if buffer.image:
                readback = next(taken, None)
                if readback is None or len(readback.data) != len(buffer.image):
                    return None
                got = bytes(readback.data)
            if at < count:
                if got != buffer.image:
                    changed.append(at)
                continue
            outputs.append(got[begin:end])
            if got[:begin] != buffer.image[:begin] or got[end:] != buffer.image[end:]:
                around.append(at - count)
        behind = False
        if laid.image.window:
            guard = next(taken, None)
            if guard is None or len(guard.data) != WINDOW_GUARD:
                return None
            behind = bytes(guard.data) != laid.image.window[-WINDOW_GUARD:]
        found.append(CaseResult(laid.case, tuple(outputs), tuple(changed), tuple(around), behind))
    return found if all(next(taken, None) is None for taken in taken_by.values()) else None


def _rank_of(readback: HasData) -> int:
    return getattr(readback, "rank", 0)
