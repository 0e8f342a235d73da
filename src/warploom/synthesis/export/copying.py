"""Copies a run's package to where the user wants it."""

import json
import shutil
from pathlib import Path
from typing import Any

from warploom.core.errors import BadInputError, UnsupportedError
from warploom.core.ids import digest


def export_package(run: Path, folder: Path) -> tuple[Path, ...]:
    """Copy the package of a run; returns its files.

    Raises:
        BadInputError: the run verified no kernel, its kernel is not the one that was verified, or
            the folder holds something.
        UnsupportedError: it is a kernel of several ranks.
    """
    report: dict[str, Any] = json.loads((run / "report.json").read_text())
    package = run / "package"
    spec: dict[str, Any] = report["spec"] or {}
    ranks = spec.get("ranks", 1)
    if report["verified"] and ranks > 1:
        raise UnsupportedError(
            f"a kernel of {ranks} ranks is not exported: the package has no communicator yet",
            file=str(run), hint=f"the kernel is {run / 'kernel.cu'}",
        )  # fmt: skip
    if not report["verified"] or not package.is_dir():
        raise BadInputError(
            "only a verified kernel is exported, and this run has none", file=str(run)
        )
    _check_unchanged(report, package)
    if folder.exists() and any(folder.iterdir()):
        raise BadInputError("the folder must be empty or new", file=str(folder))
    shutil.copytree(package, folder, dirs_exist_ok=True)
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _check_unchanged(report: dict[str, dict[str, str]], package: Path) -> None:
    """Refuse a package whose kernel was edited after it was verified."""
    text = report["kernel"]["text"]
    if digest([text]) != report["kernel"]["digest"]:
        raise BadInputError("the kernel in the report is not the one that was verified")
    for source in package.glob("src/*/kernel.cu"):
        if not source.read_text().endswith(text):
            raise BadInputError("the kernel is not the one that was verified", file=str(source))
