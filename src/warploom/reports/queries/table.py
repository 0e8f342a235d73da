"""The table of a run's programs as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import fields

from warploom.reports.queries.clean import clean
from warploom.reports.queries.programs import ProgramRow

_RISKY = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(rows: Iterable[ProgramRow]) -> Iterator[str]:
    """Yield a line of names, then one per program.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    names = [one.name for one in fields(ProgramRow)]
    yield _line(names)
    for row in rows:
        yield _line([_cell(getattr(row, name)) for name in names])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | list):
        return str(value)
    parts: list[str] = [value] if isinstance(value, str) else [str(one) for one in value]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    text = clean("; ".join(parts))
    return f"'{text}" if text.startswith(_RISKY) else text


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
