"""`warploom check`, `eval`: their options; the work is imported when it runs."""

from pathlib import Path
from typing import Annotated, cast

import typer

from warploom.cli import synthesize_parameters
from warploom.cli.parameters import (
    AsJson,
    Backend,
    Defines,
    Env,
    Includes,
    Jobs,
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
)
from warploom.cli.see_parameters import Github, HtmlFile, JunitFile, SarifFile


def add_judge_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog="Example: warploom check main.cu kernels.cu -I include --effort quick -- --tokens 64"
    )(check)
    app.command("eval", epilog="Example: warploom eval candidate.cu examples/moe --seeds 3")(
        eval_command
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
    from warploom.cli.check_command import run_check
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
    return run_check(
        target, choices, effort=effort, replay=replay, processes=processes, backend=backend,
        files=files, as_json=as_json,
    )  # fmt: skip


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
        backend=backend,
        as_json=as_json,
    )
