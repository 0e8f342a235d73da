"""A kernel file as C++ for the CPU: its launches become calls of `host_cuda::launch`."""

import re

_LAUNCH = re.compile(
    r"(?P<name>[A-Za-z_]\w*(?:<[\w ]+>)?)\s*<<<(?P<shape>[^;]*?)>>>\s*\((?P<arguments>[^;]*)\)\s*;",
    re.DOTALL,
)


def host_text(body: str) -> str | None:
    """Return the text of `body` for the CPU; None where a launch has no simple form."""

    def call(match: re.Match[str]) -> str:
        shape = _parts(match["shape"])
        return (
            f"host_cuda::launch({shape[0]}, {shape[1]}, "
            f"[&] {{ {match['name']}({match['arguments']}); }});"
        )

    text = _LAUNCH.sub(call, body)
    if "<<<" in text or "extern __shared__" in text:
        return None
    return f'#include "host_cuda.h"\n\n{text}'


def _parts(text: str) -> list[str]:
    """Split the arguments of a launch at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
