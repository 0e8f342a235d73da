"""The results of a program that are compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from warploom.core.errors import BadInputError
from warploom.workload.dtypes import dtype_of


@dataclass(frozen=True, slots=True)
class Output:
    """One result that is compared: |got - expected| <= atol + rtol * |expected|, per element.

    `atol` None stands for `rtol` times the typical magnitude of what is expected (the median of
    its non-zero elements), so that sums which nearly cancel are not held to the last bit.
    `buffer` is the device expression of the read-back copy with spaces removed.
    """

    buffer: str
    dtype: str
    rtol: float
    atol: float | None = None

    @classmethod
    def with_defaults(
        cls, buffer: str, dtype: str, rtol: float | None = None, atol: float | None = None
    ) -> "Output":
        """Make an output; an `rtol` of None becomes the default of its type."""
        kind = dtype_of(dtype)
        return cls(
            buffer=plain_name(buffer),
            dtype=kind.name,
            rtol=kind.rtol if rtol is None else rtol,
            atol=atol,
        )


def plain_name(buffer: str) -> str:
    """Return a device expression as outputs are named: without spaces."""
    return "".join(buffer.split())


def check_left_out(names: Sequence[str], outputs: Sequence[Output]) -> None:
    """Raise BadInputError where an output that is declared is to be left out as well."""
    for output in outputs:
        if output.buffer in names:
            raise BadInputError(
                f"leave_out must not name a declared output, but both name {output.buffer!r}",
                hint="only what [[outputs]] declares is compared: nothing else need be left out",
            )
