"""Reads what the user asks for."""

from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.records import TARGETS


@dataclass(frozen=True)
class Request:
    """What is to be synthesized, and where it goes."""

    prompt: str
    reference: Path
    name: str
    target: str
    folder: Path
    config: SynthesisConfig


def request_of(
    prompt: str, reference: Path | str, target: str, config: SynthesisConfig, folder: Path
) -> Request:
    """Return a request, its parts checked.

    Raises:
        BadInputError: the target is unknown, or the reference no file.
    """
    if target not in TARGETS:
        raise BadInputError(f"a target must be one of {', '.join(TARGETS)}, got {target!r}")
    if not prompt.strip():
        raise BadInputError(
            "a prompt must say what is wanted, got nothing", hint='--prompt "fused RMSNorm"'
        )
    text = str(reference)
    path, colon, name = text.rpartition(":")
    if not colon or Path(text).is_file():
        path, name = text, ""
    if not Path(path).is_file():
        raise SourceError("no such file", file=path)
    return Request(prompt, Path(path).resolve(), name, target, folder, config)
