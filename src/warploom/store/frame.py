"""A run's programs as a table for notebooks."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from warploom.core.errors import MissingToolError
from warploom.store.records import StoredProgram
from warploom.store.rows import row_of

_LEFT_OUT = ("run_id", "embedding")


def frame_of(programs: Iterable[StoredProgram], history_of: Callable[[int], Any]) -> Any:
    """Return one row for each program, in the order in which they were recorded.

    The columns are those of the table, with `migrations`; public metrics are columns of their own,
    named `public_NAME`. `embedding` is an array of shape (d,).

    Raises:
        MissingToolError: pandas is not installed.
    """
    try:
        pandas: Any = import_module("pandas")
    except ModuleNotFoundError:
        raise MissingToolError(
            "load_df needs pandas, which is not installed",
            hint="pip install 'warploom[plots]'",
        ) from None
    rows: list[dict[str, Any]] = []
    for program in programs:
        columns = row_of(0, program)
        row = {name: value for name, value in columns.items() if name not in _LEFT_OUT}
        row["code"], row["diff"], row["embedding"] = program.code, program.diff, program.embedding
        row["migrations"] = history_of(program.number)
        row |= {f"public_{name}": value for name, value in program.outcome.public.items()}
        rows.append(row)
    return pandas.DataFrame(rows)
