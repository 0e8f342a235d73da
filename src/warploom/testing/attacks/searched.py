"""The command `python -m warploom.testing.attacks.searched`: a search whose model is the attacker.

`warploom evolve` searches from the framed program, and a model on this machine answers each
question with the next attack of the suite as a whole program. None may become a correct program of
the run. Honest edits are among the answers: they must. Of attacks that never became a candidate
the search said no to the reply itself.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warploom.core.errors import BadInputError
from warploom.evolve.compose import compose
from warploom.evolve.runner import EvolutionRunner
from warploom.source.regions import Program, splice
from warploom.store.database import ProgramDatabase, sqlite_url
from warploom.store.records import Outcome
from warploom.testing.attacks.manifest import chosen, every_attack
from warploom.testing.attacks.record import FRAMED, Attack, Expected, Mode
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply

_USUAL = (
    "evolution.max_dollars=1000", "evolution.plateau=0", "evolution.generation_size=8",
    "evaluation.topology=h200-2x8", "evaluation.nvcc=false", "evaluation.confirm_seeds=1",
    "summary.model=false", "bandit.share=0", "models.retries=0", "models.concurrency=8",
    "phases.explore.operators={full: 1}", "phases.exploit.operators={full: 1}",
)  # fmt: skip


def search(attacks: Sequence[Attack], folder: Path, workers: int, seconds: float) -> int:
    """Run the search in `folder`; print a line for each attack, return 1 where one was good."""
    texts = [attack.text() for attack in attacks]

    def answer(asked: Asked) -> Reply:
        text = texts[asked.number % len(texts)]
        return Reply(f"Much faster:\n\n```cuda\n{text}```\n")

    before = os.environ.get("OPENAI_API_KEY")
    os.environ["OPENAI_API_KEY"] = KEY
    try:
        with LoopbackServer(answer) as server:
            config = compose([
                *_USUAL, f"models.names=[{server.model('openai-chat')}]",
                f"evolution.max_evaluations={len(texts)}", f"evolution.workers={workers}",
                f"evolution.max_hours={seconds / 3600}",
            ])  # fmt: skip
            EvolutionRunner(config).run(FRAMED, folder / "run", seed=1)
    finally:
        os.environ.pop("OPENAI_API_KEY")
        if before is not None:
            os.environ["OPENAI_API_KEY"] = before
    return _tell(attacks, texts, folder / "run")


def _tell(attacks: Sequence[Attack], texts: Sequence[str], run: Path) -> int:
    number = json.loads((run / "run.json").read_text())["id"]
    url = sqlite_url(run / "programs.db")
    with ProgramDatabase(url=url, run=number, read_only=True) as store:
        judged = {program.code: program.outcome for program in store.programs()}
    bad = 0
    for attack, text in zip(attacks, texts, strict=True):
        word, said = verdict(attack, outcome_of_reply(text, judged))
        bad += word.isupper()
        sys.stdout.write(f"{word:9} {attack.name}: {said}\n")
    return 1 if bad else 0


def outcome_of_reply(text: str, judged: dict[str, Outcome]) -> Outcome | None:
    """Return what became of a reply; None where it was no candidate."""
    if text in judged:
        return judged[text]
    trusted = Program((FRAMED / "moe.cu").read_text(encoding="utf-8"))
    try:
        return judged.get(splice(trusted, Program(text)).text)
    except BadInputError:
        return None


def verdict(attack: Attack, outcome: Outcome | None) -> tuple[str, str]:
    """Say in a word, and in more, what became of an attack."""
    honest = attack.expected is Expected.OK
    if outcome is None:
        return "no reply", "was no candidate"
    if outcome.correct:
        return ("passed" if honest else "FOOLED"), f"level {outcome.level}"
    return ("ACCUSED" if honest else "caught"), f"{outcome.failure} at level {outcome.level}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Search with the attacks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.attacks.searched")
    parser.add_argument("--only", action="append", default=[], help="attacks whose name holds this")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="[cores]")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for the search [3600]")
    options = parser.parse_args(arguments)
    held = (Expected.CAUGHT, Expected.OK)
    plays = chosen(every_attack(), options.only, [Mode.EVAL_FRAMED])
    attacks = [attack for attack, _ in plays if attack.expected in held]
    if not attacks:
        sys.stderr.write("no attack on the framed program is called so\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="warploom-searched-") as name:
        return search(attacks, Path(name), options.workers, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
