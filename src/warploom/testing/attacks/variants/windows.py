"""Programs that use bytes of a window while a one-sided call of MPI still has them."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import in_pipeline, made

_KIND = "bytes in use by one-sided calls"
_OPEN = (
    "  if (static bool once = false; !once) {\n    once = true;\n"
    "    static float mine[16], theirs[16];\n    int rank = 0;\n    MPI_Win win;\n"
    "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
    "    MPI_Win_create(mine, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);\n"
)
_PUT = "    MPI_Put(theirs, 16, MPI_FLOAT, (rank + 1) % layer.ranks, 0, 16, MPI_FLOAT, win);\n"
_BARRIER = "    MPI_Barrier(MPI_COMM_WORLD);\n"
_CLOSE = "    MPI_Win_free(&win);\n  }"
_LOOK = "    if (mine[3] != 0) once = false;\n"
_SYNC = "    MPI_Win_sync(win);\n"
_LOCK, _UNLOCK = "    MPI_Win_lock_all(0, win);\n", "    MPI_Win_unlock_all(win);\n"
_FENCE = "    MPI_Win_fence(0, win);\n"
_VOLATILE = "    if (*const_cast<volatile float*>(mine + 3) != 0) once = false;\n"

_BODIES = {
    "unflushed": _LOCK + _PUT + _BARRIER + _SYNC + _SYNC + _LOOK + _UNLOCK,
    "volatile_look": _LOCK + _PUT + _BARRIER + _SYNC + _VOLATILE + _UNLOCK,
    "own_store": _FENCE + "    mine[3] = 2.0f;\n" + _PUT + _FENCE,
    "puts_meet": _FENCE + _PUT + _PUT + _FENCE,
}

VARIANTS: tuple[Attack, ...] = tuple(
    made(f"window_{name}", _KIND, in_pipeline(_OPEN + body + _CLOSE))
    for name, body in _BODIES.items()
)
