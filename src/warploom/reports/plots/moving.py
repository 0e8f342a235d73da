"""The code along the path to the best as a moving picture: GIF by Pillow, MP4 by ffmpeg."""

import io
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from warploom.core.errors import ToolFailedError
from warploom.reports.formats.files import write_bytes
from warploom.reports.plots.player import Step, steps_of
from warploom.reports.queries.opened import OpenRun

_WIDTH, _HEIGHT = 1120, 700  # even, as video wants it
_LEFT, _TOP, _LINE = 24, 92, 20
_ROWS = (_HEIGHT - _TOP - 20) // _LINE
_COLUMNS = 118
_SECONDS = 2.5
_MOST_STEPS = 60
_PAPER, _INK, _DIM, _ACCENT = "#ffffff", "#18212d", "#586579", "#0b5cad"
_BACK = {"+": "#ddf5e5", "-": "#fde6e3", "@": "#edf1f6"}


def write_moving(run: OpenRun, path: Path) -> None:
    """Write the path to the best as a .gif or .mp4.

    Raises:
        BadInputError: the run has no correct program yet, or the file cannot be written.
        ToolFailedError: ffmpeg fails.
    """
    steps = steps_of(run)
    left_out = max(0, len(steps) - _MOST_STEPS)
    shown = [*steps[:1], *steps[1 + left_out :]]
    title = f"{run.source.title}: the path to the best"
    if left_out:
        title += f" (without {left_out} steps in the middle)"
    frames = [_frame(title, step, at, len(shown)) for at, step in enumerate(shown, 1)]
    if path.suffix.lower() == ".gif":
        write_bytes(path, _gif(frames))
    else:
        _write_mp4(frames, path)


def _frame(title: str, step: Step, at: int, of: int) -> Any:
    pillow: Any = import_module("PIL.Image")
    drawing: Any = import_module("PIL.ImageDraw")
    picture = pillow.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
    pen = drawing.Draw(picture)
    pen.text((_LEFT, 14), title, font=_font("DejaVuSans-Bold", 17), fill=_INK)
    pen.text((_LEFT, 40), f"{at} of {of}. {step.title}", font=_font("DejaVuSans", 15), fill=_ACCENT)
    about = " ".join(step.about.split())
    about = about if len(about) <= 130 else f"{about[:126]} ..."
    pen.text((_LEFT, 63), about, font=_font("DejaVuSans", 13), fill=_DIM)
    code = _font("DejaVuSansMono", 14)
    for row, line in enumerate(window_of(step)):
        y = _TOP + row * _LINE
        back = _BACK.get(line[:1]) if step.kind == "diff" else None
        if back:
            pen.rectangle((_LEFT - 8, y - 1, _WIDTH - 16, y + _LINE - 2), fill=back)
        pen.text((_LEFT, y), line, font=code, fill=_INK)
    done = round((_WIDTH - 1) * at / of)
    pen.rectangle((0, _HEIGHT - 5, done, _HEIGHT), fill=_ACCENT)
    return picture


def window_of(step: Step) -> list[str]:
    """Return the lines that are shown: from shortly before the first change on.

    What is left out of them, above, below and at the right, is told in their place.
    """
    lines = [_fitting(line.replace("\t", "    ")) for line in step.text.splitlines()]
    if step.kind == "diff":
        lines = [one for one in lines if not one.startswith(("---", "+++"))]
    changed = [at for at, one in enumerate(lines) if step.kind == "diff" and one[:1] in ("+", "-")]
    first = max(0, changed[0] - 5) if changed else 0
    room = _ROWS - (first > 0)
    shown = lines[first : first + room]
    if first:
        shown.insert(0, f"... {_counted(first, 'line')} above")
    rest = len(lines) - first - room
    if rest > 0:
        hidden = lines[first + room - 1 :]
        of_change = sum(step.kind == "diff" and one[:1] in ("+", "-") for one in hidden)
        told = f", {_counted(of_change, 'changed line')} among them" if of_change else ""
        shown[-1] = f"... {_counted(len(hidden), 'more line')}{told}"
    return shown


def _fitting(line: str) -> str:
    return line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 4]} ..."


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _font(name: str, size: int) -> Any:
    fonts: Any = import_module("PIL.ImageFont")
    matplotlib: Any = import_module("matplotlib")
    return fonts.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}.ttf", size)


def _gif(frames: Sequence[Any]) -> bytes:
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=list(frames[1:]), loop=0,
                   duration=round(1000 * _SECONDS), optimize=True)  # fmt: skip
    return out.getvalue()


def _write_mp4(frames: Sequence[Any], path: Path) -> None:
    """Have ffmpeg make a film of PNG pictures that it is given."""
    tool = shutil.which("ffmpeg") or "ffmpeg"
    pictures = io.BytesIO()
    for frame in [*frames, frames[-1]]:  # the last one is shown no shorter
        frame.save(pictures, "PNG")
    fresh = path.with_name(f".{path.stem}.new.mp4")
    command = [
        tool, "-hide_banner", "-loglevel", "error", "-y", "-f", "image2pipe", "-framerate",
        str(1 / _SECONDS), "-i", "-", "-vf", "format=yuv420p", "-r", "10", str(fresh),
    ]  # fmt: skip
    done = subprocess.run(command, input=pictures.getvalue(), capture_output=True, check=False)
    if done.returncode:
        fresh.unlink(missing_ok=True)
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise ToolFailedError(
            f"ffmpeg failed: {words[-1] if words else 'it said nothing'}", file=str(path)
        )
    fresh.replace(path)
