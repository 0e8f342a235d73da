"""Runs the application and turns every deliberate error into a message and an exit code."""

import os
import sys
from typing import cast

import typer

from warploom.cli.app import app
from warploom.cli.output import print_error, print_json, say
from warploom.core.errors import RefusedError, WarploomError
from warploom.core.records import Json

# Typer carries its own copy of click in some versions; this is the base of its usage errors.
_USAGE_ERROR = cast(
    "type[Exception]",
    next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"),
)

_INTERRUPTED = 130
_RUN_A_PROGRAM = (
    "check",
    "eval",
    "transform",
)  # commands whose line ends with `-- ARGS` of a program


def run_cli(arguments: list[str]) -> int:
    """Run one command; returns its exit code and never raises for bad input."""
    ours, theirs = _at_dashes(arguments)
    as_json = "--json" in ours
    try:
        given = ours if arguments[:1] and arguments[0] in _RUN_A_PROGRAM else arguments
        code = app(args=given, obj=theirs, prog_name="warploom", standalone_mode=False)
        sys.stdout.flush()
    except _USAGE_ERROR as error:
        return _usage(error, as_json)
    except WarploomError as error:
        return _failed(error, as_json)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = None if error.filename is None else str(error.filename)
        return _failed(WarploomError(error.strerror or str(error), file=where), as_json)
    if code == _INTERRUPTED:  # typer has turned Ctrl-C into this
        say("interrupted")
    return code if isinstance(code, int) else 0


def _at_dashes(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what stands before the first `--` and what stands after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _usage(error: Exception, as_json: bool) -> int:
    message = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    path = str(getattr(context, "command_path", "warploom"))
    hint = f"see: {path} --help"
    if message.startswith("No such option") and path.split()[-1] in _RUN_A_PROGRAM:
        hint += "; options of the program itself come after --"
    if message.startswith("Usage:") and not as_json:  # no command given: this is the help
        say(message)
        return 2
    if as_json:
        print_json({"error": {"kind": "usage", "message": message, "hint": hint, "exit_code": 2}})
    else:
        print_error(message, hint=hint)
    return 2


def _failed(error: WarploomError, as_json: bool) -> int:
    refusals = error.refusals if isinstance(error, RefusedError) else ()
    if as_json:
        content: dict[str, Json] = {
            "kind": type(error).__name__.removesuffix("Error").lower(),
            "message": error.message,
            "file": error.file,
            "line": error.line,
            "hint": error.hint,
            "exit_code": error.exit_code,
        }
        if refusals:
            content["refusals"] = [
                {"reason": item.reason, "file": item.file, "line": item.line} for item in refusals
            ]
        print_json({"error": content})
    else:
        print_error(error.message, file=error.file, line=error.line, hint=error.hint)
        for item in refusals[1:20]:  # the message tells the first
            say(f"  {item.file}:{item.line}: {item.reason}")
    return error.exit_code
