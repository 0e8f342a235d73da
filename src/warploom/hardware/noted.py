"""What the library that stands before a program on GPUs has noted: read-backs and intervals."""

import re
from dataclasses import dataclass
from pathlib import Path

from warploom.core.records import Interval
from warploom.hardware.build import HardwareBuild
from warploom.hardware.places import places_of

_NOTED = re.compile(
    r"R \d{1,18}(?: \d{1,18}){5}"
    r"|T \d{1,18}(?: \d{1,18}){3} \d{1,18}(?:\.\d{1,18})?(?:e[+-]\d{1,3})?"
)


@dataclass(frozen=True, slots=True)
class Readback:
    """One device-to-host copy: `data` as it was when the copy was over; line from 1.

    `seq` grows within a rank, thread by thread in the order of their calls.
    """

    rank: int
    seq: int
    data: bytes
    file: str | None
    line: int | None
    taken: None = None  # what hosts read in place, nobody sees on hardware
    readers: tuple[()] = ()  # only the copy itself is known
    arrived: None = None  # nor what MPI brings


def plain_files(folder: Path, pattern: str) -> list[Path]:
    """Return files that the program left: no links, pipes or folders, which it could plant."""
    return sorted(p for p in folder.glob(pattern) if p.is_file() and not p.is_symlink())


def read_log(
    folder: Path, build: HardwareBuild
) -> tuple[tuple[Readback, ...], tuple[Interval, ...]]:
    """Read what our library wrote. A torn last line, of a program that was ended, is left out."""
    data = {path.stem: path for path in plain_files(folder, "*.data")}
    lines = [
        (data[index.stem], text.split())
        for index in plain_files(folder, "*.index")
        if index.stem in data
        for text in index.read_text(errors="replace").splitlines()
        if _NOTED.fullmatch(text)
    ]
    # A thread's in the order of its calls, whatever other threads did meanwhile.
    lines.sort(key=lambda line: tuple(int(line[1][at]) for at in (3, 1, 2)))
    places = places_of(build, (int(words[4]) for _, words in lines))
    readbacks: list[Readback] = []
    intervals: list[Interval] = []
    for path, words in lines:
        rank, frame = int(words[3]), int(words[4])
        place = places.get(frame)
        where = (place.file, place.line) if place else (None, None)
        if words[0] == "T":
            intervals.append(Interval(rank, len(intervals), float(words[5]), *where))
        else:
            with path.open("rb") as file:
                file.seek(int(words[5]))
                content = file.read(int(words[6]))
                readbacks.append(Readback(rank, len(readbacks), content, *where))
    return tuple(readbacks), tuple(intervals)
