"""The tasks that kernels are judged by, each prepared once in a session."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warploom.testing.kernel_tasks import PreparedTask, prepare_task


@pytest.fixture(scope="session")
def prepared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Path], PreparedTask]]:
    """Return what prepares the task of a reference file, once."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed: pip install 'warploom[torch]'")
    known: dict[Path, PreparedTask] = {}

    def make(file: Path) -> PreparedTask:
        if file not in known:
            known[file] = prepare_task(file, 20261126, tmp_path_factory.mktemp("secret"))
        return known[file]

    yield make
    for task in known.values():
        task.close()
