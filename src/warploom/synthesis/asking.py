"""Reads what the user asks for."""

from dataclasses import dataclass
from pathlib import Path

from warploom.core.errors import BadInputError, SourceError, UnsupportedError
from warploom.core.ids import digest
from warploom.synthesis.config import SynthesisConfig
from warploom.synthesis.correctness.frame import without_includes
from warploom.synthesis.records import TARGETS

_ENTRY = "warploom_forward"
_WITHOUT_LSA = ("sm_120",)
"""Architectures whose GPUs have no NVLink."""


@dataclass(frozen=True)
class Request:
    """What is to be synthesized, and where it goes; `kernel` is the text of one that is given."""

    prompt: str
    reference: Path
    name: str
    target: str
    folder: Path
    config: SynthesisConfig
    kernel: str = ""

    @property
    def proposer(self) -> str:
        """Who writes kernels; of one that is given, which."""
        given = self.config.proposer == "given"
        return f"given {digest([self.kernel])}" if given else self.config.proposer


def request_of(
    prompt: str, reference: Path | str, target: str, config: SynthesisConfig, folder: Path
) -> Request:
    """Return a request, its parts checked.

    Raises:
        BadInputError: the target is unknown, or the reference no file.
        SourceError: the kernel that is given is no text with an entry point.
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
    kernel = _kernel_of(config.kernel)
    return Request(prompt, Path(path).resolve(), name, target, folder, config, kernel)


def _kernel_of(file: Path | None) -> str:
    """Return the text of a kernel that is given, without the includes that are there anyway."""
    if file is None:
        return ""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot be read: {error}", file=str(file)) from None
    if _ENTRY not in text:
        raise SourceError(
            f"a kernel must define {_ENTRY}, but this file does not", file=str(file),
            hint="docs/synthesize.md, What a kernel file is",
        )  # fmt: skip
    return without_includes(text)


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
