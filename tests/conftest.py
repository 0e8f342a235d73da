"""What all tests need, and which of them a plain `pytest` leaves to CI: the slow ones."""

import argparse
import os
import signal
import time
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from warploom.toolchain.cache import cache_root

# A shell starts jobs in its background with SIGINT ignored, and programs inherit that: those that
# tests interrupt would run on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where Python is told to keep no bytecode, each command that a test starts would compile all of us.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", f"{cache_root()}-bytecode")

_QUICK, _SLOW, _LONG, _ALL = "quick", "slow", "long", "all"
# Folders whose tests build and run programs, and what of them is quick, or shows most in a minute.
_BUILDING = frozenset(
    (
        "attacks", "corpus", "emulator", "evaluation", "evolve", "fuzz", "jobs", "mcp", "synthesis",
        "transform", "web",
    )
)  # fmt: skip
_QUICK_AMONG = frozenset(
    (
        "test_cascade", "test_codegen", "test_compare", "test_evolve_cli", "test_evolve_config",
        "test_evolve_parts", "test_half_written", "test_imports", "test_kept_forms",
        "test_legality", "test_legality_classes", "test_metering", "test_metering_loops",
        "test_metering_unread", "test_nccl_host", "test_resume", "test_rewrite",
        "test_runtime_headers", "test_search", "test_tokens_and_scopes", "test_web_api",
        "test_web_damage", "test_workload",
    )
)  # fmt: skip
# Files of quick folders that take longer.
_SLOW_AMONG = frozenset(
    (
        "test_check_written", "test_mutate", "test_postgres", "test_prelude_compiles",
        "test_python_examples", "test_reading",
    )
)  # fmt: skip
# Of a family with more members than this CI runs every other one, by its name.
_LARGE_FAMILY = 6
_WHOLE_FAMILIES = frozenset(("corpus",))  # says itself which
# Needs npm and minutes: only who names the folder gets it (docs/testing.md).
_ASKED_FOR = "agents"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--layer",
        choices=(_QUICK, _SLOW, _LONG, _ALL),
        help="quick: what takes minutes (the default); slow: the rest, as CI runs it behind the "
        "quick ones; long: families of which CI runs a part, for a night; all: everything (the "
        "default where files or -k are given)",
    )
    parser.addoption(
        "--minutes",
        type=float,
        help="what has not begun after so many minutes is skipped, and counted: for machines whose "
        "speed varies and whose time is limited",
    )
    parser.addoption(
        "--part",
        type=_part,
        metavar="K/N",
        help="one of N parts of about as many tests each, such as 1/4: for machines side by side",
    )


def _part(text: str) -> tuple[int, int]:
    at, slash, parts = text.partition("/")
    if not (slash and at.isdecimal() and parts.isdecimal() and 1 <= int(at) <= int(parts)):
        raise argparse.ArgumentTypeError(f"a part must be K/N, such as 1/4, got {text!r}")
    return int(at), int(parts)


_BEGAN = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_BEGAN] = time.monotonic()
    if not config.option.layer:  # workers get the answer of who started them
        asked = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
        config.option.layer = _ALL if asked else _QUICK


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _layer(item: pytest.Item) -> str:
    folder = _folder(item)
    if folder == _ASKED_FOR:
        return _ASKED_FOR
    if item.get_closest_marker(_LONG):
        return _LONG
    if item.path.stem in _SLOW_AMONG:
        return _SLOW
    return _SLOW if folder in _BUILDING and item.path.stem not in _QUICK_AMONG else _QUICK


def _every_other(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the members of large families of the slow layer that are left to a night."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if _folder(item) not in _WHOLE_FAMILIES and _layer(item) == _SLOW:
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {
        item
        for family in families.values()
        if len(family) > _LARGE_FAMILY
        for item in family[1:]
        if zlib.crc32(item.nodeid.encode()) % 2
    }


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    at, parts = config.option.part or (1, 1)
    by_night = _every_other(items)
    left = [
        item
        for item in items
        if config.option.layer not in (_ALL, _LONG if item in by_night else _layer(item))
        or zlib.crc32(item.nodeid.encode()) % parts != at - 1
    ]
    config.hook.pytest_deselected(items=left)
    dropped = set(left)
    items[:] = [item for item in items if item not in dropped]
    if config.option.minutes:
        # What is left out is then of all folders.
        items.sort(key=lambda item: zlib.crc32(item.path.name.encode()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    minutes = item.config.option.minutes
    if minutes and time.monotonic() - item.config.stash[_BEGAN] > 60 * minutes:
        pytest.skip(f"left out: the {minutes:g} minutes of --minutes were over")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.option.layer == _QUICK:
        terminalreporter.write_line(
            "Left to CI: pytest --layer slow. Left to a night: pytest --layer long."
        )
