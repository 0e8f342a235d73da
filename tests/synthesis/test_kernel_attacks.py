"""Each cheat of the table is played, and refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.testing.kernel_attacks import ATTACKS, HONEST, REFERENCE, KernelAttack
from warploom.testing.kernel_tasks import PreparedTask

_BUILT = frozenset({"only-when-poisoned", "memory-behind-the-output"})  # fmt: skip
"""Of those that no rule of the text refuses, the ones that CI plays."""
_REFUSED = frozenset({
    "another-stream", "background-thread", "memory-of-others", "carve-out", "own-clock", "events",
    "report-file", "early-exit", "readback-of-its-own", "redefined-call", "pasted-name",
    "harness-called", "own-main", "static_constructor", "library", "framework", "loaded-library",
    "cache-by-pointer", "cache-by-first-value", "only-while-checked", "fresh-memory",
    "wrong-after-calls",
})  # fmt: skip


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attacked") / "twice.py"
    path.write_text(REFERENCE)
    return path


def _quick(attack: KernelAttack) -> bool:
    return attack.name in _BUILT or attack.name in _REFUSED


@pytest.mark.parametrize(
    "attack",
    [pytest.param(a, id=a.name, marks=() if _quick(a) else (pytest.mark.long,)) for a in ATTACKS],
)
def test_a_cheat_is_refused(
    attack: KernelAttack, file: Path, prepared: Callable[[Path], PreparedTask]
) -> None:
    report = prepared(file).judge(attack.text)
    assert not report.passed
    if attack.name not in _REFUSED:
        assert report.builds[0].ok, "it must be refused for what it does, not for its text"


@pytest.mark.long  # test_ways.py has another honest kernel of this task judged
def test_the_honest_kernel_passes(file: Path, prepared: Callable[[Path], PreparedTask]) -> None:
    report = prepared(file).judge(HONEST)
    assert report.passed, report.findings
