"""What a process answers about its work, in a form that always gets to whoever asked."""

import pickle
from typing import TypeAlias

from warploom.core.errors import ToolFailedError
from warploom.jobs.protocol import Done, Work

Answer: TypeAlias = tuple[bool, object]
"""Whether the work returned, and what; else the error that it raised."""


def answer_of(work: Work) -> bytes:
    """Do a piece of work; return its answer, pickled."""
    try:
        found: Answer = True, work()
    except Exception as error:  # noqa: BLE001 - handed to whoever waits
        found = False, _portable(error)
    try:
        return pickle.dumps(found)
    except Exception as error:  # noqa: BLE001 - whatever __reduce__ of a stranger's class raises
        said = ToolFailedError(f"what the work returned cannot be sent: {error}")
        return pickle.dumps((False, said))


def done_of(key: int, answer: bytes) -> Done:
    """Return what an answer says of the work of a key."""
    good, value = pickle.loads(answer)  # noqa: S301 - of a process of ours
    if good:
        return Done(key, value)
    assert isinstance(value, Exception)
    return Done(key, error=value)


def _portable(error: Exception) -> Exception:
    """Return an error that can be sent: itself, or one that tells of it."""
    try:
        again: object = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - a constructor of any form
        return ToolFailedError(f"{type(error).__name__}: {error}")
    return error if type(again) is type(error) else ToolFailedError(repr(error))
