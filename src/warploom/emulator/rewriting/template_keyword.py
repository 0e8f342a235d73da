"""Dependent template names without the keyword `template`: nvcc takes them, g++ and clang do not.

In `cast<A>::go<n>(a)` the standard wants `cast<A>::template go<n>(a)`, because `cast<A>` depends on
a template parameter (C++20, [temp.names]). nvcc's front end does without it, and widely used
headers rely on that. The compiler itself says where the keyword lacks.
"""

import re
from collections.abc import Mapping

from warploom.emulator.rewriting.rewrite import Overlay
from warploom.source.edits import TextEdit, apply_edits

PLACE_FLAGS = ("-fdiagnostics-column-unit=byte", "-Wmissing-template-keyword")
"""What makes g++ name the places: to be given without `-w`."""


_SYMPTOM = re.compile(r"<unresolved overloaded function type>|missing 'template' keyword")
_PLACE = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal error|error|warning): "
    r"(?:expected 'template' keyword before dependent template name|missing 'template' keyword)",
    re.MULTILINE,
)


def may_lack_keyword(log: str) -> bool:
    """Whether a compiler's log has an error that a missing `template` leads to."""
    return _SYMPTOM.search(log) is not None


def with_keywords(log: str, overlay: Overlay) -> Mapping[str, bytes]:
    """Return all files of `overlay`, with `template` wherever `log` says that it lacks.

    Lines count from 1 in the user's file, which begins on the second line of the overlay's; columns
    count bytes from 1.
    """
    edits: dict[str, set[TextEdit]] = {}
    for place in _PLACE.finditer(log):
        file = overlay.file_named(place["file"])
        if file is None:
            continue
        lines = overlay.texts[file.overlay].splitlines(keepends=True)
        before, column = int(place["line"]), int(place["column"]) - 1
        if before < len(lines) and column < len(lines[before]):
            at = sum(map(len, lines[:before])) + column
            edits.setdefault(file.overlay, set()).add(TextEdit(at, at, "template "))
    return {
        name: apply_edits(text, edits.get(name, ())).encode("utf-8", "surrogateescape")
        for name, text in overlay.texts.items()
    }
