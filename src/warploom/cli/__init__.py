"""The command line: argument parsing, printing and exit codes; all work is done below.

Exit codes: 0 done and good; 1 done, and the program or run is not good; 2 wrong usage or bad
input; 3 something needed is missing or not supported here; 130 interrupted.
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `arguments` default to the process's."""
    from warploom.cli.run import run_cli

    return run_cli(list(sys.argv[1:] if arguments is None else arguments))
