"""Reads what the user asks for."""

from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError, UnsupportedError
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.records import TARGETS

_WITHOUT_LSA = ("sm_120",)
"""Architectures whose GPUs have no NVLink."""


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
        UnsupportedError: something is asked for several ranks that is there for one only.
    """
    if target not in TARGETS:
        raise BadInputError(f"a target must be one of {', '.join(TARGETS)}, got {target!r}")
    if not prompt.strip():
        raise BadInputError(
            "a prompt must say what is wanted, got nothing", hint='--prompt "fused RMSNorm"'
        )
    _check_ranks(target, config)
    text = str(reference)
    path, colon, name = text.rpartition(":")
    if not colon or Path(text).is_file():
        path, name = text, ""
    if Path(path).is_dir():
        raise SourceError("a reference must be a file of Python, but this is a folder", file=path)
    if not Path(path).is_file():
        raise SourceError("no such file", file=path)
    return Request(prompt, Path(path).resolve(), name, target, folder, config)


def _check_ranks(target: str, config: SynthesisConfig) -> None:
    if config.ranks == 1:
        return
    if target in _WITHOUT_LSA:
        raise UnsupportedError(
            f"kernels of several ranks reach each other's memory over NVLink, which {target} lacks",
            hint=f"--target {', '.join(t for t in TARGETS if t not in _WITHOUT_LSA)}",
        )
    if config.proposer != "rules":
        raise UnsupportedError(
            f"kernels of several ranks are written by rules alone, not by {config.proposer}"
        )
    if config.backend != "emulator":
        raise UnsupportedError("kernels of several ranks are judged by the emulator alone")
