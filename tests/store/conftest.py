"""A PostgreSQL server, where there is one."""

from warploom.testing.fixtures import postgres_server

__all__ = ["postgres_server"]
