"""What is broken of a folder whose report.json says nothing that can be shown."""

import json
from collections.abc import Iterator
from pathlib import Path

_REPORT = "report.json"


def broken_reports(place: Path) -> Iterator[tuple[Path, str]]:
    """Yield each report.json of a folder, and of two levels below, that is broken, and how.

    Where a folder is that of a search, its store says what there is: its report is none of these.
    """
    for path in (place / _REPORT, *place.glob(f"*/{_REPORT}"), *place.glob(f"*/*/{_REPORT}")):
        folders = (path.parent, path.parent.parent)
        if not any((folder / "run.json").is_file() for folder in folders):
            told = _broken(path)
            if told:
                yield path, told


def _broken(path: Path) -> str:
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        return ""
    except OSError as error:
        return f"the report cannot be read: {error.strerror}"
    except json.JSONDecodeError as error:
        return f"the report is broken at line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError:
        return "the report is broken: it is no UTF-8 text"
    except RecursionError:
        return "the report is broken: it is nested too deeply"
    return "" if isinstance(data, dict) else "the report is broken: it holds no object"
