"""Where what had to be modelled for a plot is kept: in the run's folder, if that can be written."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def room_for(folder: Path, name: str) -> Generator[Path]:
    """Give the folder of a run to keep a file in its subfolder `name`, or one that is temporary.

    A run in a read-only place can be drawn too: then what was modelled is not kept.
    """
    target = folder / name
    if os.access(target if target.exists() else folder, os.W_OK):
        target.mkdir(exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="warploom-plot-") as lent:
        (Path(lent) / name).mkdir()
        yield Path(lent)
