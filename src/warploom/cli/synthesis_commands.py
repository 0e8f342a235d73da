"""`warploom synthesize`, `export`, and reports of these: their options."""

import typer

from warploom.cli import synthesize_parameters
from warploom.cli.model_parameters import MaxCost, MaxRequests, Models, Price
from warploom.cli.shared_parameters import AsJson, Jobs, Unsafe


def add_synthesis_commands(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog='Example: warploom synthesize --prompt "fused RMSNorm" '
        "--reference examples/synthesize/rms_norm.py --out out/"
    )(synthesize)
    app.command("export", epilog="Example: warploom export out/ --out package/")(export_command)
    app.command("show-report", hidden=True, epilog="Example: warploom show-report out/")(
        show_report_command
    )
    app.command("latest-report", hidden=True, epilog="Example: warploom latest-report")(
        latest_report_command
    )


def synthesize(
    reference: synthesize_parameters.Reference,
    folder: synthesize_parameters.Out,
    prompt: synthesize_parameters.Prompt = None,
    prompt_file: synthesize_parameters.PromptFile = None,
    kernel: synthesize_parameters.Kernel = None,
    target: synthesize_parameters.KernelTarget = "sm_90",
    ranks: synthesize_parameters.Ranks = 1,
    tune: synthesize_parameters.Tune = 4,
    seed: synthesize_parameters.SecretSeed = None,
    nvcc: synthesize_parameters.Nvcc = True,
    backend: synthesize_parameters.KernelBackend = "emulator",
    proposer: synthesize_parameters.Writer = "rules",
    models: Models = None,
    stage_models: synthesize_parameters.StageModels = None,
    retries: synthesize_parameters.StageRetries = None,
    resume: synthesize_parameters.GoOn = False,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    price: Price = None,
    unsafe: Unsafe = False,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> int:
    """Make a verified kernel of a PyTorch reference, and a package of it.

    The reference is what is right: the specification is traced from it, and each candidate is
    compared with it in double precision, on inputs from secret seeds, in the emulator. Exit code 0:
    verified; 1: no kernel passed; 2: bad input; 3: beyond the rules, or something is missing here.
    """
    from warploom.cli.synthesize_command import config_of, prompt_of, run_synthesize

    config = config_of(
        proposer, models or [], max_cost, max_requests, price, tune=tune, seed=seed, nvcc=nvcc,
        jobs=jobs, unsafe=unsafe, backend=backend, resume=resume, ranks=ranks,
        stage_models=stage_models or [], retries=retries or [], kernel=kernel,
    )  # fmt: skip
    return run_synthesize(
        prompt_of(prompt, prompt_file), reference, target, config, folder, as_json=as_json
    )


def export_command(
    run: synthesize_parameters.SynthesisRun,
    folder: synthesize_parameters.Out,
    as_json: AsJson = False,
) -> int:
    """Write the package of a verified kernel: the kernel, PyTorch's operator, tests, evidence."""
    from warploom.cli.synthesis_report import run_export

    return run_export(run, folder, as_json=as_json)


def show_report_command(run: synthesize_parameters.SynthesisRun, as_json: AsJson = False) -> int:
    """Show the report of a synthesis: as `report show`."""
    from warploom.cli.synthesis_report import show_report

    return show_report(run, as_json=as_json)


def latest_report_command(
    run: synthesize_parameters.ReportRun = None, as_json: AsJson = False
) -> int:
    """Show the report of the latest synthesis in a folder: as `report latest`."""
    from warploom.cli.synthesis_report import show_latest

    return show_latest(run, as_json=as_json)
