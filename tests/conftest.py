"""What all tests need, and which of them a plain `pytest` leaves to CI: those marked slow."""

import os
import signal

import pytest

from warploom.toolchain.cache import cache_root

# A shell starts jobs in its background with SIGINT ignored, and programs inherit that: those that
# tests interrupt would run on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where Python is told to keep no bytecode, each command that a test starts would compile all of us.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", f"{cache_root()}-bytecode")

_QUICK, _SLOW, _ALL = "quick", "slow", "all"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--layer",
        choices=(_QUICK, _SLOW, _ALL),
        help="quick: what takes minutes (the default); slow: the rest, as CI runs it behind the "
        "quick ones; all: both (the default where files or -k are given)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.layer:  # workers get the answer of who started them
        asked = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
        config.option.layer = _ALL if asked else _QUICK


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.layer == _ALL:
        return
    wanted = config.option.layer == _SLOW
    left = [item for item in items if (item.get_closest_marker("slow") is not None) != wanted]
    config.hook.pytest_deselected(items=left)
    dropped = set(left)
    items[:] = [item for item in items if item not in dropped]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.option.layer == _QUICK:
        terminalreporter.write_line("The slow tests are left to CI: pytest --layer slow runs them.")
