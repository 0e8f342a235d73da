"""Reads what `warploom check --json` prints, as a script in any language would."""

import json
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "gemm_allgather"


def main() -> None:
    """Check an example in a process of its own and print what its report says."""
    command = [
        sys.executable,
        "-m",
        "warploom.cli",
        "check",
        EXAMPLE,
        "--effort",
        "quick",
        "--json",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    report = json.loads(done.stdout)
    if "error" in report:  # bad input, or something is missing here: exit codes 2 and 3
        sys.exit(f"{report['error']['message']} ({report['error']['hint']})")
    print(f"exit code {done.returncode}, verdict {report['verdict']}, NCCL {report['nccl']}")
    for run in report["runs"]:
        print(f"{run['timing']}/{run['seed']}: {run['state']}, {run['seconds']:.1f} s")
    for finding in report["findings"]:
        print(f"{finding['severity']} {finding['kind']} at {finding['file']}:{finding['line']}")


if __name__ == "__main__":
    main()
