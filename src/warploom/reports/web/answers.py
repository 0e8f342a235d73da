"""What the API answers when it cannot give what was asked for, and how files are handed out."""

from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError, ResponseValidationError
from fastapi.responses import JSONResponse

from warploom.core.errors import WarploomError
from warploom.reports.queries.clean import clean
from warploom.reports.queries.programs import NoProgramError
from warploom.reports.web.hub import UnknownRunError


class MissingTextError(WarploomError):
    """A run has no text of this name, or a program no such finding."""


_TEXT: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
_PROBLEM: dict[str, Any] = {
    "application/json": {
        "schema": {
            "type": "object",
            "title": "Problem",
            "properties": {
                "error": {"type": "string", "description": "why there is no answer"},
                "hint": {"type": "string", "description": "what to do about it, or nothing"},
            },
            "required": ["error", "hint"],
        }
    }
}
ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"description": "the token is missing", "content": _TEXT},
    403: {"description": "another site asked", "content": _TEXT},
    404: {"description": "no such run, program, finding or text", "content": _PROBLEM},
    421: {"description": "the Host is no name of this machine", "content": _TEXT},
    422: {"description": "a value is not one that can be asked for", "content": _PROBLEM},
    500: {"description": "the database or the folder cannot be read", "content": _PROBLEM},
}
"""What each address may answer besides 200, for /openapi.json."""


async def told(_: Request, error: Exception) -> JSONResponse:
    """Answer with what went wrong."""
    assert isinstance(error, WarploomError)
    missing = isinstance(error, UnknownRunError | NoProgramError | MissingTextError)
    return _problem(error.message, error.hint, 404 if missing else 500)


DAMAGES = (AttributeError, KeyError, TypeError, ValueError, ResponseValidationError)
"""What is raised where a value is of another kind than warploom writes."""


async def damaged(_: Request, error: Exception) -> JSONResponse:
    """Answer who asked for what holds a value that no warploom has written."""
    return _problem(damage_of(error), "restore a backup of the run's database or folder", 500)


def damage_of(error: Exception) -> str:
    """Return what is wrong with a run whose values are of another kind than they must be."""
    words = "a value that does not fit" if isinstance(error, ResponseValidationError) else error
    return clean(f"the run holds what no warploom has written ({type(error).__name__}: {words})")


async def too_large(_: Request, error: Exception) -> JSONResponse:
    """Answer who asked for a number that no database can hold."""
    del error
    return _problem("a number is too large", "", 422)


async def refused(_: Request, error: Exception) -> JSONResponse:
    """Answer who asked for what a parameter cannot be."""
    assert isinstance(error, RequestValidationError)
    words = [f"{one['loc'][-1]}: {one['msg']}" for one in error.errors()]
    return _problem(clean("; ".join(words)), "/openapi.json says what each parameter can be", 422)


def attached(name: str) -> dict[str, str]:
    """Return headers that make a browser save an answer."""
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    ascii_only = safe.encode("ascii", "replace").decode().replace("?", "_")
    return {"Content-Disposition": f'attachment; filename="{ascii_only}"'}


def _problem(error: str, hint: str | None, status: int) -> JSONResponse:
    return JSONResponse({"error": error, "hint": hint or ""}, status_code=status)
