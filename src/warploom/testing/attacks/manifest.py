"""Reads `tests/attacks/attacks.toml` and adds the generated variants."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from warploom.testing.attacks.answers import answer_table
from warploom.testing.attacks.edits import base_of, patched
from warploom.testing.attacks.honest import HONEST
from warploom.testing.attacks.record import FOLDER, PROGRAMS, ROOT, Attack, Expected, Mode
from warploom.testing.attacks.variants import VARIANTS


def read_text(path: Path) -> str:
    """Return a program's text; one that is kept as a diff is made from its base."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".diff":
        return text
    base = base_of(text)
    folder = ROOT if base.startswith("examples/") else FOLDER
    return patched((folder / base).read_text(encoding="utf-8"), text)


def samples(folder: Path = FOLDER) -> list[Attack]:
    """Return the attacks of the manifest, in its order."""
    data = tomllib.loads((folder / "attacks.toml").read_text(encoding="utf-8"))
    return [_sample(item) for item in data["attack"]]


def every_attack() -> list[Attack]:
    """Return all attacks and controls; names are unique."""
    return [*samples(), *VARIANTS, *HONEST]


def chosen(
    attacks: Sequence[Attack], only: Sequence[str], modes: Sequence[Mode]
) -> list[tuple[Attack, Mode]]:
    """Return the plays asked for: attacks whose name or class holds a word of `only`."""
    return [
        (attack, mode)
        for attack in attacks
        if not only or any(word in attack.name or word == attack.kind for word in only)
        for mode in attack.modes
        if not modes or mode in modes
    ]


def _sample(item: Mapping[str, Any]) -> Attack:
    return Attack(
        name=str(item["name"]),
        kind=str(item["class"]),
        modes=tuple(Mode(mode) for mode in item["modes"]),
        expected=Expected(item["expected"]),
        text=_text_of(str(item["file"])),
        row=str(item.get("row", "")),
        ranks=item.get("ranks"),
        defines={str(k): str(v) for k, v in item.get("defines", {}).items()},
    )


def _text_of(file: str) -> Callable[[], str]:
    if file == "generated:answers":
        return answer_table
    return partial(read_text, PROGRAMS / file if "/" not in file else FOLDER / file)
