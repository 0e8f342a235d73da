"""What a transform was asked to do, as the command line says it: saved with a run, read to resume.

RUN/run.json   {"version": 1, "program": digest, "ask": {option: value}}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from pydantic import TypeAdapter

from warploom.cli.transform_options import TransformChoices
from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.jsontext import write_json
from warploom.evaluation.runs.secret_seeds import seeds_from
from warploom.llm import Budget, LLMSettings, Price
from warploom.llm.names import parse_model
from warploom.propose.agent import OWN, AgentLimits, AgentOptions
from warploom.propose.llm import ModelOptions
from warploom.transform import TransformConfig
from warploom.workload.workload import Workload

RUN_FILE = "run.json"
_VERSION = 1
_PRICE = re.compile(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)\Z")
_CHANGEABLE = (
    "max_cost", "max_tokens", "max_requests", "max_seconds", "jobs", "unsafe", "as_json",
    "models", "judge_model", "price", "agent", "agent_seconds", "agent_steps", "agent_env",
    "uncapped_agent", "attempts",
)  # fmt: skip
"""Options that may be given anew with --resume: what is judged, and how, stays as it was."""

_SPELLED = {
    "as_json": "--json", "models": "--model", "defines": "-D", "includes": "-I",
    "sources": "--source", "args": "arguments behind --",
    "target": "a program",
}  # fmt: skip
"""How options are given whose names are not those of their fields."""


def with_models_of(asked: TransformChoices, environment: Mapping[str, str]) -> TransformChoices:
    """Return `asked` with the models that WARPLOOM_MODEL and WARPLOOM_JUDGE_MODEL name."""
    if asked.proposer == "rules":
        return asked
    named = environment.get("WARPLOOM_MODEL", "").split()
    judge = environment.get("WARPLOOM_JUDGE_MODEL", "").strip() or None
    return replace(asked, models=asked.models or named, judge_model=asked.judge_model or judge)


def workload_of(asked: TransformChoices) -> Workload:
    """Load the workload and apply the options to it.

    Raises:
        BadInputError: no program is named, or an option does not fit it.
    """
    if asked.target is None:
        raise BadInputError(
            "transform needs a program or workload, got none",
            hint="warploom transform FILE|WORKLOAD, or --resume RUN",
        )
    return asked.apply(asked.target)


def config_of(asked: TransformChoices) -> TransformConfig:
    """Return the configuration.

    Raises:
        BadInputError: an option breaks a rule, of a model too that may never be asked.
        LLMModelError: a model's name cannot be read.
    """
    price = None if asked.price is None else parse_price(asked.price)
    config = TransformConfig(
        api_type=asked.api,
        two_stage=not asked.one_stage and asked.proposer != "agent",
        nvcc=not asked.no_nvcc,
        plain=not asked.no_plain,
        evolve_markers=not asked.no_markers,
        warmup=not asked.no_warmup,
        proposer=asked.proposer,
        model=_model_options(asked, price) if asked.models else None,
        agent=_agent_options(asked, price),
        jobs=asked.jobs,
        backend=asked.backend,
        unsafe=asked.unsafe,
        inputs=None if asked.seeds_from is None else seeds_from(asked.seeds_from),
    )
    tries = asked.attempts
    if tries is None:
        return config
    return replace(config, max_iterations=tries, stage_a_iterations=tries, stage_b_iterations=tries)


def _agent_options(asked: TransformChoices, price: Price | None) -> AgentOptions:
    usual = AgentLimits()
    limits = AgentLimits(
        usual.seconds if asked.agent_seconds is None else asked.agent_seconds,
        usual.steps if asked.agent_steps is None else asked.agent_steps,
        asked.max_cost,
    )
    return AgentOptions(
        asked.agent or OWN, limits, tuple(asked.agent_env or ()), budget=_budget(asked),
        price=price, uncapped=asked.uncapped_agent,
    )  # fmt: skip


def _budget(asked: TransformChoices) -> Budget:
    return Budget(asked.max_cost, asked.max_tokens, asked.max_requests, asked.max_seconds)


def _model_options(asked: TransformChoices, price: Price | None) -> ModelOptions:
    models = tuple(asked.models or ())
    names = (*models, *((asked.judge_model,) if asked.judge_model else ()))
    for name in names:
        parse_model(name)
    prices = {} if price is None else dict.fromkeys(names, price)
    return ModelOptions(
        models=models,
        judge=asked.judge_model,
        judged=not asked.no_judge,
        budget=_budget(asked),
        settings=LLMSettings(stream=asked.stream, prices=prices),
    )


def save(asked: TransformChoices, run: Path, program: Path) -> None:
    """Write what is needed to resume into the folder of a run."""
    run.mkdir(parents=True, exist_ok=True)
    kept = replace(
        asked,
        target=Path(asked.target or "").resolve(),
        out=None if asked.out is None else asked.out.resolve(),
        stdin=None if asked.stdin is None else asked.stdin.resolve(),
        sources=[path.resolve() for path in asked.sources or ()],
        includes=[path.resolve() for path in asked.includes or ()],
    )
    saved = _Saved(_VERSION, digest((program.read_bytes(),)), kept)
    write_json(run / RUN_FILE, _SAVED.dump_python(saved, mode="json"))


def resumed(run: Path, given: TransformChoices) -> TransformChoices:
    """Return what the run was asked to do, with what is given anew: caps, models, the agent.

    Raises:
        BadInputError: `run` is no folder of a run, its program was changed since, or options
            are given that would change what the run is about.
    """
    odd = [
        item.name
        for item in fields(TransformChoices)
        if item.name not in _CHANGEABLE and getattr(given, item.name) != item.default
    ]
    if odd:
        names = ", ".join(map(_spelled, odd))
        allowed = ", ".join(map(_spelled, _CHANGEABLE))
        raise BadInputError(f"--resume takes {allowed} besides, got: {names}")
    # A switch holds for one process; all else stays unless it is given anew.
    changed = {
        name: value
        for name in _CHANGEABLE
        if isinstance(value := getattr(given, name), bool) or value is not None
    }
    return replace(_load(run), **changed)


def _load(run: Path) -> TransformChoices:
    path = run / RUN_FILE
    try:
        saved = _SAVED.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise BadInputError("is no folder of a run: it has no run.json", file=str(run)) from None
    except (OSError, ValueError) as error:
        raise BadInputError(f"cannot be read: {error}", file=str(path)) from None
    if saved.version != _VERSION:
        raise BadInputError(f"version must be {_VERSION}, got {saved.version}", file=str(path))
    program = workload_of(saved.ask).program
    if digest((program.read_bytes(),)) != saved.program:
        raise BadInputError(
            "the program was changed since the run began: its attempts no longer apply",
            file=str(program),
            hint="start a new run",
        )
    return saved.ask


@dataclass(frozen=True, slots=True)
class _Saved:
    """The content of run.json."""

    version: int
    program: str
    ask: TransformChoices


_SAVED = TypeAdapter(_Saved)


def _spelled(name: str) -> str:
    """Return an option as it is given."""
    return _SPELLED.get(name) or f"--{name.replace('_', '-')}"


def parse_price(text: str) -> Price:
    """Turn `IN,OUT` (dollars per million tokens) into a price."""
    match = _PRICE.match(text)
    if match is None:
        raise BadInputError(
            f"--price must be IN,OUT in dollars per million tokens, such as 3,15, got {text!r}"
        )
    return Price(float(match[1]), float(match[2]))
