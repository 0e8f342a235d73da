"""What a run read back from its devices: the bytes, and where each came from."""

import hashlib
import mmap
import os
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from warploom.emulator.running.report import RawReadback, Report
from warploom.emulator.running.run_records import Arrived, Readback, Taken, Version
from warploom.emulator.running.symbolize import Symbolizer

_LARGE_PART = 16 << 20  # bytes of one read-back


class _Contents:
    """The bytes of a file; large parts are views of it, which cost no memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file.fileno()
        self._size = os.fstat(self._file).st_size
        self._view: memoryview | None = None

    def part(self, offset: int, size: int) -> bytes | memoryview | None:
        """Return `size` bytes from `offset` on; None where the file has no such bytes."""
        if offset + size > self._size:
            return None
        if size < _LARGE_PART:
            return self._read(offset, size)
        if self._view is None:
            self._view = memoryview(mmap.mmap(self._file, 0, prot=mmap.PROT_READ))
        return self._view[offset : offset + size]

    def _read(self, offset: int, size: int) -> bytes | None:
        # One read may give less than was asked for: see read(2).
        parts: list[bytes] = []
        while size:
            part = os.pread(self._file, size, offset)
            if not part:
                return None
            parts.append(part)
            size -= len(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def readbacks_of(report: Report, symbols: Symbolizer, data: BinaryIO) -> tuple[Readback, ...]:
    """Return what was read back, rank by rank; a report that lacks bytes loses its state."""
    found: list[Readback] = []
    contents = _Contents(data)
    counts: Counter[int] = Counter()
    for raw in sorted(report.readbacks, key=_order_of):
        place = symbols.locate(raw.frames)
        content = contents.part(raw.offset, raw.size)
        if content is None:
            report.state = None
            report.problem = f"rank {raw.rank} announced a read-back whose bytes are missing"
            break
        if raw.at and found:
            _add_version(found, raw, content)
            continue
        file, line = (place.file, place.line) if place else (None, None)
        taken = None
        places = _places(raw.frames, symbols)
        readers = (places,)
        if raw.shared:
            taken = Taken(raw.name, places, raw.place[:2], raw.chunk, raw.reading)
            readers = tuple(_places(frames, symbols) for frames in raw.takers)
        found.append(
            Readback(
                raw.rank,
                counts[raw.rank],
                content,
                raw.device_offset,
                file,
                line,
                taken,
                readers,
                unread=raw.number in report.unread,
                arrived=Arrived(raw.call, raw.elements, raw.source) if raw.call else None,
            )
        )
        counts[raw.rank] += 1
    return tuple(found)


def _places(frames: Sequence[int], symbols: Symbolizer) -> tuple[tuple[str, int], ...]:
    return tuple((at.file, at.line) for at in symbols.places(frames))


def _add_version(found: list[Readback], raw: RawReadback, content: bytes | memoryview) -> None:
    """Enter what lay at earlier moments where the last of the read-backs came from."""
    size = len(found[-1].data)
    version = Version(raw.at, content[:size], content[size:]) if content else Version(raw.at)
    found[-1] = replace(found[-1], versions=(*found[-1].versions, version))


def _order_of(raw: RawReadback) -> tuple[object, ...]:
    return raw.rank, raw.shared, *raw.place, raw.name, raw.chunk, raw.reading


def check_digest(report: Report, data: BinaryIO, key: str) -> None:
    """Refuse a report whose read-backs are not the bytes that the runtime wrote."""
    if report.state is None or any(raw.lost for raw in report.readbacks):
        return
    left = max((raw.offset + raw.size for raw in report.readbacks), default=0)
    digest = hashlib.blake2b(key=key.encode(), digest_size=32)
    data.seek(0)
    while left and (part := data.read(min(left, _LARGE_PART))):
        digest.update(part)
        left -= len(part)
    if not secrets.compare_digest(digest.hexdigest(), report.read_back_digest):
        report.state = None
        report.problem = "the bytes read back are not those that the runtime wrote"
