"""Kernels that skip a wait which a GPU needs: copies in the background that nobody waits for."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants.base import FREE, UNTRUSTED, Edit, made, swap

_KIND = "a wait left out"
_LOAD = "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x) x[h] = in[row + h];\n"
_COPY = (
    "  for (int h = threadIdx.x; h < HIDDEN; h += blockDim.x)\n"
    '    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<unsigned>('
    '__cvta_generic_to_shared(x + h))), "l"(in + row + h) : "memory");\n'
)


def copied(waits: str) -> Edit:
    """Return the edit that brings a row by cp.async, followed by the PTX instructions `waits`."""
    wait = f'  asm volatile("{waits}" ::: "memory");\n' if waits else ""
    return swap((_LOAD, _COPY + wait))


_EDITS: dict[str, Edit] = {
    "no_wait": copied(""),
    "commit_alone": copied("cp.async.commit_group;"),
    "one_group_left": copied("cp.async.commit_group; cp.async.wait_group 1;"),
    "wait_before_commit": copied("cp.async.wait_group 0; cp.async.commit_group;"),
    "wait_for_other_copies": copied("cp.async.commit_group; cp.async.bulk.wait_group 0;"),
}

VARIANTS: tuple[Attack, ...] = tuple(
    attack
    for name, edit in _EDITS.items()
    for attack in (
        made(f"order_copy_{name}", _KIND, edit, UNTRUSTED),
        made(f"order_free_copy_{name}", _KIND, edit, (FREE,), free=True),
    )
)
