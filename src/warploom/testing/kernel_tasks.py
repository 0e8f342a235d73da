"""Tasks of the third agent, ready to judge kernels by: their specification, rules kernel, cases."""

from dataclasses import dataclass
from pathlib import Path

from warploom.synthesize.codegen import Graph, generate
from warploom.synthesize.correctness import Trial, accept, prepare_trial
from warploom.synthesize.interview import interview
from warploom.synthesize.records import CorrectnessReport, KernelSpec
from warploom.synthesize.reference.client import ReferenceProcess


@dataclass(frozen=True)
class PreparedTask:
    """A task with the kernel that the rules generate and one trial."""

    spec: KernelSpec
    graph: Graph
    text: str
    trial: Trial

    def judge(self, text: str) -> CorrectnessReport:
        """Send a kernel through acceptance, without nvcc."""
        return accept(text, self.spec, self.trial, jobs=2)


def prepare_task(file: Path, seed: int, secret: Path) -> PreparedTask:
    """Prepare the task of a reference file; `secret` is a folder for what is expected."""
    with ReferenceProcess(file) as reference:
        found = interview(reference, "a kernel", "sm_90", [1, 2])
        trial = prepare_trial(found.spec, reference, seed, secret)
    return PreparedTask(found.spec, found.graph, generate(found.graph).text, trial)
