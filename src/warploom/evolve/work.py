"""One piece of work for a worker process: judge a candidate, unless that was done already."""

from dataclasses import dataclass
from pathlib import Path

from warploom.attempt import Recall, attempt
from warploom.evolve.evaluator import Evaluator, Question
from warploom.evolve.search import question_key
from warploom.store.records import Outcome
from warploom.store.rows import outcome_from


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges one text; its word is on disk, below `folder`, before it is handed over."""

    evaluator: Evaluator
    number: int
    origin: str
    text: str
    question: Question
    folder: Path
    file_name: str

    @property
    def key(self) -> str:
        """What the judgment depends on, as one word."""
        question = self.question
        return question_key(self.evaluator.key, self.text, question.api, question.inputs)

    def __call__(self) -> Outcome:
        """Return the outcome."""
        question = self.question
        made = attempt(
            self.number,
            self.origin,
            lambda: self.text,
            lambda path: self.evaluator(path, question),
            self.folder,
            file_name=self.file_name,
            recall=Recall(self.key, outcome_from),
        )
        return made.evaluation
