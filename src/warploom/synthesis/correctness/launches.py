"""Whether a candidate can launch its kernels at sizes at which no case could run them."""

from collections.abc import Sequence
from dataclasses import replace

from warploom.core.records import Finding, Severity
from warploom.emulator import EmulatorBuild
from warploom.synthesis.correctness.every_way import Run, Shown
from warploom.synthesis.correctness.frame import LAUNCH_FILE
from warploom.synthesis.correctness.running import LaidCase, write_cases

_FAILED = {3: "warploom_forward returns an error", 4: "a kernel fails", 5: "a launch fails"}
"""What the program's exit codes say of its launches."""


def launch_findings(
    program: EmulatorBuild, first: Shown, cases: Sequence[LaidCase], run: Run
) -> list[Finding]:
    """Return what fails where each case is launched, as `first` ran, and no kernel runs."""
    found: list[Finding] = []
    for laid in cases:
        folder = first.folder.with_name(laid.case.plan.name)
        write_cases([laid], folder)
        (folder / LAUNCH_FILE).touch()
        one = run(program, replace(first.options, race=False, folder=folder))
        code = one.exit_codes.get(0, 0) if one is not None else 0
        if code in _FAILED:
            sizes = ", ".join(f"{name}={size}" for name, size in laid.case.plan.symbols.items())
            found.append(
                Finding(
                    "wrong_result", Severity.ERROR, f"at {sizes} {_FAILED[code]}",
                    "a grid has at most 65,535 blocks in y and in z: bound them by min(..., 65535) "
                    "and let each take several turns",
                )
            )  # fmt: skip
    return found
