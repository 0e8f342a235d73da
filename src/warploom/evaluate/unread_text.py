"""Level 0: lines whose work has no price are refused, for a time with them would be too short."""

from collections.abc import Iterator, Sequence

from warploom.core.errors import SourceError
from warploom.emulator.metering_unread import uncounted_lines
from warploom.evaluate.region_rules import Refused, Region
from warploom.source.regions import Program
from warploom.source.syntax import parse_source

_HINT = "use plain statements: no macro that is a part of a statement, one assignment for each"


def unread_refusals(program: Program, regions: Sequence[Region]) -> Iterator[Refused]:
    """Yield the lines of the regions that the emulator may be unable to count."""
    try:
        tree = parse_source(program.text, program.path, {})
    except SourceError:
        return  # no text, and no regions in it
    inside = {line for region in regions for line in region.lines}
    for line in sorted(uncounted_lines(tree) & inside):
        yield Refused("unread-text", "the work of this line cannot be counted", line, _HINT)
