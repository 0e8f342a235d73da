"""`warploom init`."""

import shutil
from pathlib import Path

from warploom.cli.output import out
from warploom.core.errors import BadInputError

_STARTER = Path(__file__).with_name("starter")


def run_init(folder: Path) -> int:
    """Write the starter workload into `folder`, or a workload file beside a program.

    Nothing that exists is overwritten.
    """
    if folder.is_file() and folder.suffix in (".cu", ".cpp", ".cc", ".cxx"):
        from warploom.evaluation.scaffold import write_scaffold

        file = write_scaffold(folder)
        out(f"wrote {file}")
        out(f"next: read it, then: warploom check {file.parent}")
        return 0
    if folder.exists() and not folder.is_dir():
        raise BadInputError("must be a folder, but it is a file", file=str(folder))
    sources = sorted(path for path in _STARTER.iterdir() if path.is_file())
    taken = [path.name for path in sources if (folder / path.name).exists()]
    if taken:
        raise BadInputError(
            f"{', '.join(taken)} must not exist yet",
            file=str(folder),
            hint="name another folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"the folder cannot be made: {error.strerror}",
            file=str(folder),
            hint="name a folder that you can write to",
        ) from None
    for path in sources:
        shutil.copyfile(path, folder / path.name)
        out(f"wrote {folder / path.name}")
    out(f"next: warploom check {folder}")
    return 0
