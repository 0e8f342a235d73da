"""Keeps every program that was judged: schema, migrations, queries, selection, archive."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warploom.store.config import DatabaseConfig
    from warploom.store.database import ProgramDatabase
    from warploom.store.records import Event, StoredProgram

__all__ = ["DatabaseConfig", "Event", "ProgramDatabase", "StoredProgram"]

_HOMES = {
    "DatabaseConfig": "config",
    "Event": "records",
    "ProgramDatabase": "database",
    "StoredProgram": "records",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
