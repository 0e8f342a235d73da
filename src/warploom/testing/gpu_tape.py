"""Records what the GPUs of a machine answered, and answers with it where there are none.

The `cuda` backend asks three functions of `warploom.hardware`: `find_setup`, `build_executable`,
`run_hardware`. A tape stands in their place: `record` asks them and keeps what they return, and
`replay` returns what was kept. So what is above these three is tested on what real GPUs said.

A build is found by the text of its program, a run by that, its arguments, its tool and its timing;
runs that are asked for again come in the order in which they were made.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from warploom.backends import cuda
from warploom.core.errors import BadInputError, MissingToolError, SourceError
from warploom.core.records import BuildSpec
from warploom.hardware import HardwareBuild, HardwareOptions, HardwareRun, Setup

Patch = Callable[[object, str, object], None]
"""Sets an attribute for as long as a test lasts, as `pytest.MonkeyPatch.setattr` does."""

_SETUP, _BUILD, _RUN = TypeAdapter(Setup), TypeAdapter(HardwareBuild), TypeAdapter(HardwareRun)
_HERE = "$HERE"  # the program's folder, which differs from test to test


def _packed(value: object, here: str) -> object:
    """Return `value` as JSON can hold it."""
    match value:
        case bytes():
            return {"bytes": value.hex()}
        case str() | Path():
            return str(value).replace(here, _HERE)
        case dict():
            items = cast("dict[object, object]", value).items()
            return {str(_packed(key, here)): _packed(item, here) for key, item in items}
        case list() | tuple() | frozenset():
            return [_packed(item, here) for item in cast("Iterable[object]", value)]
        case _:
            return value


def _unpacked(value: object, here: str) -> object:
    """Return what `_packed` was given."""
    match value:
        case str():
            return value.replace(_HERE, here)
        case {"bytes": str(digits)}:
            return bytes.fromhex(digits)
        case dict():
            items = cast("dict[str, object]", value).items()
            return {_unpacked(key, here): _unpacked(item, here) for key, item in items}
        case list():
            return [_unpacked(item, here) for item in cast("list[object]", value)]
        case _:
            return value


def _program_key(spec: BuildSpec) -> str:
    """Return what a program is known by: its text."""
    return hashlib.sha256(spec.program.read_bytes()).hexdigest()[:16]


def _run_key(build: HardwareBuild, options: HardwareOptions) -> str:
    """Return what a run is known by."""
    words = [*options.args, f"tool={options.tool}", f"timing={options.timing}"]
    return " ".join([_program_key(build.spec), *words])


@dataclass(slots=True)
class Tape:
    """What was answered: the setup, what came of each build, and each run's results in order.

    A build is either `{"seconds": ..., "arch": ...}` or `{"error": ..., "file": ...}`.
    """

    setup: Any = None
    builds: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    runs: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def save(self, file: Path) -> None:
        """Write it to `file` as JSON."""
        whole = {"setup": self.setup, "builds": self.builds, "runs": self.runs}
        file.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")

    @staticmethod
    def load(file: Path) -> "Tape":
        """Read what `save` wrote."""
        whole = json.loads(file.read_text())
        return Tape(whole["setup"], whole["builds"], whole["runs"])


def record(tape: Tape, patch: Patch) -> None:
    """Have the `cuda` backend's answers kept on `tape`."""
    find_setup, build, run = cuda.find_setup, cuda.build_executable, cuda.run_hardware

    def found(*args: Any, **named: Any) -> Setup:
        setup = find_setup(*args, **named)
        tape.setup = _packed(_SETUP.dump_python(setup), "\0")
        return setup

    def built(spec: BuildSpec, *args: Any) -> HardwareBuild:
        here = str(spec.program.parent)
        try:
            made = build(spec, *args)
        except SourceError as error:
            file = str(error.file or "").replace(here, _HERE)
            told = {"error": error.message.replace(here, _HERE), "file": file}
            tape.builds[_program_key(spec)] = told
            raise
        tape.builds[_program_key(spec)] = {"seconds": made.seconds, "arch": made.arch}
        return made

    def ran(made: HardwareBuild, setup: Setup, options: HardwareOptions) -> HardwareRun:
        outcome = run(made, setup, options)
        kept = _packed(_RUN.dump_python(outcome), str(made.spec.program.parent))
        tape.runs.setdefault(_run_key(made, options), []).append(kept)
        return outcome

    patch(cuda, "find_setup", found)
    patch(cuda, "build_executable", built)
    patch(cuda, "run_hardware", ran)


def replay(tape: Tape, patch: Patch) -> None:
    """Have the `cuda` backend answered from `tape`, with no GPU, nvcc or compute-sanitizer."""
    taken: Counter[str] = Counter()

    def found(*_: Any, **__: Any) -> Setup:
        return _SETUP.validate_python(_unpacked(tape.setup, "\0"))

    def built(spec: BuildSpec, *_: Any) -> HardwareBuild:
        told = tape.builds.get(_program_key(spec))
        if told is None:
            raise BadInputError(f"the tape has no build of {spec.program.name}")
        if "error" in told:
            here = str(spec.program.parent)
            error, file = (told[key].replace(_HERE, here) for key in ("error", "file"))
            raise SourceError(error, file=file or None)
        return HardwareBuild(spec.program, spec, told["arch"], told["seconds"], cached=False)

    def ran(made: HardwareBuild, _: Setup, options: HardwareOptions) -> HardwareRun:
        key = _run_key(made, options)
        kept = tape.runs.get(key, [])
        if taken[key] == len(kept):
            raise MissingToolError(f"the tape has {len(kept)} runs of: {key}")
        taken[key] += 1
        return _RUN.validate_python(
            _unpacked(kept[taken[key] - 1], str(made.spec.program.parent))
        )  # fmt: skip

    patch(cuda, "find_setup", found)
    patch(cuda, "build_executable", built)
    patch(cuda, "run_hardware", ran)
    patch(cuda, "find_sanitizer", lambda: Path("compute-sanitizer"))
