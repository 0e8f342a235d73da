"""Steps of a run that need nothing of it: who judges, what is recorded, when it is to end."""

from dataclasses import dataclass

from warploom.evolve.candidates import Candidate
from warploom.evolve.config import BudgetConfig, EvolutionConfig
from warploom.evolve.confined import ConfinedEvaluator
from warploom.evolve.evaluator import Evaluator, jobs_for, judge_for
from warploom.evolve.judge import OwnJudge
from warploom.evolve.measured import MeasuredEvaluator
from warploom.source import unified_diff
from warploom.store.database import ProgramDatabase
from warploom.store.records import Event, Outcome, StoredProgram
from warploom.workload.workload import Workload

REJECTION = "rejection"


def evaluator_for(task: Workload, config: EvolutionConfig, workers: int) -> Evaluator:
    """Return who judges the candidates of a workload in `workers` slots."""
    judge = _judge_of(task, config, workers)
    return ConfinedEvaluator(judge, config.models) if config.models.names else judge


def _judge_of(task: Workload, config: EvolutionConfig, workers: int) -> Evaluator:
    if task.judge:
        return OwnJudge(task)
    judging, jobs = config.evaluation, config.jobs
    cores = jobs.cpus if jobs.remote else jobs_for(workers)
    if judging.backend == "cuda":
        return MeasuredEvaluator(task, judging.repeats, cores, judging.gpu_command)
    return judge_for(task, judging, cores)


def judged_program(
    database: ProgramDatabase, candidate: Candidate, outcome: Outcome, name: str
) -> StoredProgram:
    """Return what is recorded of a candidate that was judged; `name` is its file's."""
    lineage = candidate.lineage
    diff = ""
    if lineage.parent is not None and not candidate.failure:
        before = database.get(lineage.parent).code
        diff = unified_diff(before, candidate.text, name=name)
    return StoredProgram(
        candidate.number, candidate.text, lineage, outcome, database.language, diff=diff,
        cost=candidate.cost,
    )  # fmt: skip


def rejections_of(candidate: Candidate, at: int) -> list[Event]:
    """Return the proposals that were turned away before a candidate, after `at` attempts."""
    lineage = candidate.lineage
    told = {"number": candidate.number, "operator": lineage.operator, "model": lineage.model}
    return [Event(REJECTION, at, {**told, **one.to_json()}) for one in candidate.rejections]


@dataclass(frozen=True, slots=True)
class Used:
    """What a run has used of its budget; `capped` says which cap on models was reached."""

    tried: int
    improved_at: int
    seconds: float
    dollars: float
    capped: str


def reason_to_stop(budget: BudgetConfig, used: Used) -> str:
    """Return why no further attempt is made, "" where one is."""
    if used.tried >= budget.evaluations:
        return f"{budget.evaluations} evaluations were made, as many as allowed"
    if budget.max_hours is not None and used.seconds >= 3600 * budget.max_hours:
        return f"{budget.max_hours:g} hours have passed, as many as allowed"
    if used.capped:
        return used.capped
    if budget.max_dollars is not None and used.dollars >= budget.max_dollars:
        return f"{budget.max_dollars:g} dollars are spent, as many as allowed"
    still = used.tried - used.improved_at
    if budget.plateau and still >= budget.plateau * budget.generation_size:
        return f"no better program in {budget.plateau} generations"
    return ""
