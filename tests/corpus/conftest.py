"""Runs the entries that were selected on all cores: most of their time is spent in a compiler."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

Ahead = Callable[[str, Callable[[Any], Any]], Callable[[Any], Any]]


@pytest.fixture(scope="module")
def ahead(request: pytest.FixtureRequest) -> Iterator[Ahead]:
    """Return a function that runs `task` on each selected value of a parameter, ahead of time.

    What it returns gives the result for one value. Each worker of pytest-xdist runs its own tests
    only when they come.
    """
    pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)

    def start(name: str, task: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if hasattr(request.config, "workerinput"):
            return task
        futures: dict[Any, Future[Any]] = {}
        for item in request.session.items:
            spec = getattr(item, "callspec", None)
            if getattr(item, "module", None) is request.module and spec and name in spec.params:
                value = spec.params[name]
                futures[value] = pool.submit(task, value)
        return lambda value: futures[value].result()

    yield start
    pool.shutdown(wait=False, cancel_futures=True)
