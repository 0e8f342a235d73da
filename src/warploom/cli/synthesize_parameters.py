"""Options of `warploom synthesize`."""

from pathlib import Path
from typing import Annotated

import typer

Reference = Annotated[
    str,
    typer.Option(
        "--reference", metavar="FILE[:NAME]", show_default=False,
        help="A Python file with a function `reference` over tensors (or NAME, or a class Model) "
        "and example_inputs(seed).",
    ),
]  # fmt: skip
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="The folder for the result.", show_default=False),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--prompt", metavar="TEXT",
        help="What is wanted, in words; this or --prompt-file must be given.",
    ),
]  # fmt: skip
PromptFile = Annotated[
    Path | None, typer.Option("--prompt-file", metavar="FILE", help="The same, from a file.")
]
Kernel = Annotated[
    Path | None,
    typer.Option(
        "--kernel", metavar="FILE",
        help="A kernel of yours that is judged, instead of one that is written: CUDA with "
        "warploom_forward.",
    ),
]  # fmt: skip
Ranks = Annotated[
    int,
    typer.Option(
        "--ranks", metavar="N",
        help="GPUs that call the kernel together, 1 to 8: of a reference with torch.distributed.",
    ),
]  # fmt: skip
KernelTarget = Annotated[
    str,
    typer.Option("--target", metavar="ARCH", help="sm_80, sm_90, sm_90a, sm_100 or sm_120."),
]
Tune = Annotated[
    int, typer.Option("--tune", metavar="N", help="Settings of the parameters to try, 1 to 64.")
]
SecretSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", help="Repeat a run with this seed. [default: drawn, and told]"
    ),
]
GoOn = Annotated[bool, typer.Option("--resume", help="Go on with the run that --out holds.")]
StageModels = Annotated[
    list[str] | None,
    typer.Option(
        "--stage-model", metavar="STAGE=MODEL",
        help="Who is asked in codegen, correctness or performance instead of --model; in turn.",
    ),
]  # fmt: skip
StageRetries = Annotated[
    list[str] | None,
    typer.Option(
        "--retries", metavar="STAGE=N",
        help="Further kernels that a stage may ask for. [codegen=3, correctness=5, performance=3]",
    ),
]  # fmt: skip
KernelBackend = Annotated[
    str,
    typer.Option(
        "--backend", metavar="NAME", help="emulator: any machine; cuda: this machine's GPU as well."
    ),
]
Nvcc = Annotated[
    bool, typer.Option("--nvcc/--no-nvcc", help="Compile with nvcc too, where it is found.")
]
OptionalTarget = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE|WORKLOAD",
        help="A CUDA program with a main, or a workload file or folder.",
        show_default=False,
    ),
]
Suite = Annotated[
    str | None,
    typer.Option(
        "--suite",
        metavar="NAME",
        help="Synthesize a suite instead: internal, kernelbench:PATH, or a folder of references.",
    ),
]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="TASK", help="Of the suite, only this task.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="Of the suite, the first N tasks.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the outcomes that --out holds.")]
SuiteOut = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The suite's folder. [default: suite-NAME]"),
]
SynthesisRun = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a synthesis.", show_default=False)
]
ReportRun = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN|DIR",
        help="Of show: the folder of a synthesis; of latest: where to look. [default: here]",
        show_default=False,
    ),
]
Writer = Annotated[
    str,
    typer.Option("--proposer", metavar="NAME", help="Who writes kernels: rules, or llm."),
]
