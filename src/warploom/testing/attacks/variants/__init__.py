"""Further attacks of each class, made by editing the two base programs."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants import (
    answers_of_calls,
    answers_of_headers,
    behavior,
    control,
    frames,
    hooks,
    kept,
    kept_elsewhere,
    late,
    leaks,
    moves,
    orders,
    returned,
    state,
    tells,
    text,
    unordered,
    windows,
)

VARIANTS: tuple[Attack, ...] = (
    *text.VARIANTS,
    *hooks.VARIANTS,
    *state.VARIANTS,
    *control.VARIANTS,
    *tells.VARIANTS,
    *answers_of_calls.VARIANTS,
    *answers_of_headers.VARIANTS,
    *behavior.VARIANTS,
    *kept.VARIANTS,
    *kept_elsewhere.VARIANTS,
    *late.VARIANTS,
    *leaks.VARIANTS,
    *moves.VARIANTS,
    *orders.VARIANTS,
    *windows.VARIANTS,
    *returned.VARIANTS,
    *frames.VARIANTS,
    *unordered.VARIANTS,
)
