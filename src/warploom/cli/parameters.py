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
    typer.Option("--lsa-size", metavar="N", help="Ranks that share memory. [default: all]"),
]
Seeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="K", help="Seeds. [default: the workload's, or 3]"),
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
        "--nccl", metavar="VERSION", help="NCCL version whose rules hold. [default: the newest]"
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="Runs at once. [default: one per core]")
]
Seconds = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", help="Seconds for each run. [default: 60]"),
]
Memory = Annotated[
    float | None,
    typer.Option(
        "--memory", metavar="GIB", help="GiB for each run; a device says it has half. [default: 8]"
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        help="Processes that share the ranks' devices out. [default: one per rank, or one]",
    ),
]
NodeSize = Annotated[
    int | None,
    typer.Option(
        "--node-size",
        metavar="N",
        help="Devices of one machine; a process sees its own machine's. [default: all]",
    ),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="NAME",
        help="An output that varies by nature, such as a timer: it is not compared.",
    ),
]
Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="An environment variable of the program, which sees none of ours.",
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
        help="Who judges the outcome: emulator; cuda: this machine's GPUs as well; auto: they too, "
        "where there are any.",
    ),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe",
        help="Run programs of a model or an agent where no sandbox holds them, your files and "
        "network in their reach.",
    ),
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
