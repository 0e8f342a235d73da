"""The scripts of examples/python: each runs by itself and says what its table promises."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "examples" / "python"
SAID = {
    "check_program.py": ("verdict: defect", "line 5: data_race", "cure: "),
    "custom_proposer.py": ("verified: True", "// Made by examples/python/custom_proposer.py"),
    "custom_topology.py": ("h200-8: ", "slow-host: ", "(modelled)"),
    "custom_workload.py": ("right: passed", "wrong: failed", "wrong_result"),
    "read_report.py": ("exit code 0, verdict ok", "lazy/0: finished"),
}


def test_every_script_is_listed_and_tried() -> None:
    scripts = {path.name for path in SCRIPTS.glob("*.py")}
    listed = (SCRIPTS / "README.md").read_text()
    assert scripts == set(SAID)
    assert all(f"| `{name}` |" in listed for name in scripts)


@pytest.mark.parametrize("name", SAID)
def test_a_script_runs(name: str) -> None:
    command = [sys.executable, SCRIPTS / name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for words in SAID[name]:
        assert words in done.stdout


def test_a_slow_host_takes_longer() -> None:
    command = [sys.executable, SCRIPTS / "custom_topology.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    usual, slow = (float(line.split()[1]) for line in done.stdout.splitlines())
    assert slow > usual
