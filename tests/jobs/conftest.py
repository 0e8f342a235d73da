"""Real services for the tests of engines."""

from warploom.testing.fixtures import postgres_server, ray_head, slurm_cluster, slurm_service

__all__ = ["postgres_server", "ray_head", "slurm_cluster", "slurm_service"]
