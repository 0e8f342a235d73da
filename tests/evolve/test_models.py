"""Searches that ask models, over servers that speak the providers' wire formats."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from evolve_bench import TWO, Bench
from level_model import answer, prompt_of, task_of

from warploom.core.errors import BadInputError, MissingToolError
from warploom.evolve.config import ModelsConfig
from warploom.evolve.confined import ConfinedEvaluator
from warploom.evolve.evaluator import Question
from warploom.evolve.steps import evaluator_for
from warploom.llm import Usage
from warploom.llm.errors import LLMKeyError, LLMPriceError
from warploom.llm.prices import Prices
from warploom.llm.recorder import Recorder
from warploom.testing.loopback import KEY, LoopbackServer
from warploom.testing.wire import Asked, Reply
from warploom.toolchain.sandbox import Sandbox, SandboxKind
from warploom.workload.workload import load_target

USUAL = (
    "evolution.max_dollars=50", "evolution.num_generations=12", "database.migration.interval=2",
    "summary.interval=2", "novelty.judge=true", "novelty.judge_similarity=0.9",
    "models.concurrency=2", "models.context_tokens=12000",
)  # fmt: skip


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer) as running:
        yield running


def names(server: LoopbackServer, *prefixes: str) -> str:
    return f"models.names=[{','.join(map(server.model, prefixes or ('anthropic',)))}]"


def test_the_whole_loop(bench: Bench, server: LoopbackServer) -> None:
    run = replace(bench, seeds=TWO)
    models = names(server, "anthropic", "openai-chat")
    result = run.run("run", *USUAL, models, seed=3)
    assert result.speedup is not None and result.speedup > 1
    with run.store("run") as store:
        programs = list(store.programs())
        events = list(store.events)
    # Every kind was tried, beside the rules' operators, and each gave a correct program.
    kinds = Counter(one.lineage.operator for one in programs)
    good = Counter(one.lineage.operator for one in programs if one.outcome.correct)
    wanted = {
        "diff", "full", "llm_crossover", "fix", "single", "several", "crossover", "predicted",
    }  # fmt: skip
    assert set(kinds) == {"seed", *wanted}
    assert {"diff", "full", "llm_crossover", "fix"} <= set(good)
    # Failures were shown to the models, and mended.
    by_number = {one.number: one for one in programs}
    fixed = [one for one in programs if one.lineage.operator == "fix"]
    assert all(not by_number[one.lineage.parent or 0].outcome.correct for one in fixed)
    repairs = [prompt_of(one) for one in server.asked if task_of(one) == "fix"]
    assert repairs and all("missing_wait" in one or "a wait is missing" in one for one in repairs)
    # Known texts were turned away before they were judged, by each means.
    rejections = [event.data for event in events if event.kind == "rejection"]
    assert {"text", "judge"} <= {data["by"] for data in rejections}
    assert result.rejected >= len(rejections) > 0
    codes = [one.code_hash for one in programs if one.code]
    assert len(codes) == len(set(codes))
    # Migrations, summaries (which later prompts show), and a bandit of two models.
    assert any(event.kind == "migration" and event.data["moves"] for event in events)
    assert result.summaries == sum(event.kind == "summary" for event in events) == 6
    advised = [prompt_of(one) for one in server.asked if "Set chunks to 4." in prompt_of(one)]
    assert len(advised) > 5
    assert set(result.models) == set(models[len("models.names=[") : -1].split(","))
    assert sum(use.attempts for use in result.models.values()) == sum(
        kinds[kind] for kind in ("diff", "full", "llm_crossover", "fix")
    )


def test_every_dollar_is_counted(bench: Bench, server: LoopbackServer) -> None:
    models = names(server)
    result = bench.run("run", *USUAL, models, seed=3)
    billed = server.billed()
    usage = Usage(billed.input, billed.output, billed.cached, billed.cache_write)
    expected = Prices({}).cost(server.model("anthropic"), usage)
    assert expected is not None
    assert result.cost == pytest.approx(float(expected))
    with bench.store("run") as store:
        kept = sum(one.cost for one in store.programs())
        kept += sum(e.data["cost"] for e in store.events if e.kind == "summary")
    assert kept == pytest.approx(result.cost)
    assert KEY not in "".join(p.read_text(errors="ignore") for p in bench.folder.rglob("*.json"))


def test_the_same_replies_make_the_same_run(bench: Bench, server: LoopbackServer) -> None:
    run = replace(bench, seeds=TWO)
    for name in ("one", "two"):
        run.run(name, *USUAL, names(server, "anthropic", "openai-chat"), seed=4)
    assert run.history("one") == run.history("two")


def test_a_cap_in_dollars_ends_the_run(bench: Bench, server: LoopbackServer) -> None:
    cap = "evolution.max_dollars=0.7"
    result = bench.run("run", *USUAL, names(server), cap, seed=3)
    assert "could cross the cap of 0.7 dollars" in result.stopped
    assert 0 < result.cost <= 0.7
    assert server.asked
    more = bench.run("run", *USUAL, names(server), seed=3, resume=True)
    assert more.evaluations == 48
    calls = list(Recorder(bench.folder / "run" / "llm").calls())
    assert len(calls) == len(server.asked)  # nothing is asked, so paid for, twice


def test_likeness_alone_turns_away_where_that_is_asked_for(bench: Bench) -> None:
    """The texts differ in a number that no directive names."""

    def renamed(asked: Asked) -> Reply:
        own = prompt_of(asked).rpartition("<<<<BEGIN PROGRAM")[2].split("\n", 1)[1]
        own = own.partition("<<<<END PROGRAM")[0]
        text = re.sub(r"main\(\) \{.*\}", f"main() {{ {asked.number}; }}", own)
        return Reply(f"```cuda\n{text}```\n")

    only = "{full: 1.0, single: 0.0}"
    usual = (*USUAL, "novelty.judge=false", "evolution.num_generations=2", "summary.interval=0",
             *(f"phases.{name}.operators={only}" for name in ("explore", "exploit")))  # fmt: skip
    with LoopbackServer(renamed) as server:
        alike = bench.run("run", *usual, names(server), "novelty.model_similarity=0.5", seed=3)
        taken = bench.run("other", *usual, names(server), seed=3)
    assert alike.failures == {"not_novel": 8}
    assert taken.correct == 8
    with bench.store("run") as store:
        assert {e.data["by"] for e in store.events if e.kind == "rejection"} == {"embedding"}


def test_models_that_say_nothing_useful_end_the_run(bench: Bench) -> None:
    def prose(asked: Asked) -> Reply:
        return Reply("No.")

    only = "{diff: 1.0, single: 0.0}"
    phases = [f"phases.{name}.operators={only}" for name in ("explore", "exploit")]
    with LoopbackServer(prose) as server:
        budget = ("evolution.num_generations=3", "summary.model=false", *phases)
        result = bench.run("run", *USUAL, *budget, names(server), seed=3)
    assert result.failures == {"no_program": 12}
    assert result.best.number == 1
    assert len(server.asked) == 24  # each is told why, and asked once more
    assert "the reply has no code" in prompt_of(server.asked[-1])
    assert result.models[server.model("anthropic")].judged == 0


def test_replies_that_break_are_told_and_paid_for(bench: Bench) -> None:
    def breaking(asked: Asked) -> Reply:
        if task_of(asked) in ("novelty", "summary"):
            return Reply("not the form")
        return replace(answer(asked), truncated=asked.number % 2 == 0)

    with LoopbackServer(breaking) as server:
        result = bench.run("run", *USUAL, "evolution.num_generations=6", names(server), seed=3)
        billed = server.billed()
    expected = Prices({}).cost(
        server.model("anthropic"), Usage(billed.input, billed.output, billed.cached)
    )
    assert result.cost == pytest.approx(float(expected or 0))
    assert any("cut off at its limit" in prompt_of(one) for one in server.asked)
    with bench.store("run") as store:
        summaries = [event.data for event in store.events if event.kind == "summary"]
    assert [data["model"] for data in summaries] == ["", "", ""]  # counted instead
    assert "attempts" in summaries[0]["summary"]


def test_without_models_counting_sums_up(bench: Bench) -> None:
    bench.run("run", "summary.interval=2")
    with bench.store("run") as store:
        summaries = [event.data for event in store.events if event.kind == "summary"]
    assert len(summaries) == 5
    assert "times as fast in the mean" in str(summaries[-1]["scratchpad"])
    assert summaries[-1]["recommendations"]


def test_replies_are_on_disk_before_they_are_used(bench: Bench, server: LoopbackServer) -> None:
    bench.run("run", *USUAL, "evolution.num_generations=4", names(server), seed=3)
    calls = list(Recorder(bench.folder / "run" / "llm").calls())
    assert len(calls) == len(server.asked)
    prompts = {(bench.folder / "run" / "llm" / c.call_id / "prompt.md").read_text() for c in calls}
    assert all(any(prompt_of(one) in text for text in prompts) for one in server.asked)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["models.names=[anthropic:x]"], "models need a cap on a whole run"),
        (["novelty.judge=true"], "models.names must name a model where a model is to judge"),
        (["phases.explore.operators={diff: 1}"], "needs a weight for single, several, crossover"),
        (["models.name=[x]"], "there is no key models.name"),
        (["phases.explore.operators={rewrite: 1}"], "Input should be|must be"),
    ],
)
def test_wrong_configurations(bench: Bench, overrides: list[str], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        bench.config(*overrides)


def test_models_that_cannot_be_asked_are_told_before_the_seeds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(LLMKeyError, match="needs a key, and there is none"):
        bench.run("run", *USUAL, "models.names=[anthropic:claude-sonnet-5-5]")
    with pytest.raises(LLMPriceError, match="no price is known"):
        bench.run("run", *USUAL, "models.names=['ollama:some-model@http://127.0.0.1:9/v1']")
    assert not (bench.folder / "run" / "run.json").exists()


def test_what_models_write_needs_a_sandbox_where_it_is_judged(
    bench: Bench, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_machine = Sandbox(SandboxKind.LIMITS, reason="asked by a test")
    monkeypatch.setattr("warploom.toolchain.sandbox.find_sandbox", lambda: open_machine)
    asks = bench.config(*USUAL, names(server))
    with pytest.raises(MissingToolError, match="must run in a sandbox") as failure:
        bench.run("run", *USUAL, names(server))
    assert "models.unsafe=true" in failure.value.hint
    assert not server.asked
    task = load_target(bench.program)
    judge = evaluator_for(task, asks, 1)
    with pytest.raises(MissingToolError):  # a node of a cluster, say
        judge(bench.program, Question("", (1,)))
    unsafe = replace(judge, inner=bench.evaluator, models=ModelsConfig(names=("m",), unsafe=True))
    assert unsafe(bench.program, Question("", (1,))).correct
    assert not isinstance(evaluator_for(task, bench.config(), 1), ConfinedEvaluator)


def test_the_report_tells_of_models(bench: Bench, server: LoopbackServer) -> None:
    result = bench.run("run", *USUAL, "evolution.num_generations=4", names(server), seed=3)
    told = json.loads((bench.folder / "run" / "report.json").read_text())
    assert told["models"][server.model("anthropic")]["attempts"] > 0
    assert told["cost"] == result.cost > 0
