"""Level 0: lines whose operations cannot be counted in their text.

Instructions are counted in any case (emulator/guard/tally.h), as the least that a GPU could make of
them. A candidate with such lines pays for all that they compute, so that nothing hides in them.
"""

from collections.abc import Iterator, Sequence

from warploom.core.errors import SourceError
from warploom.emulator.metering.unread import uncounted_lines
from warploom.evaluation.legality.region_rules import Refused, Region
from warploom.source.regions import Program
from warploom.source.syntax import parse_source

UNREAD = "unread_text"
"""The kind of finding: a warning."""
_MESSAGE = (
    "the operations of this line cannot be counted in its text: where time is modelled, all "
    "instructions of the candidate have their full price"
)
_HINT = "plain statements are counted: no macro that is a part of one, one assignment for each"


def unread_refusals(program: Program, regions: Sequence[Region]) -> Iterator[Refused]:
    """Yield the lines of the regions that the emulator may be unable to count."""
    try:
        tree = parse_source(program.text, program.path, {})
    except SourceError:
        return  # no text, and no regions in it
    inside = {line for region in regions for line in region.lines}
    for line in sorted(uncounted_lines(tree) & inside):
        yield Refused(UNREAD, _MESSAGE, line, _HINT, is_told=True)
