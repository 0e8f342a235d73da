"""Where results come to the host, as the source shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """One device-to-host copy in the source, on lines `first` to `last` (from 1, inclusive).

    A `shared` one is no copy, but where memory that both sides see is allocated or declared; an
    `mpi` one is a call that receives into `buffer`.
    """

    file: str
    first: int
    last: int
    buffer: str
    dtype: str
    shared: bool = False
    mpi: bool = False
