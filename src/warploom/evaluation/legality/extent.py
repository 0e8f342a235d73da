"""What text is judged at all: as much as can be, and such as shows what it is.

Rules look at brackets within brackets, and at each token many times.
"""

import re
from collections.abc import Iterator, Sequence

from warploom.evaluation.legality.region_rules import Refused, Region
from warploom.evaluation.legality.tokens import scan
from warploom.source.regions import Program

_MOST_CHARACTERS = 1 << 20
_MOST_TOKENS = 60_000
_DEEPEST = 200
# Controls, and what turns the direction of text: people would read another program.
_TURNS = re.compile(
    "[\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]"
)


def extent_refusals(regions: Sequence[Region], trusted: Program) -> Iterator[Refused]:
    """Refuse text that is too long or too deep to be judged in minutes, or that hides what it is.

    What is long where the `trusted` program is long may be twice as long.
    """
    line = regions[0].first_line if regions else 1
    characters = sum(len(region.text) for region in regions)
    most = max(_MOST_CHARACTERS, 2 * len(trusted.text))
    if characters > most:
        yield _too_much(f"text of {characters} characters, of {most}", line)
        return
    for region in regions:
        found = _TURNS.search(region.text)
        if found and found[0] not in trusted.text:
            yield Refused(
                "hidden_text",
                f"character U+{ord(found[0]):04X}: people would read other text than a compiler",
                region.first_line + region.text.count("\n", 0, found.start()),
            )
            return
    texts = [scan(region.text, region.first_line) for region in regions]
    tokens = [token for text in texts for token in text.tokens]
    count = len(tokens) + sum(len(text.tricks) for text in texts)
    most = max(_MOST_TOKENS, 2 * len(scan(trusted.text).tokens))
    if count > most:
        yield _too_much(f"{count} words and signs, of {most}", line)
        return
    depth = 0
    for token in tokens:
        if token.kind != "punct":
            continue
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth > _DEEPEST:
            yield _too_much(f"more brackets within brackets than {_DEEPEST}", token.line)
            return


def _too_much(what: str, line: int) -> Refused:
    return Refused(
        "hidden_text",
        f"{what}: more than can be judged",
        line,
        hint="write less, or put data into a file that the workload names",
    )
