"""Matplotlib, set up once: no window, one style, the same bytes for the same picture."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from warploom.core.errors import BadInputError, MissingToolError

KINDS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7ae6", "#7f8c8d")
BAD, INK, DIM, ACCENT = "#b32318", "#18212d", "#586579", "#0b5cad"
MOVING = (".gif", ".mp4")
_FORMATS = (".svg", ".png", ".pdf")
_STYLE: dict[str, Any] = {
    "figure.figsize": (8.6, 4.8), "figure.dpi": 110, "savefig.dpi": 160,
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": DIM, "axes.labelcolor": INK, "xtick.color": DIM, "ytick.color": DIM,
    "axes.grid": True, "grid.color": "#dbe1ea", "grid.linewidth": 0.8, "axes.axisbelow": True,
    "axes.titlelocation": "left", "axes.titlesize": 12, "axes.titleweight": "bold",
    "legend.frameon": False, "svg.hashsalt": "warploom", "svg.fonttype": "none",
    "text.parse_math": False,
}  # fmt: skip


def require_matplotlib() -> None:
    """Raise where there is no matplotlib.

    Raises:
        MissingToolError: it is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingToolError(
            "the package matplotlib is needed to draw, and is not installed",
            hint="pip install 'warploom[plots]'",
        )


def require_format(path: Path) -> None:
    """Raise where a file's ending names no picture.

    Raises:
        BadInputError: it is none of .svg, .png and .pdf.
    """
    if path.suffix.lower() not in _FORMATS:
        raise BadInputError(
            f"a plot is written as {', '.join(_FORMATS)}, got {path.suffix or 'no ending'!r}",
            file=str(path),
        )


def require_moving(path: Path) -> None:
    """Raise where nothing here can write a moving picture of a file's ending.

    Raises:
        MissingToolError: Pillow, matplotlib's font, or ffmpeg is missing.
    """
    require_matplotlib()
    if find_spec("PIL") is None:
        raise MissingToolError(
            "the package pillow is needed to write pictures, and is not installed",
            hint="pip install 'warploom[plots]'",
        )
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise MissingToolError(
            "the program ffmpeg is needed to write .mp4, and is not here", file=str(path),
            hint="install it (apt install ffmpeg), or write a .gif or .html instead",
        )  # fmt: skip


@contextmanager
def figure(path: Path, title: str, *, height: float = 4.8) -> Generator[tuple[Any, Any]]:
    """Give a figure and its axes to draw on; they are written when the body ends.

    Text is never read as mathematics, whatever it holds.
    """
    mpl: Any = import_module("matplotlib")  # its types are partly unknown
    mpl.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")

    with mpl.rc_context(_STYLE):
        drawn, axes = pyplot.subplots(figsize=(8.6, height), layout="constrained")
        try:
            axes.set_title(title)
            yield drawn, axes
            metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
            drawn.savefig(path, metadata=metadata)
        finally:
            pyplot.close(drawn)
