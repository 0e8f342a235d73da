"""The choice of models: in turn, by weight, by what pays off; its state survives."""

import random
from collections import Counter
from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.llm import Budget, LLMClient, LLMRequest
from warploom.llm.choice import AsymmetricUCB, ChoiceFile, ModelChoice, RoundRobin, Weighted
from warploom.testing.scripted import ScriptedModel

MODELS = ("a", "b", "c")


def picks(choice: ModelChoice, count: int, path: Path) -> list[str]:
    file = ChoiceFile(choice, MODELS, path)
    return [file.pick(f"call-{n}") for n in range(count)]


def test_round_robin_goes_on_where_it_was(tmp_path: Path) -> None:
    state = tmp_path / "choice.json"
    assert picks(RoundRobin(), 4, state) == ["a", "b", "c", "a"]
    assert picks(RoundRobin(), 6, state) == ["a", "b", "c", "a", "b", "c"]  # the first 4 as before


def test_weights_are_kept_and_repeat(tmp_path: Path) -> None:
    choice = Weighted({"a": 3, "b": 1}, seed=7)
    first = picks(choice, 400, tmp_path / "1.json")
    counts = Counter(first)
    assert set(counts) == {"a", "b"} and 2.2 < counts["a"] / counts["b"] < 4.2
    assert picks(choice, 400, tmp_path / "2.json") == first
    assert picks(Weighted({"a": 3, "b": 1}, seed=8), 400, tmp_path / "3.json") != first


@pytest.mark.parametrize("weights", [{}, {"a": 0}, {"a": -1, "b": 2}, {"a": float("nan")}])
def test_weights_that_are_none(weights: dict[str, float], tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="weights"):
        picks(Weighted(weights), 1, tmp_path / "s.json")


def play(
    choice: ModelChoice, gains: dict[str, float], costs: dict[str, float], path: Path
) -> Counter[str]:
    """Play 400 calls, where a model improves with its probability `gains`, by 1."""
    draw, file = random.Random(3), ChoiceFile(choice, tuple(gains), path)
    counts: Counter[str] = Counter()
    for n in range(400):
        model = file.pick(f"call-{n}")
        counts[model] += 1
        gain = 1.0 if draw.random() < gains[model] else -5.0
        file.reward(f"call-{n}", model, gain, costs[model])
    return counts


def test_the_bandit_finds_the_model_that_improves(tmp_path: Path) -> None:
    choice = AsymmetricUCB(exploration=0.5, cost_weight=0.0)
    gains, costs = (
        {"weak": 0.05, "strong": 0.5, "mean": 0.2},
        dict.fromkeys(["weak", "strong", "mean"], 1.0),
    )
    counts = play(choice, gains, costs, tmp_path / "s.json")
    assert counts["strong"] > 250 and min(counts.values()) >= 5  # the others are still tried


def test_the_bandit_minds_the_cost(tmp_path: Path) -> None:
    gains, costs = {"dear": 0.45, "cheap": 0.4}, {"dear": 1.0, "cheap": 0.1}
    by_gain = play(AsymmetricUCB(1.0, 0.0), gains, costs, tmp_path / "1.json")
    by_cost = play(AsymmetricUCB(1.0, 1.0), gains, costs, tmp_path / "2.json")
    assert by_cost["cheap"] > 300 and by_gain["dear"] > 100 > by_cost["dear"]


def test_a_loss_is_no_worse_than_nothing(tmp_path: Path) -> None:
    """Asymmetric: only improvements count, so the size of a loss must not matter."""
    mild, hard = (ChoiceFile(AsymmetricUCB(), ("a", "b"), tmp_path / f"{n}.json") for n in "12")
    for n in range(60):
        one, two = mild.pick(f"c{n}"), hard.pick(f"c{n}")
        assert one == two
        gain = 0.5 if n % 3 == 0 else -1.0
        mild.reward(f"c{n}", one, gain, 0.1)
        hard.reward(f"c{n}", two, gain if gain > 0 else -1e9, 0.1)


def test_concurrent_picks_spread(tmp_path: Path) -> None:
    file = ChoiceFile(AsymmetricUCB(), MODELS, tmp_path / "s.json")
    assert sorted(file.pick(f"c{n}") for n in range(3)) == ["a", "b", "c"]
    assert len({file.pick(f"d{n}") for n in range(6)}) == 3


def test_the_state_resumes_exactly(tmp_path: Path) -> None:
    def run(split: bool) -> list[str]:
        path, done = tmp_path / f"{split}.json", []
        file = ChoiceFile(AsymmetricUCB(), MODELS, path)
        for n in range(50):
            if split and n % 7 == 0:
                file = ChoiceFile(AsymmetricUCB(), MODELS, path)
            done.append(file.pick(f"c{n}"))
            for _ in range(2 if split else 1):  # told twice, counted once
                file.reward(f"c{n}", done[-1], (n % 5) - 2.0, 0.01)
        return done

    assert run(split=True) == run(split=False)


def test_a_state_that_was_changed_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"arms": {"a": {"no": 1}}}')
    with pytest.raises(BadInputError, match="not the state") as caught:
        ChoiceFile(RoundRobin(), MODELS, path)
    assert str(path) in str(caught.value)


def test_the_client_asks_who_was_chosen_and_keeps_to_it(tmp_path: Path) -> None:
    def models() -> list[ScriptedModel]:
        return [ScriptedModel(lambda _, n=name: n, name=name) for name in MODELS]

    def run() -> list[str]:
        with LLMClient(models(), Budget(tokens=10**6), tmp_path) as client:
            replies = []
            for n in range(5):
                reply = client.ask_blocking(LLMRequest("rewrite", "s", "p", f"k/{n}"))
                client.reward(reply, 1.0)
                replies.append(reply)
            named = client.ask_blocking(LLMRequest("judge", "s", "p", "j", model="c"))
        assert all(reply.text == reply.model for reply in replies) and named.text == "c"
        return [reply.model for reply in replies]

    assert run() == ["a", "b", "c", "a", "b"]
    before = (tmp_path / "choice.json").read_text()
    assert run() == ["a", "b", "c", "a", "b"]  # from the record, without a pick or a reward more
    assert (tmp_path / "choice.json").read_text() == before
