"""A reference's process and its cases, once for each module that needs them."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from warploom.synthesize.codegen import Graph, generate
from warploom.synthesize.correctness import Trial, accept, prepare_trial
from warploom.synthesize.interview import interview
from warploom.synthesize.records import CorrectnessReport, KernelSpec
from warploom.synthesize.reference.client import ReferenceProcess

EXAMPLES = Path(__file__).parents[2] / "examples" / "synthesize"

if importlib.util.find_spec("torch") is None:
    collect_ignore = ["test_kernels.py", "test_synthesize_cli.py", "test_kernel_attacks.py",
                      "test_kernel_mutants.py", "test_models_write_kernels.py"]  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """A task with its rules kernel and one trial."""

    spec: KernelSpec
    graph: Graph
    text: str
    trial: Trial

    def judge(self, text: str) -> CorrectnessReport:
        return accept(text, self.spec, self.trial, jobs=2)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Prepared]]:
    """Return what prepares the task of a reference file, once."""
    known: dict[Path, Prepared] = {}

    def make(file: Path) -> Prepared:
        if file not in known:
            with ReferenceProcess(file) as reference:
                found = interview(reference, "a kernel", "sm_90", [1, 2])
                secret = tmp_path_factory.mktemp("secret")
                trial = prepare_trial(found.spec, reference, 20261126, secret)
            known[file] = Prepared(found.spec, found.graph, generate(found.graph).text, trial)
        return known[file]

    yield make
