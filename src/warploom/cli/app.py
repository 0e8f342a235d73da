"""The commands and their options. Each imports what it needs when it runs: start-up stays quick."""

from pathlib import Path
from typing import Annotated, cast

import typer

from warploom.cli import synthesize_parameters
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
    Backend,
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
    Sources,
    Stdin,
    Target,
    Unsafe,
)
from warploom.cli.search_commands import add_search_commands
from warploom.cli.see_commands import add_see_commands
from warploom.cli.see_parameters import Github, HtmlFile, JunitFile, SarifFile
from warploom.cli.synthesis_commands import add_synthesis_commands
from warploom.core.version import VERSION

app = typer.Typer(
    name="warploom",
    help="Turns slow, host-driven CUDA into fast, verified CUDA.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: warploom check program.cu --ranks 4",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"warploom {VERSION}")
        raise typer.Exit


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del version


@app.command(epilog="Example: warploom analyze examples/moe/moe.cu --json")
def analyze(
    target: Target,
    defines: Defines = None,
    includes: Includes = None,
    ranks: Ranks = None,
    lsa_size: LsaSize = None,
    nccl: Nccl = None,
    as_json: AsJson = False,
    for_llm: Annotated[
        bool, typer.Option("--llm", help="Print compact text for a language model.")
    ] = False,
    space: Annotated[
        bool,
        typer.Option(
            "--design-space", help="Print what is open to choose for each host collective instead."
        ),
    ] = False,
) -> int:
    """Say what a program communicates, allocates, launches and waits for, line by line."""
    from warploom.cli.analyze_command import run_analyze, run_design_space
    from warploom.cli.options import RunChoices

    if space:
        choices = RunChoices.parse(
            ranks=ranks, defines=defines, includes=includes, lsa_size=lsa_size, seeds=None,
            nccl=nccl,
        )  # fmt: skip
        return run_design_space(target, choices, as_json=as_json)
    return run_analyze(target, defines or [], includes or [], as_json=as_json, for_llm=for_llm)


@app.command(
    epilog="Example: warploom check main.cu kernels.cu -I include --effort quick -- --tokens 64",
)
def check(
    context: typer.Context,
    target: Target,
    sources: Sources = None,
    ranks: Ranks = None,
    defines: Defines = None,
    includes: Includes = None,
    lsa_size: LsaSize = None,
    seeds: Seeds = None,
    nccl: Nccl = None,
    timeout: Seconds = None,
    memory: Memory = None,
    jobs: Jobs = None,
    effort: Annotated[
        str | None,
        typer.Option(
            "--effort", metavar="EFFORT", help="quick, normal or thorough. [default: normal]"
        ),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="SEED:TIMING",
            help="Make this run only, such as 3:random, and show what led to each finding.",
        ),
    ] = None,
    processes: Processes = None,
    node_size: NodeSize = None,
    env: Env = None,
    stdin: Stdin = None,
    backend: Backend = "emulator",
    html: HtmlFile = None,
    sarif: SarifFile = None,
    junit: JunitFile = None,
    github: Github = False,
    as_json: AsJson = False,
) -> int:
    """Run a program in the emulator under adverse schedules and report every defect.

    Every run has the happens-before check. Effort quick: one run with a lazy network. Normal: also
    an eager one, and a random one with 3 seeds. Thorough: then further random seeds, to 20, and
    lazy and eager runs with other contents of fresh memory, until two batches of them show nothing
    new. --seeds K sets the number of random seeds at any effort. With --backend cuda the program
    runs on this machine's GPUs instead: 1, 3 or 10 times, and under compute-sanitizer's tools, its
    read-backs compared with the emulator's. Exit code 0: no defect found and the program itself
    succeeded; 1: a defect, a failed program or a deadlock; 2: bad input; 3: not supported here.
    """
    from warploom.cli.backends import is_cuda
    from warploom.cli.options import RunChoices
    from warploom.reports.formats.files import CheckFiles

    files = CheckFiles(html, sarif, junit, github)
    choices = RunChoices.parse(
        ranks=ranks,
        defines=defines,
        includes=includes,
        lsa_size=lsa_size,
        seeds=seeds,
        nccl=nccl,
        timeout=timeout,
        memory=memory,
        jobs=jobs,
        sources=sources,
        args=cast("list[str] | None", context.obj),
        node_size=node_size,
        env=env,
        stdin=stdin,
    )
    if is_cuda(backend):
        from warploom.cli.hardware_command import run_check_on_gpus

        return run_check_on_gpus(
            target, choices, effort=effort, replay=replay, processes=processes, files=files,
            as_json=as_json,
        )  # fmt: skip
    from warploom.cli.check_command import run_check

    return run_check(
        target, choices, effort=effort, replay=replay, processes=processes, files=files,
        as_json=as_json,
    )  # fmt: skip


@app.command("eval", epilog="Example: warploom eval candidate.cu examples/moe --seeds 3")
def eval_command(
    context: typer.Context,
    candidate: Annotated[
        Path | None, typer.Argument(help="The candidate program.", show_default=False)
    ] = None,
    target: synthesize_parameters.OptionalTarget = None,
    suite: synthesize_parameters.Suite = None,
    only: synthesize_parameters.Only = None,
    limit: synthesize_parameters.Limit = None,
    resume: synthesize_parameters.Resume = False,
    folder: synthesize_parameters.SuiteOut = None,
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
    level: Annotated[
        int | None,
        typer.Option(
            "--level",
            min=0,
            max=4,
            help="0 legality, 1 build, 2 verify, 3 benchmark, 4 score. [default: 2, or 4 with "
            "--topology or --timeline]",
            show_default=False,
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology",
            metavar="NAME|FILE",
            help="Model the time on this machine: a profile (doctor names them) or a TOML file. "
            "[default: h200-8]",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline", metavar="FILE", help="Write what ran when, as JSON for Perfetto."
        ),
    ] = None,
    trust_candidate: Annotated[
        bool,
        typer.Option(
            "--trust-candidate",
            help="The candidate is your own: where it keeps no frame, level 0 takes its text.",
        ),
    ] = False,
    no_nvcc: Annotated[
        bool, typer.Option("--no-nvcc", help="Do not compile with nvcc, even where it is found.")
    ] = False,
    backend: Backend = "emulator",
    as_json: AsJson = False,
) -> int:
    """Judge a candidate against a trusted program: legality, build, verification, time.

    The time is modelled on a topology, for verified candidates only; the score is
    10000 / (1 + milliseconds). docs/time-model.md says what the model knows.

    With --suite it synthesizes a kernel for each reference of a suite instead, and prints a table.
    """
    from warploom.cli.backends import is_cuda, level_on_gpus
    from warploom.cli.options import RunChoices
    from warploom.cli.suite_command import require_candidate, run_suite_command

    if suite is not None:
        return run_suite_command(
            suite, only or [], limit, folder, resume=resume, nvcc=not no_nvcc, jobs=jobs,
            as_json=as_json,
        )  # fmt: skip
    candidate, target = require_candidate(candidate, target)

    choices = RunChoices.parse(
        ranks=ranks,
        defines=defines,
        includes=includes,
        lsa_size=lsa_size,
        seeds=seeds,
        nccl=nccl,
        timeout=timeout,
        memory=memory,
        jobs=jobs,
        sources=sources,
        node_size=node_size,
        processes=processes,
        leave_out=leave_out,
        env=env,
        args=cast("list[str] | None", context.obj),
    )
    if is_cuda(backend):
        from warploom.cli.hardware_command import run_eval_on_gpus

        reach = level_on_gpus(level, topology, timeline)
        return run_eval_on_gpus(candidate, target, choices, level=reach, as_json=as_json)
    from warploom.cli.eval_command import run_eval

    return run_eval(
        candidate,
        target,
        choices,
        level=level,
        topology=topology,
        timeline=timeline,
        trust_candidate=trust_candidate,
        inputs=inputs,
        nvcc=not no_nvcc,
        as_json=as_json,
    )


@app.command(epilog="Example: warploom transform examples/moe --api gin --out moe-gin")
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


add_search_commands(app)
add_synthesis_commands(app)
add_see_commands(app)


@app.command(epilog="Example: warploom explain missing_wait")
def explain(
    kind: Annotated[
        str | None,
        typer.Argument(help="A kind of finding. [default: list all]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what a kind of finding means: a program that shows it, the report, the cure."""
    from warploom.cli.explain_command import run_explain

    return run_explain(kind, as_json=as_json)


@app.command(epilog="Example: warploom doctor --fetch-nccl 2.30.7")
def doctor(
    fetch: Annotated[
        str | None,
        typer.Option(
            "--fetch-nccl", metavar="VERSION", help="Download the NCCL headers of this version."
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology",
            metavar="NAME|FILE",
            help="Print the numbers of a topology profile and their sources instead.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what this machine has and lacks, and how to get it."""
    from warploom.cli.doctor_command import run_doctor, show_topology

    if topology is not None:
        return show_topology(topology, as_json=as_json)
    return run_doctor(fetch, as_json=as_json)


@app.command(epilog="Example: warploom init my-workload; warploom init program.cu")
def init(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE",
            help="A folder for a starter workload, or your program.",
            show_default=False,
        ),
    ],
) -> int:
    """Write a workload.toml: for your program, or with a small CUDA and NCCL program to start from.

    For a program it lies beside it, and holds what the text shows: what is read back, which macros
    can be set, whether it takes an argument.
    """
    from warploom.cli.init_command import run_init

    return run_init(folder)


@app.command(epilog="Example: claude mcp add warploom -- warploom mcp")
def mcp(
    skill: Annotated[
        bool, typer.Option("--skill", help="Print the SKILL.md for coding agents and end.")
    ] = False,
    unsafe: Unsafe = False,
) -> int:
    """Serve warploom's commands as tools to a coding agent (MCP, on standard input and output)."""
    from warploom.cli.mcp_command import run_mcp

    return run_mcp(skill=skill, unsafe=unsafe)
