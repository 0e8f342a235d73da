"""What commands print: JSON and results on stdout, errors and progress on stderr."""

import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from warploom.core.jsontext import dumps
from warploom.core.records import Finding, Json, Severity, TraceEvent
from warploom.core.visible import visible
from warploom.evaluation.runs.plan import Progress, ignore_progress
from warploom.toolchain.sandbox import sandbox_warning

# What `paint` puts around a text: no program can know it.
_MARK = f"\x1b{secrets.token_hex(8)}:"
_PAINTED = re.compile(rf"{_MARK}(\w*)\x1b")
_COLORS = {"ok": typer.colors.GREEN, "error": typer.colors.RED, "warning": typer.colors.YELLOW}


def out(text: str = "") -> None:
    """Print a line of the result; what programs said in it can do nothing to a terminal."""
    typer.echo(_shown(text))


def say(text: str) -> None:
    """Print a line for the person, on stderr."""
    typer.echo(_shown(text), err=True)


def warn_without_sandbox() -> None:
    """Say that a program is going to run with nothing but limits, where that is so."""
    warning = sandbox_warning()
    if warning:
        say(f"{paint('warning', 'warning')}: {warning}")


def paint(text: str, color: str) -> str:
    """Color `text` as `ok`, `error` or `warning`, for `out` and `say` to a terminal."""
    return f"{_MARK}{color}\x1b{text}{_MARK}\x1b"


def _shown(text: str) -> str:
    """Return `text` with the colors of `paint`, and of no one else."""
    pieces = _PAINTED.split(text)
    shown = [visible(pieces[0])]
    for color, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        plain = visible(piece)
        shown.append(typer.style(plain, fg=_COLORS[color], bold=True) if color else plain)
    return "".join(shown)


def print_json(value: Json) -> None:
    """Print one JSON value. Infinities and NaN, which JSON lacks, become strings."""
    typer.echo(dumps(value))


def print_error(
    message: str, *, file: str | None = None, line: int | None = None, hint: str = ""
) -> None:
    """Print `error: file:line: message` and the hint on stderr."""
    where = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
    say(f"{paint('error:', 'error')} {where}{message}")
    if hint:
        say(f"  hint: {hint}")


def print_finding(finding: Finding, note: str = "") -> None:
    """Print a finding as a compiler would, with who and where below it."""
    for line in finding_lines(finding, paint):
        out(line)
    if note:
        out(f"    {note}")


def finding_lines(
    finding: Finding, painter: Callable[[str, str], str] = lambda text, _: text
) -> list[str]:
    """Return the lines of a finding; `painter` may color the severity."""
    color = "error" if finding.severity == Severity.ERROR else "warning"
    line = "" if finding.line is None else f":{finding.line}"
    where = "" if finding.file is None else f"{short_path(finding.file)}{line}: "
    painted = painter(f"{finding.severity}:", color)
    lines = [f"{where}{painted} {finding.message} [{finding.kind}]"]
    who = _who(finding)
    if who:
        lines.append(f"    at {who}")
    if finding.other is not None:
        inside = f" in {finding.other.function}" if finding.other.function else ""
        lines.append(
            f"    other side: {short_path(finding.other.file)}:{finding.other.line}{inside}"
        )
    if finding.cause is not None:
        lines.append(f"    comes of: {short_path(finding.cause.file)}:{finding.cause.line}")
    if finding.hint:
        lines.append(f"    hint: {finding.hint}")
    return lines


def print_trace(trace: Sequence[TraceEvent]) -> None:
    """Print what the ranks involved did before a finding, oldest first; nothing without events."""
    if trace:
        out("    what led there, oldest first:")
    for event in trace:
        where = "" if event.file is None else f" ({short_path(event.file)}:{event.line or 1})"
        out(f"      {event.seq:>6}  {_who(event)}: {event.text}{where}")


def _who(item: Finding | TraceEvent) -> str:
    parts: list[str] = []
    if item.rank is not None:
        parts.append(f"rank {item.rank}")
    if item.kernel:
        parts.append(f"kernel {item.kernel}")
    if item.block is not None:
        parts.append(f"block ({', '.join(map(str, item.block))})")
    if item.thread is not None:
        parts.append(f"thread ({', '.join(map(str, item.thread))})")
    return ", ".join(parts)


def short_path(path: Path | str) -> str:
    """Return `path` relative to the current folder where it lies below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _say_step(step: Progress) -> None:
    say(json.dumps({"progress": {"stage": step.stage, "done": step.done, "total": step.total}}))


@contextmanager
def progress(enabled: bool = True) -> Generator[Callable[[Progress], None]]:
    """Show bars on stderr while the body runs, where stderr is a terminal; else show nothing.

    With `WARPLOOM_PROGRESS=json` in the environment each step is a line of JSON on stderr instead:
    `{"progress": {"stage": ..., "done": ..., "total": ...}}`.
    """
    if os.environ.get("WARPLOOM_PROGRESS") == "json":
        yield _say_step
        return
    if not enabled or not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bars.add_task(step.stage, total=step.total)
            bars.update(tasks[step.stage], completed=step.done, total=step.total)

        yield show
