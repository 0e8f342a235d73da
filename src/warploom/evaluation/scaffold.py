"""Writes a workload file for a program, from what its text shows."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.evaluation.sites import Site
from warploom.evaluation.survey import survey
from warploom.workload.dtypes import dtype_of
from warploom.workload.paths import WORKLOAD_FILE, require_file
from warploom.workload.workload import Workload

_SETTABLE = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n"
    r"[ \t]*#[ \t]*define[ \t]+\1[ \t]+(-?[\w.]+)[ \t]*(?:\n|//|/\*)",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"\bargv\s*\[\s*1\s*\]")
_TIMER = re.compile(r"\b(?:cudaEventElapsedTime|MPI_Wtime)\b")


def scaffold(program: Path) -> str:
    """Return the text of a workload file for a program that lies beside it.

    Its outputs are what the program reads back, with the types of the host's side; its macros are
    those that the program lets the compiler's command line set.

    Raises:
        SourceError: there is no such file, no CUDA in it, or no `main`.
    """
    path = require_file(program)
    facts = survey(Workload.from_program(path))
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    lines = [
        f"# Made by `warploom init {path.name}`. docs/workloads.md has all keys.",
        f"program = {_quoted(path.name)}",
        "ranks = 4",
        *_arguments(text),
        *_timed(text),
        *_macros(text),
        *_outputs(facts.sites),
    ]
    return "\n".join(lines) + "\n"


def write_scaffold(program: Path) -> Path:
    """Write the workload file of a program beside it; returns its path.

    Raises:
        BadInputError: there is one already, or it cannot be written.
        SourceError: as `scaffold`.
    """
    file = program.parent / WORKLOAD_FILE
    if file.exists():
        raise BadInputError(
            "must not exist yet", file=str(file), hint=f"warploom check {program.parent} takes it"
        )
    text = scaffold(program)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    return file


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is one of TOML


def _arguments(text: str) -> Iterator[str]:
    if _ARGUMENT.search(text):
        yield 'args = ["{seed}"]  # it reads argv[1]: where that is no seed, say what it is'
    else:
        yield "# It takes no argument, so its inputs are always the same: let it draw them from"
        yield '# a seed, and add: args = ["{seed}"]'


def _timed(text: str) -> Iterator[str]:
    if _TIMER.search(text):
        yield "# scored_region = 1  # score what the program times itself, and not the whole run"


def _macros(text: str) -> Iterator[str]:
    found = dict(_SETTABLE.findall(text))
    if not found:
        return
    yield from ("", "[defines]  # small sizes make a verification quick")
    yield from (f"# {name} = {_value(value)}" for name, value in found.items())


def _value(value: str) -> str:
    return value if re.fullmatch(r"-?\d+(?:\.\d+)?", value) else _quoted(value)


def _outputs(sites: Sequence[Site]) -> Iterator[str]:
    copies = {site.buffer: site for site in sites if not (site.shared or site.mpi)}
    if not copies:
        yield from (
            "",
            "# It copies nothing back: memory that the host sees is compared at the end.",
        )
    for buffer, site in copies.items():
        where = f"  # read back in line {site.first}"
        yield from ("", "[[outputs]]", f"buffer = {_quoted(buffer)}{where}")
        dtype = dtype_of(site.dtype).name
        note = "  # its type was not found: without a tolerance" if dtype == "bytes" else ""
        yield f"dtype = {_quoted(dtype)}{note}"
