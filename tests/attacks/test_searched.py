"""A search whose model is the attacker: what its command says of each attack."""

import pytest

from warploom.store.records import Outcome
from warploom.testing.attacks.manifest import every_attack
from warploom.testing.attacks.record import FRAMED, Expected
from warploom.testing.attacks.searched import outcome_of_reply, verdict

GOOD = Outcome(True, level=4)
BAD = Outcome(False, failure="data_race", level=2)


@pytest.mark.parametrize(
    ("expected", "outcome", "word"),
    [
        (Expected.CAUGHT, GOOD, "FOOLED"),
        (Expected.CAUGHT, BAD, "caught"),
        (Expected.CAUGHT, None, "no reply"),
        (Expected.OK, GOOD, "passed"),
        (Expected.OK, BAD, "ACCUSED"),
    ],
)
def test_verdicts(expected: Expected, outcome: Outcome | None, word: str) -> None:
    attack = next(one for one in every_attack() if one.expected is expected)
    assert verdict(attack, outcome)[0] == word


def test_a_reply_is_found_by_its_regions() -> None:
    text = (FRAMED / "moe.cu").read_text()
    assert outcome_of_reply(text, {text: GOOD}) is GOOD
    assert outcome_of_reply(f"// a new first line\n{text}", {text: BAD}) is BAD
    assert outcome_of_reply("int main() {}", {text: GOOD}) is None
