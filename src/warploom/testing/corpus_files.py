"""Reads corpus programs: what to run, which defects they hold, and where each must be found.

A corpus program is a `.cu` file that is correct as it stands, and that macros `DEFECT_<NAME>`
break in one way each. Comments at its head and before the lines in question say what to expect:

    // CORPUS run=2,4,4/2 nccl=2.28.9
    // DEFECT LOW_THRESHOLD missing_wait: waits for one arrival less than there are senders
    // DEFECT ALL_LSA peer_not_in_lsa_team|window_range run=4/2: takes every peer for a member
    ...
        // EXPECT LOW_THRESHOLD
        out[i] = in[i];

`run` lists ranks, or ranks/LSA size. The correct program runs with every one of them, a defect
with its own `run`, or else the first of the program's. `EXPECT` names the defects that the next
line of code is allowed to show: the statement that is wrong, or the other half of a race.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError

DEFAULT_NCCL = "2.32.3"

_CORPUS = re.compile(r"^// CORPUS\s+(.*)$")
_DEFECT = re.compile(r"^// DEFECT\s+([A-Z0-9_]+)\s+([a-z0-9_|]+)((?:\s+\w+=\S+)*):\s+(\S.*)$")
_EXPECT = re.compile(r"^\s*// EXPECT\s+([A-Z0-9_ ]+)$")
_MACRO = re.compile(r"\bDEFECT_([A-Z0-9_]+)\b")
_RUN = re.compile(r"^(\d+)(?:/(\d+))?$")


@dataclass(frozen=True, slots=True)
class Setting:
    """How a program is run; `lsa_size` None means that all ranks share memory."""

    ranks: int
    lsa_size: int | None = None
    nccl: str = DEFAULT_NCCL


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to run: a correct program (`defect` is empty), or one of its defects.

    A defect must be found as one of `kinds` at one of `lines`.
    """

    program: Path
    setting: Setting
    defect: str = ""
    kinds: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    why: str = ""

    @property
    def name(self) -> str:
        """A name that is unique in the corpus, such as `gin_ring:NO_CREDIT@4/2`."""
        setting = self.setting
        place = f"{setting.ranks}" + (f"/{setting.lsa_size}" if setting.lsa_size else "")
        version = "" if setting.nccl == DEFAULT_NCCL else f"+{setting.nccl}"
        defect = f":{self.defect}" if self.defect else ""
        return f"{self.program.stem}{defect}@{place}{version}"

    @property
    def defines(self) -> dict[str, str]:
        """The macros that plant the defect."""
        return {f"DEFECT_{self.defect}": "1"} if self.defect else {}


def read_corpus(folder: Path) -> tuple[Entry, ...]:
    """Return the entries of every `.cu` file in `folder`, by file name.

    Raises:
        BadInputError: there is none, or a file breaks the rules of the comments.
    """
    programs = sorted(folder.glob("*.cu"))
    if not programs:
        raise BadInputError("holds no corpus programs (*.cu)", file=str(folder))
    return tuple(entry for program in programs for entry in read_program(program))


def read_program(program: Path) -> tuple[Entry, ...]:
    """Return the entries of one program: the correct ones first, then its defects in order.

    Raises:
        BadInputError: a comment cannot be read, a defect has no expected line or no macro, or a
            line is expected of a defect that is not listed.
    """
    lines = program.read_text(encoding="utf-8").splitlines()
    settings = [s for i, line in enumerate(lines, 1) for s in _settings(program, i, line)]
    if not settings:
        raise BadInputError("has no '// CORPUS run=...' line", file=str(program))
    expected = _expected_lines(program, lines)
    defects = list(_defects(program, lines, settings[0], expected))
    _check_names(program, lines, expected, {entry.defect for entry in defects})
    return (*(Entry(program, setting) for setting in settings), *defects)


def _settings(program: Path, number: int, line: str) -> list[Setting]:
    match = _CORPUS.match(line)
    return _parse_settings(program, number, match[1], Setting(0)) if match else []


def _parse_settings(program: Path, number: int, text: str, base: Setting) -> list[Setting]:
    """Turn `run=2,4/2 nccl=2.30.7` into settings; what is not named is as in `base`."""
    fields = dict(part.split("=", 1) for part in text.split() if "=" in part)
    unknown = set(fields) - {"run", "nccl"}
    if unknown:
        raise BadInputError(f"unknown key {min(unknown)!r}", file=str(program), line=number)
    nccl = fields.get("nccl", base.nccl)
    if "run" not in fields:
        if base.ranks == 0:
            raise BadInputError("must say run=", file=str(program), line=number)
        return [Setting(base.ranks, base.lsa_size, nccl)]
    settings: list[Setting] = []
    for place in fields["run"].split(","):
        match = _RUN.match(place)
        if not match:
            raise BadInputError(
                f"run must list ranks or ranks/lsa_size, got {place!r}",
                file=str(program),
                line=number,
            )
        settings.append(Setting(int(match[1]), int(match[2]) if match[2] else None, nccl))
    return settings


def _expected_lines(program: Path, lines: list[str]) -> dict[str, list[int]]:
    """Return the numbers of the lines that follow EXPECT comments, by defect."""
    expected: dict[str, list[int]] = {}
    pending: list[str] = []
    for number, line in enumerate(lines, 1):
        match = _EXPECT.match(line)
        if match:
            pending += match[1].split()
        elif pending and line.lstrip().startswith("#"):
            raise BadInputError(
                "EXPECT must stand right before code, not before a directive",
                file=str(program),
                line=number,
            )
        else:
            for name in pending:
                expected.setdefault(name, []).append(number)
            pending = []
    return expected


def _defects(
    program: Path, lines: list[str], first: Setting, expected: dict[str, list[int]]
) -> Iterable[Entry]:
    for number, line in enumerate(lines, 1):
        if not line.startswith("// DEFECT "):
            continue
        match = _DEFECT.match(line)
        if not match:
            raise BadInputError(
                "must read '// DEFECT NAME kind[|kind] [run=...]: why'",
                file=str(program),
                line=number,
            )
        name, kinds, keys, why = match.groups()
        if name not in expected:
            raise BadInputError(
                f"no line is marked 'EXPECT {name}'", file=str(program), line=number
            )
        for setting in _parse_settings(program, number, keys, first):
            yield Entry(program, setting, name, tuple(kinds.split("|")), tuple(expected[name]), why)


def _check_names(
    program: Path, lines: list[str], expected: dict[str, list[int]], listed: set[str]
) -> None:
    """Every name must be listed in a DEFECT comment and switch something by its macro."""
    code = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    switched = set(_MACRO.findall(code))
    for name, reason in (
        *((name, "is expected, but not listed as a DEFECT") for name in set(expected) - listed),
        *((name, "is switched on, but not listed as a DEFECT") for name in switched - listed),
        *((name, "is listed, but no code depends on its macro") for name in listed - switched),
    ):
        raise BadInputError(f"{name} {reason}", file=str(program))
