"""Pytest fixtures of real services: skipped where they are not installed, with the reason shown.

With `WARPLOOM_REQUIRE_SERVICES=1` it is an error where PostgreSQL or Slurm is not there: CI
installs both.
"""

import os
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import TypeVar

import pytest

from warploom.testing.services import (
    Postgres,
    RayCluster,
    ServiceError,
    Slurm,
    postgres,
    ray_cluster,
    slurm,
)

T = TypeVar("T")


def _given(service: AbstractContextManager[T], *, always: bool = True) -> Generator[T]:
    try:
        found = service.__enter__()
    except ServiceError as error:
        if always and os.environ.get("WARPLOOM_REQUIRE_SERVICES"):
            raise
        pytest.skip(str(error))
    try:
        yield found
    finally:
        service.__exit__(None, None, None)


@pytest.fixture(scope="session")
def postgres_server() -> Generator[Postgres]:
    """A PostgreSQL server."""
    yield from _given(postgres())


@pytest.fixture(scope="session")
def slurm_service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Slurm]:
    """A Slurm cluster of three nodes with two fake GPUs each."""
    yield from _given(slurm(tmp_path_factory.mktemp("slurm"), 3))


@pytest.fixture
def slurm_cluster(slurm_service: Slurm) -> Slurm:
    """The same, with nothing to do, whatever the test before did to it."""
    slurm_service.make_idle()
    return slurm_service


@pytest.fixture(scope="session")
def ray_head() -> Generator[RayCluster]:
    """A Ray cluster of one node."""
    yield from _given(ray_cluster(3), always=False)
