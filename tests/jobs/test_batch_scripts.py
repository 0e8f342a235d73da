"""What stands before the work in a batch script: a plain bash runs it, no Slurm is needed."""

import subprocess
from pathlib import Path

import pytest

from warploom.jobs import JobConfig
from warploom.jobs.batch import parameters


def outcome(
    folder: Path, *vouched: str, given: dict[str, str] | None = None, **slurm: object
) -> "subprocess.CompletedProcess[str]":
    """Run a job's set-up lines, and then what stands for the work: it fails, and goes on."""
    config = JobConfig.model_validate({"engine": "slurm", "slurm": slurm, "environment": vouched})
    script = folder / "job.sh"
    lines = [*parameters(config, folder, "name")["setup"], "false", 'echo "work $GIVEN"', "env"]
    script.write_text("\n".join(lines) + "\n")
    return subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", **(given or {})}, cwd=folder,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("slurm", "failed"),
    [
        ({"modules": ["gcc/13"]}, "module load gcc/13"),
        ({"conda": "warp"}, "conda activate warp"),
        ({"setup": ["source nowhere.sh", "true"]}, "source nowhere.sh"),
    ],
)
def test_a_set_up_line_that_fails_ends_the_job(
    tmp_path: Path, slurm: dict[str, object], failed: str
) -> None:
    done = outcome(tmp_path, **slurm)
    assert done.returncode == 1
    assert "work" not in done.stdout
    assert f"a line of jobs.slurm's set-up failed: {failed}" in done.stderr


def test_what_a_sourced_file_does_on_its_way_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("false\n[ -n '' ] && echo no\nexport GIVEN=well\n")
    lines = ["source profile", "if false; then", "exit 9", "fi", "false || true"]
    done = outcome(tmp_path, setup=lines)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "work well"), done.stderr


def test_keys_of_a_login_profile_are_dropped(tmp_path: Path) -> None:
    given = {
        "MY_API_KEY": "1",
        "github_token": "2",
        "SLURM_JWT": "3",
        "VOUCHED_KEY": "4",
        "OF": "5",
    }
    done = outcome(tmp_path, "VOUCHED_KEY", given=given)
    left = {name for name, _, _ in (line.partition("=") for line in done.stdout.splitlines())}
    assert left & set(given) == {"VOUCHED_KEY", "OF"}
    assert done.stderr == ""
