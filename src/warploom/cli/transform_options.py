"""The options of `warploom transform`, as a record that a run keeps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli.model_parameters import (
    Agent,
    AgentEnv,
    AgentSeconds,
    AgentSteps,
    Attempts,
    JudgeModel,
    MaxCost,
    MaxRequests,
    MaxSeconds,
    MaxTokens,
    Models,
    NoJudge,
    Price,
    Proposer,
    Stream,
    UncappedAgent,
)
from warploom.cli.run_options import RunChoices
from warploom.cli.shared_parameters import AsJson, JudgedBy, NoNvcc, SeedsFrom, Unsafe


@dataclass(frozen=True, slots=True)
class TransformChoices(RunChoices):
    """What a transform is asked to do; None is an option that was not given."""

    target: Path | None = None
    api: Annotated[str, typer.Option("--api", metavar="API", help="gin, lsa or auto.")] = "auto"
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder. [default: NAME-device]"),
    ] = None
    seeds_from: SeedsFrom = None
    one_stage: Annotated[
        bool, typer.Option("--one-stage", help="Replace memory and collectives at once.")
    ] = False
    no_nvcc: NoNvcc = False
    no_markers: Annotated[bool, typer.Option("--no-markers", help="No evolve markers.")] = False
    no_plain: Annotated[bool, typer.Option("--no-plain", help="The rules' general form only.")] = (
        False
    )
    no_warmup: Annotated[bool, typer.Option("--no-warmup", help="No warm-up round.")] = False
    proposer: Proposer = "auto"
    models: Models = None
    judge_model: JudgeModel = None
    no_judge: NoJudge = False
    agent: Agent = None
    agent_seconds: AgentSeconds = None
    agent_steps: AgentSteps = None
    agent_env: AgentEnv = None
    uncapped_agent: UncappedAgent = False
    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    max_requests: MaxRequests = None
    max_seconds: MaxSeconds = None
    price: Price = None
    stream: Stream = False
    attempts: Attempts = None
    backend: JudgedBy = "auto"
    unsafe: Unsafe = False
    as_json: AsJson = False
