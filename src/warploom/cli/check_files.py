"""The files and annotations of a check that came to no run."""

from collections.abc import Generator
from contextlib import contextmanager

from warploom.cli.output import out, say
from warploom.core.errors import SourceError
from warploom.reports.formats.files import CheckFiles
from warploom.reports.queries.checked import not_built
from warploom.workload.workload import Workload


@contextmanager
def told_if_not_built(files: CheckFiles, workload: Workload, *, as_json: bool) -> Generator[None]:
    """Write a check's files also where its program does not compile; the error goes on."""
    try:
        yield
    except SourceError as error:
        nccl = workload.shape.nccl or "newest"
        report = not_built(error, workload.program, workload.shape.ranks, nccl)
        print_annotations(files.write(report), as_json=as_json)
        raise


def print_annotations(lines: list[str], *, as_json: bool) -> None:
    """Print workflow commands. GitHub reads both streams; with --json stdout holds one value."""
    for line in lines:
        (say if as_json else out)(line)
