"""`EvolutionRunner`: seeds, then attempts until a budget, a plateau or the end of the space."""

from contextlib import ExitStack
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.evaluation.runs.plan import ProgressCallback, ignore_progress
from warploom.evolve.config import EvolutionConfig
from warploom.evolve.confined import require_confined
from warploom.evolve.desk import FOLDER, ModelDesk
from warploom.evolve.evaluator import Evaluator
from warploom.evolve.folder import RunFacts, RunFolder, require_same
from warploom.evolve.judge import language_of, require_judge
from warploom.evolve.loop import Run
from warploom.evolve.parts import Parts, StatusCallback
from warploom.evolve.result import EvolutionResult, Status
from warploom.evolve.seeds import SeedSource, TransformedSeeds, kept_seeds
from warploom.evolve.space import Space
from warploom.evolve.team import Alone, Team, Together, require_shareable
from warploom.jobs import Engine
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.fingerprint import CUDA
from warploom.toolchain.gpu import require_gpus
from warploom.transform import unmarked
from warploom.workload.run_shape import shape_change
from warploom.workload.workload import Workload, load_target


def ignore_status(_: Status) -> None:
    """The callback where nobody watches."""


class EvolutionRunner:
    """Searches for a faster program.

    Args:
        config: all that decides how the search goes.
        evaluator: judges candidates; default: the cascade, for the workload.
        seeds: makes the programs to start from; default: `transform`.
        engine: where candidates are judged; default: what the configuration asks for.
        space: the steps from text to text; default: the rules of `propose/mutate`.
        on_progress: told of each step while the seeds are made.
        on_status: told how far the run is, after each attempt.
    """

    def __init__(
        self,
        config: EvolutionConfig | None = None,
        *,
        evaluator: Evaluator | None = None,
        seeds: SeedSource | None = None,
        space: Space | None = None,
        engine: Engine | None = None,
        on_progress: ProgressCallback = ignore_progress,
        on_status: StatusCallback = ignore_status,
    ) -> None:
        self.config = config or EvolutionConfig()
        self.evaluator = evaluator
        self.seeds = seeds or TransformedSeeds(self.config.evaluation.nvcc)
        self.space = space
        self.engine = engine
        self.on_progress = on_progress
        self.on_status = on_status

    def run(
        self,
        workload: Path | str,
        output_dir: Path | str,
        *,
        seed: int | None = None,
        resume: bool = False,
    ) -> EvolutionResult:
        """Search from the program or workload at a path, in the folder `output_dir`.

        With `seed` the same run comes out again, for the same number of workers. With `resume` the
        run in the folder goes on from where it ended, however it did: nothing that was judged is
        judged again.

        Raises:
            BadInputError: the workload or folder is wrong, no seed verifies, or (a StoreError) the
                database cannot be used.
            MissingToolError: there is no compiler, or models propose and there is no sandbox.
            LLMError: a model cannot be asked: no key, no price, an outage; the run can be resumed.
            KeyboardInterrupt: Ctrl-C; the run can be resumed.
        """
        folder = RunFolder(Path(output_dir))
        target = Path(workload)
        if resume and not folder.exists:
            raise BadInputError(
                "there is no run to resume", file=str(folder.path), hint="leave out --resume"
            )
        given = load_target(target, own_judge=True)
        self._require_changes(given)
        if self.config.database.run:
            require_shareable(self.config, seed)
        self._require_gpus()  # before the seeds are made, which takes a minute
        if not self.config.jobs.remote:
            require_confined(self.config.models)
        with folder.locked(), ExitStack() as leaving:
            if resume:
                facts = folder.facts()
                require_same(facts, given)
                folder.keep_config(self.config)
            else:
                facts = RunFacts.new(target, given, self.config, seed)
                folder.begin(facts, self.config)
            try:
                return self._run(folder, facts, self._task(given, folder), leaving)
            except BaseException:
                if kept_seeds(folder.path) is None and not resume:
                    leaving.close()
                    folder.forget()
                raise

    def _run(
        self, folder: RunFolder, facts: RunFacts, task: Workload, leaving: ExitStack
    ) -> EvolutionResult:
        url = self.config.database.url or sqlite_url(folder.path / "programs.db")
        language = language_of(task.program) if task.judge else CUDA
        shared = self.config.database.run
        database = ProgramDatabase(
            self.config.database, url=url, run=shared or facts.id, language=language,
            runner=facts.id if shared else "",
        )  # fmt: skip
        leaving.callback(database.close)
        team: Team = Alone()
        if shared:
            team = together = Together(database)
            leaving.callback(team.close)
            facts = together.begin(facts, self.config)
        elif not database.facts:
            database.begin({"workload": facts.workload, "seed": facts.seed})
        desk = self._desk(folder)
        if desk is not None:
            leaving.callback(desk.close)
        parts = Parts(
            self.config, self.evaluator, self.seeds, self.space, self.on_progress, self.on_status,
            desk, team, self.engine,
        )  # fmt: skip
        run = Run(parts, folder, facts, task, database)
        leaving.callback(run.close)
        return run.go()

    def _require_gpus(self) -> None:
        """Raise MissingToolError where candidates are to be timed here, and there is no GPU."""
        judging = self.config.evaluation
        elsewhere = self.config.jobs.remote or judging.gpu_command is not None
        if judging.backend == "cuda" and not elsewhere and self.evaluator is None:
            require_gpus()

    def _require_changes(self, given: Workload) -> None:
        """Raise BadInputError where nothing could change the programs of a workload."""
        if not given.judge:
            return
        require_judge(given)
        if not self.config.models.names:
            raise BadInputError(
                "no rule changes the programs of a workload with a judge of its own",
                file=str(given.root),
                hint="name a model: 'models.names=[MODEL]' evolution.max_dollars=USD",
            )

    def _desk(self, folder: RunFolder) -> ModelDesk | None:
        """Return where models are asked; None where none is configured."""
        models = self.config.models
        if not models.names:
            return None
        return ModelDesk(models, self.config.evolution.max_dollars, folder.path / FOLDER)

    def _task(self, given: Workload, folder: RunFolder) -> Workload:
        """Return the workload with what the configuration changes, and without markers."""
        if given.judge:
            return given
        wanted = self.config.workload
        task = given.with_overrides(
            defines=wanted.defines,
            scored_region=wanted.scored_region,
            time_sizes=wanted.time_sizes,
            **shape_change(wanted),
        )
        text = task.program.read_bytes().decode("utf-8", "surrogateescape")
        return unmarked(task, text, folder.path)
