"""Writes the runtime's names of the kinds of finding: `python -m warploom.testing.finding_kinds`.

A kind that the list lacks, or a misspelled one, does not compile there.
"""

from pathlib import Path

from warploom.core.finding_kinds import KINDS
from warploom.emulator.building.runtime_build import RUNTIME_DIR

HEADER = RUNTIME_DIR / "report" / "finding_kinds.h"


def header_text() -> str:
    """Return the text of the header."""
    names = "".join(f'inline constexpr char {name}[] = "{name}";\n' for name in sorted(KINDS))
    return (
        "// Written by python -m warploom.testing.finding_kinds: edit core/finding_kinds.txt.\n"
        "#pragma once\n\n"
        f"namespace warploom::kinds {{\n\n{names}\n}}  // namespace warploom::kinds\n"
    )


def write(header: Path = HEADER) -> None:
    """Bring the header up to date."""
    header.write_text(header_text())


if __name__ == "__main__":
    write()
