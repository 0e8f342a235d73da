"""The attack suite: its manifest holds together, its reading of verdicts is right, and a few plays.

The whole suite is a command (docs/security.md): it takes minutes.
"""

import signal
import subprocess
import sys
import time
from dataclasses import replace as replaced
from pathlib import Path

import numpy as np
import pytest

from warploom.core.process import ProcessResult
from warploom.testing import access_forms
from warploom.testing.access_table import FORMS, SCALARS
from warploom.testing.attacks.answers import answers
from warploom.testing.attacks.edits import EditError, patched, replace
from warploom.testing.attacks.judge import read_check, read_evaluation
from warploom.testing.attacks.log import Log
from warploom.testing.attacks.manifest import chosen, every_attack, samples
from warploom.testing.attacks.page import (
    BEGIN,
    END,
    compact,
    page_text,
    put_between,
    read_logs,
    summary_text,
)
from warploom.testing.attacks.play import PLACEHOLDER, Settings, play
from warploom.testing.attacks.record import (
    PROGRAMS,
    Answer,
    Expected,
    Mode,
    Outcome,
    Played,
    outcome_of,
)
from warploom.testing.attacks.table import table
from warploom.testing.attacks.variants import VARIANTS

SMALL = (("m2_b00_nowait", Mode.EVAL_FRAMED), ("framed", Mode.EVAL_FRAMED))


def test_names_are_unique_and_texts_differ() -> None:
    attacks = every_attack()
    names = [attack.name for attack in attacks]
    assert len(set(names)) == len(names)
    by_text: dict[str, str] = {}
    for attack in attacks:
        if attack.kind != "honest":
            assert by_text.setdefault(attack.text(), attack.name) == attack.name


def test_every_sample_is_in_the_manifest() -> None:
    listed = {attack.name for attack in samples()}
    kept = {path.stem for path in PROGRAMS.glob("*.diff")}
    kept |= {path.stem for path in (PROGRAMS / "check").glob("*.cu")} | {"m3_c03_table"}
    assert kept <= listed


def test_each_class_has_variants_of_its_own() -> None:
    kinds = {a.kind for a in samples()} - {"honest", "control", "MPI ownership", "warp model"}
    for kind in kinds:
        assert sum(item.kind == kind for item in VARIANTS) >= 4, kind
    assert len(VARIANTS) >= 60
    assert sum(a.kind == "honest" for a in every_attack()) >= 15


def test_secrets_are_asked_for_by_leaks_only() -> None:
    for attack in every_attack():
        asks = Mode.RULES not in attack.modes and PLACEHOLDER in attack.text()
        assert asks == (attack.expected is Expected.NO_LEAK), attack.name


def test_the_generated_answers_are_the_programs() -> None:
    first = answers(0)
    assert first.shape == (2048,)
    np.testing.assert_allclose(first[:4], [0.14361179, -0.20086795, -0.12655579, 0.027479257],
                               rtol=1e-5)  # fmt: skip


def test_a_diff_finds_its_place_again_or_says_so() -> None:
    diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert patched("one\ntwo\nthree", diff) == "one\n2\nthree"
    assert patched("zero\none\ntwo\nthree", diff) == "zero\none\n2\nthree"
    with pytest.raises(EditError):
        patched("one\nthree", diff)
    with pytest.raises(EditError):
        replace("aa", ("a", "b"))


@pytest.mark.parametrize(
    ("expected", "answer", "outcome"),
    [
        (Expected.CAUGHT, Answer(True), Outcome.FOOLED),
        (Expected.CAUGHT, Answer(False, "data_race"), Outcome.CAUGHT),
        (Expected.CAUGHT, Answer(False, problem="stopped"), Outcome.ERROR),
        (Expected.OK, Answer(False, "data_race"), Outcome.ACCUSED),
        (Expected.OK, Answer(True), Outcome.PASSED),
        (Expected.NO_GAIN, Answer(True, speedup=1.5), Outcome.FOOLED),
        (Expected.NO_GAIN, Answer(True, speedup=1.0), Outcome.CAUGHT),
        (Expected.NO_GAIN, Answer(True), Outcome.FOOLED),
        (Expected.NO_LEAK, Answer(True), Outcome.CAUGHT),
        (Expected.NO_LEAK, Answer(False, leaked="standard output"), Outcome.FOOLED),
        (Expected.OPEN, Answer(True), Outcome.OPEN),
    ],
)
def test_what_an_answer_means(expected: Expected, answer: Answer, outcome: Outcome) -> None:
    assert outcome_of(expected, answer) is outcome


def _printed(text: str, code: int = 0, errors: str = "") -> ProcessResult:
    return ProcessResult(code, None, text.encode(), errors.encode(), False, None, 1.0, 1, 1)


def test_a_broken_judge_is_an_error_and_no_success() -> None:
    assert read_check(_printed("", 1)).problem
    assert read_evaluation(_printed("{}", 1, "Traceback (most recent call last)")).problem
    assert read_evaluation(_printed("{}", 7)).problem
    assert read_check(_printed('{"verdict": "ok", "findings": []}')).passed


def test_a_log_resumes(tmp_path: Path) -> None:
    """A play is done for its text and judge; errors and lines that were cut off are not."""
    attack, other = every_attack()[:2]
    mode = attack.modes[0]
    answer = Answer(False, "data_race", "2 verify")
    good = Played(
        attack.name, attack.kind, mode, attack.expected, Outcome.CAUGHT, answer, 1.0, "root"
    )
    path = tmp_path / "log"
    Log(path, "root", "judge").add(attack, good)
    error = replaced(good, answer=Answer(False, problem="stopped"))
    Log(path, "root", "judge").add(other, error)
    with path.open("a") as file:
        file.write('{"key": "cut o')
    assert Log(path, "root", "judge").earlier(attack, mode) == good
    assert Log(path, "root", "judge").earlier(other, mode) is None
    assert Log(path, "root", "another judge").earlier(attack, mode) is None
    assert Log(path, "ordinary", "judge").earlier(attack, mode) is None
    assert path.read_bytes().endswith(b"\n")
    assert Log(None, "root", "judge").earlier(attack, mode) is None


def test_tables_are_made_of_a_log(tmp_path: Path) -> None:
    """The latest play of a text counts; one of a text that is another one by now does not."""
    attacks = every_attack()[:2]
    attack, other = attacks
    mode = attack.modes[0]
    path = tmp_path / "log"
    fooled = Played(
        attack.name, attack.kind, mode, attack.expected, Outcome.FOOLED, Answer(True), 1.0, "root"
    )
    caught = replaced(fooled, answer=Answer(False, "data_race", "2 verify", "line 3: words"))
    Log(path, "root", "before").add(attack, fooled)
    log = Log(path, "root", "after")
    log.add(attack, caught)
    log.add(replaced(other, text=lambda: "an older text"), replaced(caught, name=other.name))
    (play,) = read_logs([path], attacks)
    assert play.judge == "after"
    assert play.played.outcome is Outcome.CAUGHT
    assert f"| `{attack.name}` | caught | `data_race` (2) |" in page_text([play])
    assert "FOOLED: " not in summary_text([play], attacks)
    bad = replaced(play, played=fooled)
    assert f"FOOLED: `{attack.name}`" in summary_text([bad], attacks)
    assert "line 3" not in str(compact([path]))
    assert put_between(f"a\n{BEGIN}\nold\n{END}\nb", "new") == f"a\n{BEGIN}\n\nnew\n{END}\nb"


@pytest.mark.parametrize(("name", "mode"), SMALL)
def test_a_play(name: str, mode: Mode) -> None:
    ((attack, way),) = chosen([a for a in every_attack() if a.name == name], [], [mode])
    played = play(attack, way, Settings())
    wanted = Outcome.PASSED if attack.expected is Expected.OK else Outcome.CAUGHT
    assert played.outcome is wanted, played
    assert name in table([played])


def test_the_access_test_finds_races_and_accuses_no_twin() -> None:
    """A few forms, of one size; the command runs all of them."""
    (program,) = access_forms.programs([1], ["device"], "put_member")
    tried = access_forms.try_program(program, "default")
    assert tried.good, tried
    assert tried.cases == 2


def test_the_access_test_has_as_many_forms_as_it_says() -> None:
    assert len(FORMS) + 2 * len(SCALARS) >= 60
    assert len({form.name for form in FORMS}) == len(FORMS)


def test_an_interrupted_player_says_how_to_go_on(tmp_path: Path) -> None:
    log = tmp_path / "plays.jsonl"
    command = [sys.executable, "-m", "warploom.testing.attacks", "--only", "m2_b00_nowait"]
    with subprocess.Popen(
        [*command, "--mode", "eval-framed", "--log", str(log)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    ) as player:  # fmt: skip
        until = time.monotonic() + 60
        while not log.exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        player.send_signal(signal.SIGINT)
        output, said = player.communicate(timeout=60)
    assert (player.returncode, output) == (130, "")
    assert (
        said
        == f"interrupted; the same command goes on where it was: {log} holds the plays so far\n"
    )
    assert log.read_text() == ""  # what was cut off counts for nothing
