"""Whether a candidate can launch its kernels at sizes at which no case could run them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from warploom.core.records import Finding, Severity
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions
from warploom.synthesis.correctness.frame import LAUNCH_FILE
from warploom.synthesis.correctness.running import LaidCase, write_cases

_FAILED = {3: "warploom_forward returns an error", 4: "a kernel fails", 5: "a launch fails"}
"""What the program's exit codes say of its launches."""


def launch_findings(
    program: EmulatorBuild,
    options: RunOptions,
    cases: Sequence[LaidCase],
    run: Callable[[EmulatorBuild, RunOptions], EmulatorRun | None],
) -> list[Finding]:
    """Return what fails where each case is launched, and no kernel runs."""
    if options.folder is None:
        raise ValueError("the cases must lie in a folder, but there is none")
    found: list[Finding] = []
    for laid in cases:
        folder = options.folder.with_name(laid.case.plan.name)
        write_cases([laid], folder)
        (folder / LAUNCH_FILE).touch()
        one = run(program, replace(options, race=False, folder=folder))
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
