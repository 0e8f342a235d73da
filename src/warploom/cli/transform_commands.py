"""`warploom transform`: its options; the work is imported when it runs."""

from pathlib import Path
from typing import Annotated, cast

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
from warploom.cli.parameters import (
    AsJson,
    Defines,
    Env,
    Includes,
    Jobs,
    JudgedBy,
    LeaveOut,
    LsaSize,
    Memory,
    MoreSources,
    Nccl,
    NodeSize,
    Processes,
    Ranks,
    Seconds,
    Seeds,
    SeedsFrom,
    Unsafe,
)


def add_transform_commands(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: warploom transform examples/moe --api gin --out moe-gin")(
        transform
    )


def transform(
    context: typer.Context,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE|WORKLOAD|DIR",
            help="A CUDA program with a main, a workload file or folder, or a build tree.",
            show_default=False,
        ),
    ] = None,
    api: Annotated[str, typer.Option("--api", metavar="API", help="gin, lsa or auto.")] = "auto",
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Output folder. [default: NAME-device]"),
    ] = None,
    ranks: Ranks = None,
    sources: MoreSources = None,
    defines: Defines = None,
    includes: Includes = None,
    lsa_size: LsaSize = None,
    seeds: Seeds = None,
    inputs: SeedsFrom = None,
    nccl: Nccl = None,
    timeout: Seconds = None,
    memory: Memory = None,
    jobs: Jobs = None,
    node_size: NodeSize = None,
    processes: Processes = None,
    leave_out: LeaveOut = None,
    env: Env = None,
    one_stage: Annotated[
        bool, typer.Option("--one-stage", help="Replace memory and collectives at once.")
    ] = False,
    no_nvcc: Annotated[
        bool, typer.Option("--no-nvcc", help="Do not compile with nvcc, even where it is found.")
    ] = False,
    no_markers: Annotated[bool, typer.Option("--no-markers", help="No evolve markers.")] = False,
    no_plain: Annotated[
        bool, typer.Option("--no-plain", help="The rules' general form only.")
    ] = False,
    no_warmup: Annotated[bool, typer.Option("--no-warmup", help="No warm-up round.")] = False,
    proposer: Proposer = "auto",
    models: Models = None,
    judge_model: JudgeModel = None,
    no_judge: NoJudge = False,
    agent: Agent = None,
    agent_seconds: AgentSeconds = None,
    agent_steps: AgentSteps = None,
    agent_env: AgentEnv = None,
    uncapped_agent: UncappedAgent = False,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_requests: MaxRequests = None,
    max_seconds: MaxSeconds = None,
    price: Price = None,
    stream: Stream = False,
    attempts: Attempts = None,
    backend: JudgedBy = "auto",
    unsafe: Unsafe = False,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run; pays for nothing twice."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PROGRAM", help="Of a build tree: this program."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Of a build tree: all programs that communicate.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Make a host-driven program device-initiated, and prove that it still does the same.

    Writes the program, a diff and report.json. The rules need no model; with --model (or
    WARPLOOM_MODEL) a language model takes over where they refuse, and what it writes is judged by
    the same evaluator. Without one, a program beyond the rules is refused with every reason and
    line, and nothing is written. A folder with a compile_commands.json is a build tree: without
    --only or --all it is only said what would be done with each program. Exit code 0: transformed
    and verified; 1: not verified, or a cap was reached; 2: bad input or refused; 3: not supported
    here, or a provider fails.
    """
    from warploom.cli.transform_ask import TransformAsk
    from warploom.cli.transform_command import run_transform
    from warploom.cli.tree_command import run_transform_tree
    from warploom.transform.build_tree import is_build_tree

    ask = TransformAsk(
        target=None if target is None else str(target), out=None if folder is None else str(folder),
        api=api, ranks=ranks, sources=tuple(map(str, sources or ())),
        defines=tuple(defines or ()),
        includes=tuple(map(str, includes or ())), lsa_size=lsa_size, seeds=seeds,
        seeds_from=inputs, nccl=nccl, timeout=timeout, memory=memory, jobs=jobs,
        args=tuple(cast("list[str] | None", context.obj) or ()),
        node_size=node_size, processes=processes, leave_out=tuple(leave_out or ()),
        env=tuple(env or ()), one_stage=one_stage,
        no_nvcc=no_nvcc, no_markers=no_markers, no_plain=no_plain, no_warmup=no_warmup,
        proposer=proposer, models=tuple(models or ()),
        judge_model=judge_model, no_judge=no_judge, agent=agent, agent_seconds=agent_seconds,
        agent_steps=agent_steps, agent_env=tuple(agent_env or ()),
        uncapped_agent=uncapped_agent, max_cost=max_cost,
        max_tokens=max_tokens, max_requests=max_requests, max_seconds=max_seconds, price=price,
        stream=stream, attempts=attempts, backend=backend, unsafe=unsafe, as_json=as_json,
    )  # fmt: skip
    if target is not None and is_build_tree(target):
        return run_transform_tree(ask, only or [], every=every)
    return run_transform(ask, resume)
