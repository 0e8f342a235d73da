"""What a transform was asked to do, as the command line says it: saved with a run, read to resume.

RUN/run.json   {"version": 1, "program": digest, "ask": {option: value}}
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from warploom.cli.options import RunChoices
from warploom.core.errors import BadInputError
from warploom.core.ids import digest
from warploom.core.jsontext import write_json
from warploom.core.records import Json
from warploom.evaluate.runs.secret_seeds import seeds_from
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


@dataclass(frozen=True, slots=True)
class TransformAsk:
    """The options of `warploom transform`; None is an option that was not given."""

    target: str | None = None
    out: str | None = None
    api: str = "auto"
    ranks: int | None = None
    sources: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    lsa_size: int | None = None
    seeds: int | None = None
    seeds_from: str | None = None
    nccl: str | None = None
    timeout: float | None = None
    memory: float | None = None
    args: tuple[str, ...] = ()
    jobs: int | None = None
    node_size: int | None = None
    processes: int | None = None
    leave_out: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    one_stage: bool = False
    no_nvcc: bool = False
    no_markers: bool = False
    no_plain: bool = False
    no_warmup: bool = False
    proposer: str = "auto"
    models: tuple[str, ...] = ()
    judge_model: str | None = None
    no_judge: bool = False
    agent: str | None = None
    agent_seconds: float | None = None
    agent_steps: int | None = None
    agent_env: tuple[str, ...] = ()
    uncapped_agent: bool = False
    max_cost: float | None = None
    max_tokens: int | None = None
    max_requests: int | None = None
    max_seconds: float | None = None
    price: str | None = None
    stream: bool = False
    attempts: int | None = None
    backend: str = "auto"
    unsafe: bool = False
    as_json: bool = False

    def with_models_of(self, environment: Mapping[str, str]) -> Self:
        """Return this with the models that WARPLOOM_MODEL and WARPLOOM_JUDGE_MODEL name."""
        if self.proposer == "rules":
            return self
        named = tuple(environment.get("WARPLOOM_MODEL", "").split())
        judge = environment.get("WARPLOOM_JUDGE_MODEL", "").strip() or None
        return replace(self, models=self.models or named, judge_model=self.judge_model or judge)

    def choices(self) -> RunChoices:
        """Return the options that all commands share, checked."""
        return RunChoices.parse(
            ranks=self.ranks, sources=[Path(p) for p in self.sources], defines=self.defines,
            includes=[Path(p) for p in self.includes],
            lsa_size=self.lsa_size, seeds=self.seeds, nccl=self.nccl, timeout=self.timeout,
            memory=self.memory, args=self.args,
            jobs=self.jobs, node_size=self.node_size, processes=self.processes,
            leave_out=self.leave_out,
            env=self.env,
        )  # fmt: skip

    def workload(self) -> Workload:
        """Load the workload and apply the options to it."""
        if self.target is None:
            raise BadInputError(
                "transform needs a program or workload, got none",
                hint="warploom transform FILE|WORKLOAD, or --resume RUN",
            )
        return self.choices().apply(Path(self.target))

    def config(self) -> TransformConfig:
        """Return the configuration.

        Raises:
            BadInputError: an option breaks a rule, of a model too that may never be asked.
            LLMModelError: a model's name cannot be read.
        """
        price = None if self.price is None else parse_price(self.price)
        config = TransformConfig(
            api_type=self.api,
            two_stage=not self.one_stage and self.proposer != "agent",
            nvcc=not self.no_nvcc,
            plain=not self.no_plain,
            evolve_markers=not self.no_markers,
            warmup=not self.no_warmup,
            proposer=self.proposer,
            model=self._model_options(price) if self.models else None,
            agent=self._agent_options(price),
            jobs=self.jobs,
            backend=self.backend,
            unsafe=self.unsafe,
            inputs=None if self.seeds_from is None else seeds_from(self.seeds_from),
        )
        tries = self.attempts
        if tries is None:
            return config
        return replace(
            config, max_iterations=tries, stage_a_iterations=tries, stage_b_iterations=tries
        )

    def _agent_options(self, price: Price | None) -> AgentOptions:
        usual = AgentLimits()
        limits = AgentLimits(
            usual.seconds if self.agent_seconds is None else self.agent_seconds,
            usual.steps if self.agent_steps is None else self.agent_steps,
            self.max_cost,
        )
        return AgentOptions(
            self.agent or OWN, limits, self.agent_env, budget=self._budget(), price=price,
            uncapped=self.uncapped_agent,
        )  # fmt: skip

    def _budget(self) -> Budget:
        return Budget(self.max_cost, self.max_tokens, self.max_requests, self.max_seconds)

    def _model_options(self, price: Price | None) -> ModelOptions:
        names = (*self.models, *((self.judge_model,) if self.judge_model else ()))
        for name in names:
            parse_model(name)
        prices = {} if price is None else dict.fromkeys(names, price)
        return ModelOptions(
            models=self.models,
            judge=self.judge_model,
            judged=not self.no_judge,
            budget=self._budget(),
            settings=LLMSettings(stream=self.stream, prices=prices),
        )

    def save(self, run: Path, program: Path) -> None:
        """Write what is needed to resume into the folder of a run."""
        run.mkdir(parents=True, exist_ok=True)
        ask: dict[str, Json] = {**asdict(self), "target": str(Path(self.target or "").resolve())}
        ask["out"] = str(Path(self.out).resolve()) if self.out else None
        for name in ("sources", "includes"):
            ask[name] = [str(Path(path).resolve()) for path in getattr(self, name)]
        data: dict[str, Json] = {
            "version": _VERSION, "program": digest((program.read_bytes(),)), "ask": ask,
        }  # fmt: skip
        write_json(run / RUN_FILE, data)

    @classmethod
    def resumed(cls, run: Path, given: "TransformAsk") -> "TransformAsk":
        """Return what the run was asked to do, with what is given anew: caps, models, the agent.

        Raises:
            BadInputError: `run` is no folder of a run, its program was changed since, or options
                are given that would change what the run is about.
        """
        odd = [
            item.name
            for item in fields(cls)
            if item.name not in _CHANGEABLE and getattr(given, item.name) != item.default
        ]
        if odd:
            names = ", ".join(map(_spelled, odd))
            allowed = ", ".join(map(_spelled, _CHANGEABLE))
            raise BadInputError(f"--resume takes {allowed} besides, got: {names}")
        saved = cls._load(run)
        # A switch holds for one process; all else stays unless it is given anew.
        changed = {
            name: value
            for name in _CHANGEABLE
            if isinstance(value := getattr(given, name), bool)
            or (value is not None and value != ())
        }
        return replace(saved, **changed)

    @classmethod
    def _load(cls, run: Path) -> "TransformAsk":
        path = run / RUN_FILE
        try:
            saved = TypeAdapter(_Saved).validate_json(path.read_bytes())
        except FileNotFoundError:
            raise BadInputError(
                "is no folder of a run: it has no run.json", file=str(run)
            ) from None
        except (OSError, ValueError) as error:
            raise BadInputError(f"cannot be read: {error}", file=str(path)) from None
        if saved.version != _VERSION:
            raise BadInputError(f"version must be {_VERSION}, got {saved.version}", file=str(path))
        ask = saved.ask
        program = ask.workload().program
        if digest((program.read_bytes(),)) != saved.program:
            raise BadInputError(
                "the program was changed since the run began: its attempts no longer apply",
                file=str(program),
                hint="start a new run",
            )
        return ask


@dataclass(frozen=True, slots=True)
class _Saved:
    """The content of run.json."""

    version: int
    program: str
    ask: TransformAsk


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
