"""What `--backend` means: small, since every check asks for it and few go to GPUs."""

from pathlib import Path

from warploom.core.errors import BadInputError

BACKENDS = ("emulator", "cuda")


def is_cuda(backend: str) -> bool:
    """Whether `backend` is the GPUs; raise BadInputError for a backend that there is not."""
    if backend not in BACKENDS:
        raise BadInputError(f"--backend must be emulator or cuda, got {backend!r}")
    return backend == "cuda"


def level_on_gpus(level: int | None, topology: str | None, timeline: Path | None) -> int:
    """Return the level to go to; refuse to model time where it is measured."""
    from warploom.evaluate.evaluation import VERIFY

    if topology is not None or timeline is not None or (level or 0) > VERIFY:
        raise BadInputError(
            "--topology, --timeline and levels 3 and 4 model time in the emulator: on GPUs it is "
            "measured at level 2"
        )
    return VERIFY if level is None else level
