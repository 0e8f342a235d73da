"""Reads and checks `workload.toml`. Apart from `workload.py`: pydantic loads only when needed."""

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from warploom.core.errors import BadInputError, SourceError, WorkloadError
from warploom.core.records import Api, Limits
from warploom.workload.dtypes import DTYPES, dtype_of
from warploom.workload.fields import WorkloadFields
from warploom.workload.outputs import Output, plain_name
from warploom.workload.paths import WORKLOAD_FILE, require_dir, require_file
from warploom.workload.ranges import MAX_REGIONS, MAX_SEEDS
from warploom.workload.run_shape import MAX_RANKS, RunShape, shape_change

_MACRO = r"^[A-Za-z_][A-Za-z0-9_]*$"
_VERSION = r"^\d+\.\d+\.\d+$"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _OutputTable(_Table):
    buffer: str = Field(min_length=1)
    dtype: str
    rtol: float | None = Field(default=None, ge=0, lt=1)
    atol: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _LimitsTable(_Table):
    seconds: float = Field(default=60.0, gt=0, le=86400)
    memory_mb: int = Field(default=8192, ge=64)
    output_mb: int = Field(default=16, ge=1)


class _JudgeTable(_Table):
    command: list[Annotated[str, Field(min_length=1)]] | str
    task: str = ""


_Macros = dict[Annotated[str, Field(pattern=_MACRO)], str | int | float]


class _SizesTable(_Table):
    time: _Macros = {}


class _WorkloadTable(_Table):
    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    program: str = Field(min_length=1)
    sources: list[str] = []
    include_dirs: list[str] = []
    ranks: int = Field(default=4, ge=1, le=MAX_RANKS)
    defines: _Macros = {}
    args: list[str] = []
    outputs: list[_OutputTable] = []
    limits: _LimitsTable = _LimitsTable()
    lsa_size: int | None = Field(default=None, ge=1)
    node_size: int | None = Field(default=None, ge=1)
    processes: int | None = Field(default=None, ge=1)
    nccl: str | None = Field(default=None, pattern=_VERSION)
    seeds: int = Field(default=3, ge=1, le=MAX_SEEDS)
    vary_inputs: str = ""
    leave_out: list[str] = []
    env: dict[str, str] = {}
    stdin: str = ""
    scored_region: int = Field(default=0, ge=0, le=MAX_REGIONS)
    api: list[str] = ["gin", "lsa"]
    launcher: str = ""
    judge: _JudgeTable | None = None
    sizes: _SizesTable = _SizesTable()


def read_workload(path: Path) -> WorkloadFields:
    """Read the workload file at `path`, or in the folder `path`."""
    file = path / WORKLOAD_FILE if path.is_dir() else path
    text = _read(file)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise WorkloadError(
            f"is not valid TOML: {error}",
            file=str(file),
            line=int(line[1]) if line else None,
            hint="docs/workloads.md shows a whole file; texts stand in quotes, which close in the "
            "same line",
        ) from None
    try:
        table = _WorkloadTable.model_validate(raw)
    except ValidationError as error:
        raise _explain(error.errors()[0], file, text) from None
    return _freeze(table, file, text)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SourceError("no such file", file=str(file)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"cannot be read: {error}", file=str(file)) from None


def _freeze(table: _WorkloadTable, file: Path, text: str) -> WorkloadFields:
    root = file.resolve().parent
    try:
        return WorkloadFields(
            name=table.name or root.name,
            root=root,
            program=_named(require_file, root / table.program, "program", file, text),
            sources=tuple(
                _named(require_file, root / source, "sources", file, text)
                for source in table.sources
            ),
            include_dirs=tuple(
                _named(require_dir, root / folder, "include_dirs", file, text)
                for folder in table.include_dirs
            ),
            shape=RunShape().changed(shape_change(table)),
            defines={name: str(value) for name, value in table.defines.items()},
            args=tuple(table.args),
            outputs=tuple(_output(item, file, text) for item in table.outputs),
            limits=Limits(table.limits.seconds, table.limits.memory_mb, table.limits.output_mb),
            seeds=table.seeds,
            leave_out=tuple(map(plain_name, table.leave_out)),
            env=dict(table.env),
            stdin=(
                _named(require_file, root / table.stdin, "stdin", file, text)
                if table.stdin
                else None
            ),
            scored_region=table.scored_region,
            time_sizes={name: str(value) for name, value in table.sizes.time.items()},
            vary_inputs=_varied(table.vary_inputs, file, text),
            api=tuple(_api(name, file, text) for name in table.api),
            launcher=tuple(_words(table.launcher, "launcher", file, text)),
            judge=() if table.judge is None else _command(table.judge, file, text),
            task="" if table.judge is None else table.judge.task,
        )
    except (WorkloadError, SourceError):
        raise
    except BadInputError as error:
        key = error.message.partition(" ")[0]  # lsa_size, processes, launcher, leave_out or env
        raise WorkloadError(
            error.message, file=str(file), line=_line_of(text, key), hint=error.hint
        ) from None


def _named(require: Callable[[Path], Path], path: Path, key: str, file: Path, text: str) -> Path:
    """Return what `require` makes of a path of the workload; an error says what names it."""
    try:
        return require(path)
    except SourceError as error:
        line = _line_of(text, key)
        where = str(file) if line is None else f"{file}:{line}"
        also = f"; {error.hint}" if error.hint else ""
        raise SourceError(
            error.message, file=error.file, hint=f"it is named by {key} in {where}{also}"
        ) from None


def _output(table: _OutputTable, file: Path, text: str) -> Output:
    if dtype_of(table.dtype).name == "bytes" and table.dtype not in ("bytes", "void"):
        raise WorkloadError(
            f"outputs.dtype must be one of {', '.join(DTYPES)}, got {table.dtype!r}",
            file=str(file),
            line=_line_of(text, "dtype", table.dtype),
        )
    return Output.with_defaults(table.buffer, table.dtype, table.rtol, table.atol)


def _words(given: str, key: str, file: Path, text: str) -> list[str]:
    """Return the words of a command, split as a shell does."""
    try:
        return shlex.split(given)
    except ValueError as error:
        raise WorkloadError(
            f"{key} must be the words of a command, got {given!r}: {error}",
            file=str(file),
            line=_line_of(text, key),
        ) from None


def _command(table: _JudgeTable, file: Path, text: str) -> tuple[str, ...]:
    given = table.command
    words = tuple(shlex.split(given) if isinstance(given, str) else given)
    if not words:
        raise WorkloadError(
            "judge.command must name a program, got nothing",
            file=str(file),
            line=_line_of(text, "command"),
        )
    return words


def _varied(name: str, file: Path, text: str) -> str:
    if name and dtype_of(name).name == "bytes":
        numbers = ", ".join(dtype for dtype in DTYPES if dtype != "bytes")
        raise WorkloadError(
            f"vary_inputs must be one of {numbers}, got {name!r}",
            file=str(file),
            line=_line_of(text, "vary_inputs"),
        )
    return dtype_of(name).name if name else ""


def _api(name: str, file: Path, text: str) -> Api:
    try:
        return Api(name)
    except ValueError:
        raise WorkloadError(
            f"api must hold only {', '.join(Api)}, got {name!r}",
            file=str(file),
            line=_line_of(text, "api"),
        ) from None


def _explain(error: ErrorDetails, file: Path, text: str) -> WorkloadError:
    """Say file, line, key, rule and value of the first broken rule."""
    keys = [part for part in error["loc"] if isinstance(part, str) and part in text]
    key = ".".join(str(part) for part in error["loc"] if part not in ("str", "int", "float"))
    line = _line_of(text, keys[-1]) if keys else None
    if error["type"] == "missing":
        return WorkloadError(f"{key}: this key is required", file=str(file), line=line)
    if error["type"] == "extra_forbidden":
        known = ", ".join(_known(error["loc"]))
        return WorkloadError(
            f"{key}: unknown key", file=str(file), line=line, hint=f"the keys are: {known}"
        )
    rule = error["msg"].removeprefix("Input ")
    return WorkloadError(f"{key} {rule}, got {error['input']!r}", file=str(file), line=line)


def _known(location: tuple[int | str, ...]) -> list[str]:
    models = {
        "outputs": _OutputTable,
        "limits": _LimitsTable,
        "judge": _JudgeTable,
        "sizes": _SizesTable,
    }
    model = models.get(str(location[0]), _WorkloadTable) if len(location) > 1 else _WorkloadTable
    return list(model.model_fields)


def _line_of(text: str, key: str, value: str = "") -> int | None:
    """Return the first line that sets `key`, or opens its table."""
    name = re.escape(key)
    found = re.search(
        rf"(?m)^\s*(?:\"?{name}\"?\s*=.*{re.escape(value)}|\[+{name}\]+|.*[{{,]\s*{name}\s*=)", text
    )
    return None if found is None else text.count("\n", 0, found.start()) + 1
