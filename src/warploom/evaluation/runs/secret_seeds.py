"""The seeds of an evaluation: drawn anew for each one, so that no program can know them.

A seed stands for `{seed}` in the workload's arguments and drives the schedule of its runs. Seeds
that anybody can guess are answers: a program could hold the results for them in its text.
"""

import json
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.workload.ranges import check_seeds

MOST = (1 << 31) - 1
"""The largest seed: programs parse theirs with atoi."""


def draw_seeds(count: int) -> tuple[int, ...]:
    """Return `count` different seeds that nobody can foresee.

    Raises:
        BadInputError: there are to be none, or too many.
    """
    check_seeds(count)
    seeds: dict[int, None] = {}
    while len(seeds) < count:
        seeds[1 + secrets.randbelow(MOST)] = None
    return tuple(seeds)


def require_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return seeds that somebody names, checked.

    Raises:
        BadInputError: one is out of range, there is none, or one comes twice.
    """
    check_seeds(len(seeds))
    for seed in seeds:
        if not 0 <= seed <= MOST:
            raise BadInputError(f"a seed must be from 0 to {MOST}, got {seed}")
    if len(set(seeds)) != len(seeds):
        raise BadInputError(f"each seed must be named once, got {', '.join(map(str, seeds))}")
    return tuple(seeds)


def seeds_from(text: str) -> tuple[int, ...]:
    """Return the seeds that `text` names: a list such as 3,17, or the path of an earlier report.

    Raises:
        BadInputError: it is neither, or the report has no seeds.
    """
    words = [word.strip() for word in text.split(",")]
    if all(word.isascii() and word.isdigit() and len(word) < 20 for word in words):
        return require_seeds([int(word) for word in words])
    path = Path(text)
    try:
        report = cast("Json", json.loads(path.read_bytes()))
    except OSError as error:
        raise BadInputError(
            f"--seeds-from must be numbers such as 3,17 or an earlier report: {error.strerror}",
            file=text,
        ) from None
    except ValueError:
        raise BadInputError("--seeds-from names a file that is not JSON", file=text) from None
    found = next(_seed_lists(report), None)
    if found is None:
        raise BadInputError(
            "the report must hold the seeds of an evaluation, but has none",
            file=text,
            hint="eval --json and the report.json of a transform have them",
        )
    return require_seeds(found)


def _seed_lists(value: Json) -> Iterator[list[int]]:
    """Yield the seeds of each evaluation in a report, the outermost first."""
    if not isinstance(value, dict):
        return
    seeds = value.get("seeds")
    if isinstance(seeds, list) and seeds:
        numbers = [seed for seed in seeds if isinstance(seed, int) and not isinstance(seed, bool)]
        if len(numbers) == len(seeds):
            yield numbers
    yield from _seed_lists(value.get("evaluation"))
