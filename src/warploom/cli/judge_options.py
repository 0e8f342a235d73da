"""The options of `warploom check` and `eval`, as records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from warploom.cli import synthesize_parameters
from warploom.cli.see_parameters import Github, HtmlFile, JunitFile, SarifFile
from warploom.cli.shared_parameters import AsJson, Backend, NoNvcc, SeedsFrom


@dataclass(frozen=True, slots=True)
class CheckChoices:
    """How much a check runs, on what, and how it is told."""

    effort: Annotated[
        str | None,
        typer.Option(
            "--effort", metavar="EFFORT", help="quick, normal or thorough. [default: normal]"
        ),
    ] = None
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="SEED:TIMING",
            help="Make this run only, such as 3:random, and show what led to each finding.",
        ),
    ] = None
    backend: Backend = "emulator"
    html: HtmlFile = None
    sarif: SarifFile = None
    junit: JunitFile = None
    github: Github = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class EvalChoices:
    """How far a candidate is judged, on what, and how it is told."""

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
    ] = None
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology",
            metavar="NAME|FILE",
            help="Model the time on this machine: a profile (doctor names them) or a TOML file. "
            "[default: h200-8]",
        ),
    ] = None
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline", metavar="FILE", help="Write what ran when, as JSON for Perfetto."
        ),
    ] = None
    seeds_from: SeedsFrom = None
    trust_candidate: Annotated[
        bool,
        typer.Option(
            "--trust-candidate",
            help="The candidate is your own: where it keeps no frame, level 0 takes its text.",
        ),
    ] = False
    no_nvcc: NoNvcc = False
    backend: Backend = "emulator"
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class SuiteChoices:
    """Which tasks of a suite are synthesized, and where."""

    suite: synthesize_parameters.Suite = None
    only: synthesize_parameters.Only = None
    limit: synthesize_parameters.Limit = None
    resume: synthesize_parameters.Resume = False
    folder: synthesize_parameters.SuiteOut = None
