"""What is said before the emulator is built; apart, as a start loads nothing heavy."""

from warploom.cli.output import say
from warploom.emulator import is_emulator_built


def tell_of_first_build() -> None:
    """Say that a build of the emulator comes first, where that is so."""
    if not is_emulator_built():
        say("first the emulator is built: once on this machine, for a minute or more")
