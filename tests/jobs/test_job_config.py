"""The groups of `jobs`, and mistakes in its keys."""

import pytest

from warploom.evolve.compose import ConfigError, compose


def test_each_group_is_an_engine() -> None:
    for name in ("inline", "local", "slurm", "ray"):
        assert compose([f"jobs={name}"]).jobs.engine == name
    assert compose(["jobs=slurm_conda", "jobs.slurm.conda=warp"]).jobs.slurm.conda == "warp"
    docker = compose(["jobs=slurm_docker", "jobs.slurm.image=warp:1"]).jobs
    assert (docker.engine, docker.slurm.container, docker.slurm.image) == (
        "slurm", "docker", "warp:1",
    )  # fmt: skip
    assert compose(["jobs.engine=slurm"]).jobs.engine == "slurm"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("jobs=slurm_docker", "jobs.slurm.image: .*must name the container's image"),
        ("jobs=pbs", "jobs must be one of default, inline, local, ray, slurm"),
        ("jobs.engine=pbs", "jobs.engine: must be 'auto', 'inline', 'local', 'slurm' or 'ray'"),
        ("jobs.slurm.modules=['a b']", "jobs.slurm.modules: each must be the name of a module"),
        ('jobs.slurm.setup=["a\\nb"]', "jobs.slurm.setup: each must be one line"),
        (
            "jobs.slurm.parameters.array=1-3",
            "jobs.slurm.parameters: must leave --array to warploom",
        ),
        ("jobs.slurm.parameters.export=ALL", "must leave --export .*: jobs.environment names"),
        ("jobs.slurm.parameters.job_name=x", "must leave --job-name to warploom"),
        ("jobs.slurm.partion=x", "there is no key jobs.slurm.partion"),
    ],
)
def test_mistakes_are_told(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose([override])
