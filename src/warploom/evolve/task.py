"""What prompts say of a workload, and how replies about its programs are read."""

from warploom.emulator import find_topology
from warploom.evaluation.survey import nccl_version
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.drafts import Reader
from warploom.evolve.judge import JUDGE, language_of
from warploom.propose.llm.open_replies import read_open_reply
from warploom.propose.llm.replies import read_reply
from warploom.propose.llm.sampler import SearchFacts
from warploom.source.regions import Program
from warploom.toolchain.gpu import find_gpus
from warploom.workload.workload import Workload


def search_facts(task: Workload, config: EvolutionConfig, time_source: str) -> SearchFacts:
    """Return what all prompts of a search say besides programs."""
    told = "\n\n".join(text for text in (task.task, config.models.task) if text)
    tokens = config.models.context_tokens
    if task.judge:
        language = language_of(task.program)
        return SearchFacts(task=told, language=language, timed=time_source != JUDGE, tokens=tokens)
    return SearchFacts(
        machine=_machine(task, config),
        task=told,
        nccl=nccl_version(task),
        timed=time_source != JUDGE,
        tokens=tokens,
    )


def reader_for(task: Workload) -> Reader:
    """Return what reads programs out of replies."""
    return _read_open if task.judge else _read_cuda


def _read_open(reply: str, base: str) -> tuple[str, str]:
    found = read_open_reply(reply, base)
    return found.text, found.problem


def _read_cuda(reply: str, base: str) -> tuple[str, str]:
    program = Program(base)
    found = read_reply(reply, program, free=not program.regions)
    return found.text, found.problem


def _machine(task: Workload, config: EvolutionConfig) -> str:
    together = task.shape.lsa_size or task.shape.ranks
    ranks = (
        f"{task.shape.ranks} ranks, one GPU each; {together} of them share memory (LSA team). NCCL "
        f"{nccl_version(task)}: only what its headers declare exists."
    )
    if config.evaluation.backend == "cuda":
        gpus = ", ".join(dict.fromkeys(gpu.name for gpu in find_gpus()))
        return f"{ranks}\nTimes are measured on {gpus or 'GPUs'}."
    machine = find_topology(config.evaluation.topology)
    numbers = [f"{name} {value:g}" for name, value in machine.values.items()]
    return "\n".join((
        ranks,
        f"Times are modelled for {machine.name}: {machine.description}. Its numbers, with units "
        f"in their names: {', '.join(numbers)}.",
    ))  # fmt: skip
