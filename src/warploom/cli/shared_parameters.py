"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="A CUDA program.", show_default=False)]
Target = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|WORKLOAD",
        help="A CUDA program with a main, or a workload file or folder.",
        show_default=False,
    ),
]
Ranks = Annotated[
    int | None, typer.Option("--ranks", metavar="N", help="Ranks. [default: the workload's, or 4]")
]
Defines = Annotated[
    list[str] | None, typer.Option("-D", metavar="NAME=VALUE", help="Define a macro.")
]
Includes = Annotated[
    list[Path] | None, typer.Option("-I", metavar="DIR", help="Add an include folder.")
]
LsaSize = Annotated[
    int | None,
    typer.Option(
        "--lsa-size",
        metavar="N",
        help="Consecutive ranks that can access each other's memory. [default: all]",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", metavar="K", help="Number of input seeds. [default: the workload's, or 3]"
    ),
]
SeedsFrom = Annotated[
    str | None,
    typer.Option(
        "--seeds-from",
        metavar="FILE|LIST",
        help="Repeat with the seeds of an earlier report, or with 3,17. [default: secret ones]",
    ),
]
Nccl = Annotated[
    str | None,
    typer.Option(
        "--nccl", metavar="VERSION", help="NCCL version whose rules apply. [default: the newest]"
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Runs at the same time. [default: one per core]"),
]
Seconds = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", help="Time limit per run, in seconds. [default: 60]"),
]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory",
        metavar="GIB",
        help="Memory limit per run, in GiB. Emulated devices report half of it. [default: 8]",
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        help="Number of processes. They share the devices equally. [default: one per rank, or one]",
    ),
]
NodeSize = Annotated[
    int | None,
    typer.Option(
        "--node-size",
        metavar="N",
        help="Devices per machine. A process sees those of its own machine. [default: all]",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="NAME",
        help="Name of an output that varies by nature, such as a timer. It is not compared.",
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="Environment variable for the program. It sees no others.",
    ),
]
Stdin = Annotated[
    Path | None,
    typer.Option(
        "--stdin",
        metavar="FILE",
        help="What the program reads from standard input: rank 0 alone, as under mpirun. "
        "[default: the workload's, or nothing]",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="BACKEND",
        help="emulator, or cuda: this machine's GPUs, with nvcc, NCCL and compute-sanitizer.",
    ),
]
JudgedBy = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="BACKEND",
        help="Who judges the outcome: emulator; cuda: this machine's GPUs as well; auto: the GPUs "
        "too, if there are any.",
    ),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe",
        help="Run programs of a model or an agent without a sandbox: they can reach your files and "
        "your network.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Dotted keys of the configuration (docs/evolve.md), or groups: database=large.",
        show_default=False,
    ),
]
RunSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", min=0, help="Repeat a run: the same seed gives the same run."
    ),
]
RunOut = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the run. [default: NAME-evolved]"),
]
ResumeRun = Annotated[
    bool,
    typer.Option("--resume", help="Go on with the run in the folder; nothing is judged twice."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="YAML with the same keys; overrides come later."),
]
NoNvcc = Annotated[
    bool, typer.Option("--no-nvcc", help="Do not compile with nvcc, even where it is found.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[SOURCE]... [-- ARGS]",
        help="Further .cu, .cpp or .c files of the program, and after -- its arguments.",
        show_default=False,
    ),
]
MoreSources = Annotated[
    list[Path] | None,
    typer.Option("--source", metavar="FILE", help="Add a further .cu or .cpp file of the program."),
]
