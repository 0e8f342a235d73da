"""Tasks of the third agent, ready to judge kernels by: their specification, rules kernel, cases."""

from dataclasses import dataclass
from pathlib import Path

from warploom.synthesis.codegen import Graph, generate
from warploom.synthesis.correctness import accept, prepare_trial
from warploom.synthesis.interview import interview
from warploom.synthesis.records import CorrectnessReport, KernelSpec
from warploom.synthesis.reference.client import ReferenceProcess


@dataclass(frozen=True)
class PreparedTask:
    """A task with the kernel that the rules generate; its reference waits in a process."""

    spec: KernelSpec
    graph: Graph
    text: str
    seed: int
    reference: ReferenceProcess
    secret: Path

    def judge(self, text: str, seconds: float = 120.0) -> CorrectnessReport:
        """Send a kernel through acceptance, without nvcc."""
        trial = prepare_trial(self.spec, self.reference, self.seed, self.secret, text)
        return accept(text, self.spec, trial, seconds=seconds, jobs=2)

    def close(self) -> None:
        """End the process of the reference."""
        self.reference.close()


def prepare_task(
    file: Path, seed: int, secret: Path, ranks: int = 1, name: str = ""
) -> PreparedTask:
    """Prepare the task of a reference file; `secret` is a folder for what is expected."""
    reference = ReferenceProcess(file, name, ranks)
    try:
        found = interview(reference, "a kernel", "sm_90", [1, 2])
        text = generate(found.graph).text
    except BaseException:
        reference.close()
        raise
    return PreparedTask(found.spec, found.graph, text, seed, reference, secret)
