"""Fixtures of the search's tests."""

from pathlib import Path

import pytest
from evolve_bench import Bench

from warploom.testing.fixtures import postgres_server, slurm_cluster, slurm_service

__all__ = ["bench", "postgres_server", "slurm_cluster", "slurm_service"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    program = tmp_path / "levers.cu"
    program.write_text("int main() { return 0; }\n")
    return Bench(tmp_path, program)
