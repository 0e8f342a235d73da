"""What a run of the transform pipeline knows so far, and the texts that it works on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from warploom.core.records import Api
from warploom.evaluation.records import Evaluation
from warploom.source import AnalysisReport
from warploom.source.records import Collective
from warploom.source.regions import Program, strip_markers
from warploom.transform.host_to_device import RULES, Task
from warploom.transform.outputs import Written
from warploom.transform.records import PipelineStepResult, StageResult, StepStatus
from warploom.transform.seen_results import with_results_seen
from warploom.transform.several_files import Places, SeveralFiles, several_files
from warploom.transform.texts import analysis_of, write_text
from warploom.workload.workload import Workload


@dataclass
class RunState:
    """What one run of the pipeline knows so far."""

    workload: Workload
    folder: Path
    source: Path  # the user's program
    files: SeveralFiles | None = None
    places: Places | None = None
    calls: tuple[Collective, ...] = ()
    seen: bool = False  # whether results are read back for the proof alone
    made: Mapping[str, str] = field(default_factory=dict[str, str])
    original: str = ""
    text: str = ""
    task: Task | None = None
    api: Api | None = None
    api_reason: str = ""
    evaluation: Evaluation | None = None
    hardware: Evaluation | None = None
    stages: tuple[StageResult, ...] = ()
    steps: list[PipelineStepResult] = field(default_factory=list[PipelineStepResult])

    @property
    def trusted(self) -> bool:
        """Whether the text is the user's own, or was made by rules alone."""
        return all(stage.origin == RULES for stage in self.stages)

    @property
    def failed(self) -> bool:
        """Whether a step has failed."""
        return any(step.status is StepStatus.FAILED for step in self.steps)

    def written(self) -> Written:
        """Return what is written: the files before and after."""
        name = self.workload.program.name
        if self.files is None:
            base = self.places.base if self.places else self.workload.program.parent
            return Written({name: self.original}, {name: self.text}, name, base)
        united = self.files.united
        made = self.made or {name: self.text}
        return Written(united.files, made, next(iter(made)), united.base)


def see_results(run: RunState, report: AnalysisReport) -> None:
    """Read back what communications deliver, in a program that reads nothing back itself."""
    text = with_results_seen(run.text, report)
    if text is None:
        return
    workload = run.workload
    path = write_text(run.folder / "seen" / workload.program.name, text)
    own = Places(workload.program, workload.program.parent, ())
    run.places = (run.places or own).of_text(path, text)
    run.workload = replace(
        workload, program=path, include_dirs=(*workload.include_dirs, workload.program.parent)
    )
    run.text, run.seen = text, True
    analysis = analysis_of(path, run.workload)
    judged = unmarked(run.workload, text, run.folder / "seen-unmarked")
    run.task = Task(text, analysis, judged, seen=True)


def opened(workload: Workload, folder: Path) -> RunState:
    """Return a run; several files are put together for it."""
    files = several_files(workload)
    if files is None:
        return RunState(workload, folder, workload.program)
    one = files.as_one(folder)
    return RunState(one, folder, workload.program, files, Places.of(files, one.program))


def unmarked(workload: Workload, text: str, folder: Path) -> Workload:
    """Return the workload with a program without markers: its frame is what is to change."""
    program = Program(text, workload.program)
    if not program.regions:
        return workload
    path = write_text(folder / "reference" / workload.program.name, strip_markers(program))
    folders = (*workload.include_dirs, workload.program.parent)
    return replace(workload, program=path, include_dirs=folders)
