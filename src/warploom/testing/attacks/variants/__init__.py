"""Further attacks of each class, made by editing the two base programs."""

from warploom.testing.attacks.record import Attack
from warploom.testing.attacks.variants import (
    hooks,
    tells,
)

VARIANTS: tuple[Attack, ...] = (
    *hooks.VARIANTS,
    *tells.VARIANTS,
)
