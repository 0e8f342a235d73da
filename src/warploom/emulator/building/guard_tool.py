"""`warploom-guard`: reads what the compiler wrote before the assembler does; joins the passes."""

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from warploom.core.errors import ToolFailedError
from warploom.core.ids import digest
from warploom.emulator.building.device_calls import allowed_symbols
from warploom.emulator.building.runtime_build import (
    COMPILE_LIMITS,
    folder_digest,
    run_compiler,
)
from warploom.emulator.metering.arithmetic_prices import library_prices
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import Compiler, compiler_environment
from warploom.toolchain.sandbox import run_sandboxed

GUARD_DIR = Path(__file__).parents[1] / "guard"
"""The sources of the guard."""

_FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")


class Refusal(TypedDict):
    """Something that the assembler must not read, as the guard reports it."""

    kind: str
    reason: str
    file: str
    line: int
    text: str
    function: str


@dataclass(frozen=True, slots=True)
class GuardedUnit:
    """What the guard made of one unit: files to assemble, and what it says of it.

    `report` is the text of its report; `refused` are the things in it that end the build.
    """

    assembly: tuple[Path, ...]
    report: str
    refused: tuple[Refusal, ...]

    @property
    def names(self) -> frozenset[str]:
        """What its text takes from elsewhere: functions and variables that it does not define."""
        passes = json.loads(self.report)["passes"]
        return frozenset(use["symbol"] for one in passes.values() for use in one["uses"])


def guard_identity(compiler: Compiler) -> str:
    """Return what the guard's output depends on besides its input."""
    lists = [allowed_symbols(), library_prices()]
    return digest([compiler.identity, folder_digest(GUARD_DIR), *lists])


def build_guard(compiler: Compiler, *, strict: bool = False) -> Path:
    """Return the path of `warploom-guard`, building it where it is not cached.

    Raises:
        ToolFailedError: it does not compile.
    """
    flags = (*_FLAGS, *(("-Werror",) if strict else ()))

    def make(folder: Path) -> None:
        sources = sorted(GUARD_DIR.glob("*.cpp"))
        result = run_compiler(
            compiler,
            [*flags, f"-I{GUARD_DIR}", *sources, "-o", "warploom-guard"],
            folder,
        )
        if not result.ok:
            raise ToolFailedError(
                f"the emulator's guard must compile, but:\n{result.log[-6000:]}",
                hint=f"this compiler is {compiler.identity}; name another one in WARPLOOM_CXX",
            )
        (folder / "allowed.txt").write_text(allowed_symbols())
        (folder / "prices.txt").write_text(library_prices())

    key = digest([guard_identity(compiler), *flags])
    return cached_folder("guard", key, make)[0] / "warploom-guard"


def guard_unit(
    guard: Path,
    unit: str,
    host: Path,
    device: Path | None,
    shims: Path,
    cancel: threading.Event | None = None,
    *,
    counted: bool = False,
    whole: bool = False,
) -> GuardedUnit:
    """Run the guard on the assembly of one unit; what it writes lies beside its input.

    Args:
        guard: the tool.
        unit: a name that no other unit of the program has.
        host: the host pass.
        device: the device pass, where the unit has one.
        shims: the folder of our headers.
        cancel: ends it early.
        counted: each block of code adds what it computes to the runtime's counter.
        whole: at full price, since the text does not tell all of it.

    Raises:
        ToolFailedError: the guard itself failed.
    """
    report = host.with_suffix(".json")
    out = [host.with_suffix(".guarded.s")]
    arguments: list[str | Path] = ["--host", host, "--out-host", out[0]]
    if device is not None:
        out.append(device.with_suffix(".guarded.s"))
        arguments += ["--device", device, "--out-device", out[1]]
        arguments += ["--allowed", guard.with_name("allowed.txt")]
    if counted:
        arguments += ["--prices", guard.with_name("prices.txt"), "--whole", "1" if whole else "0"]
    arguments += ["--shims", shims, "--unit", unit, "--report", report]
    result = run_sandboxed(  # it reads what a stranger wrote
        [guard, *arguments],
        limits=COMPILE_LIMITS,
        readable=[guard.parent],
        folder=host.parent,
        environment=compiler_environment(),
        cancel=cancel,
    ).process
    if result.exit_code not in (0, 1) or not report.exists():
        raise ToolFailedError(f"the emulator's guard must read what the compiler writes, but:\n"
                              f"{result.log[-4000:]}")  # fmt: skip
    text = report.read_text()
    refused = cast("list[Refusal]", json.loads(text)["refused"])
    return GuardedUnit(tuple(out), text, tuple(refused))
