"""Launches a program on real GPUs, confined, and collects what it did."""

import os
import re
import signal
import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from warploom.core.errors import UnsupportedError
from warploom.core.ids import digest
from warploom.core.process import ProcessResult, run_tool
from warploom.core.records import Finding, Interval, Limits, Severity, SourceLocation
from warploom.hardware.build import HardwareBuild
from warploom.hardware.handed import Orders
from warploom.hardware.launcher import (
    LOG,
    is_confined,
    run_ranks,
    shared_folder,
)
from warploom.hardware.network import EAGER
from warploom.hardware.noted import Readback, plain_files, read_log
from warploom.hardware.places import places_of
from warploom.hardware.sanitizer import SanitizerReport, findings_in
from warploom.hardware.setup import Setup
from warploom.toolchain.cache import cached_folder
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.gpu import gpu_devices
from warploom.toolchain.nccl import nccl_library
from warploom.toolchain.nvcc import find_sanitizer
from warploom.toolchain.sandbox import Extras, SandboxedResult, run_sandboxed
from warploom.toolchain.seccomp import Profile

_SHIM = tuple(
    Path(__file__).with_name(name)
    for name in ("readbacks.cpp", "waits.cpp", "processes.cpp", "preload.h", "waits.h")
)
_PASSED = ("NCCL_", "CUDA_", "OMPI_", "OPAL_", "PMIX_", "PRTE_", "UCX_", "NVIDIA_", "HYDRA_")
_RANK_MEMORY_MB = 4096  # host memory of one rank's CUDA context, NCCL and MPI, generously
_SANITIZER_FACTOR = 4.0  # how much longer a run may take under compute-sanitizer
# NCCL's words on what went wrong; that it has no RMA over sockets is said in every run.
_WARNING = re.compile(r"NCCL WARN (?!RMA/Socket)(.*)")
_PLACED = re.compile(r"\.(?:cu|cuh|cpp|cc|c|h|hpp)[:(]\d+")  # a line that names a source line
_NO_GIN = re.compile(r"requested GIN but not all ranks|GIN (?:is )?not (?:supported|available)")


@dataclass(frozen=True, slots=True)
class HardwareOptions:
    """How to run once: the program's arguments, its limits, and a compute-sanitizer tool or "".

    `folder` holds the files that it finds by plain name, where there are any. `timing` is that of
    our network: "eager", "lazy" or "random:SEED" (see `network.timings`). `env` are variables that
    the program has beside what its libraries need, and `stdin` is what rank 0 reads.
    """

    args: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    tool: str = ""
    folder: Path | None = None
    timing: str = EAGER
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stdin: Path | None = None


@dataclass(frozen=True, slots=True)
class HardwareRun:
    """What one run on GPUs did.

    `state` is "finished", "timeout", "crashed", "unsupported" or a limit's name. `sanitizer` is
    there for runs under a tool, which have neither read-backs nor intervals. `network` is the
    timing of our network, or "" without it. `nodes` are the machines that a launcher has put the
    ranks on, rank by rank.
    """

    state: str
    exit_code: int | None
    findings: tuple[Finding, ...]
    readbacks: tuple[Readback, ...]
    intervals: tuple[Interval, ...]
    sanitizer: SanitizerReport | None
    output: str
    seconds: float
    sandbox: str
    network: str = ""
    nodes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it came to its end with exit code 0."""
        return self.state == "finished" and self.exit_code == 0

    @property
    def timed(self) -> bool:
        """Whether nothing was held back on purpose, so that its intervals say something."""
        return self.network in ("", EAGER)


def launch_command(
    build: HardwareBuild, setup: Setup, options: HardwareOptions, folder: Path, shim: Path | None
) -> list[str]:
    """Return the command line of a run on this machine: the launcher, then what each rank is."""
    command = setup.mpi.command(setup.ranks) if setup.mpi else []
    return [*command, *rank_command(build, setup, options, folder, shim)]


def rank_command(
    build: HardwareBuild, setup: Setup, options: HardwareOptions, folder: Path, shim: Path | None
) -> list[str]:
    """Return the command line of one rank: what stands before the program, the program."""
    command: list[str] = []
    if options.tool:
        variable = setup.mpi.rank_variable if setup.mpi else ""
        if setup.launcher and setup.launcher.is_slurm:
            variable = "SLURM_PROCID"
        rank = f"%q{{{variable}}}" if variable else "0"
        command = [
            str(find_sanitizer()), "--tool", options.tool, "--show-backtrace", "yes",
            "--print-limit", "200", "--log-file", str(folder / f"{options.tool}.{rank}"),
            *(["--leak-check", "full"] if options.tool == "memcheck" else []),
        ]  # fmt: skip
    elif shim is not None:
        command = ["/usr/bin/env", f"LD_PRELOAD={shim}"]
    return [*command, str(build.program), *options.args]


def launch_environment(setup: Setup, folder: Path, timing: str = EAGER) -> dict[str, str]:
    """Return the environment of a run: what libraries need, and nothing that may be secret."""
    passed = {k: v for k, v in os.environ.items() if k.startswith(_PASSED)}
    libraries = [str(nccl_library(setup.nccl).parent)]
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    return {
        "NCCL_DEBUG": "WARN",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        **passed,
        **({} if setup.mpi else {"WARPLOOM_ONE_PROCESS": "1"}),
        **({"NCCL_MULTI_RANK_GPU_ENABLE": "1"} if setup.shared else {}),
        **_network_environment(setup, timing),
        "PATH": os.environ.get("PATH", os.defpath),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "WARPLOOM_READBACKS": str(folder),
    }


def _network_environment(setup: Setup, timing: str) -> dict[str, str]:
    if setup.network is None:
        return {}
    return {
        "NCCL_RMA_PLUGIN": str(setup.network),
        "WARPLOOM_NETWORK": timing,
        # The network copies by the CUDA driver. Were that loading a kernel's code then, it would
        # wait for a kernel that waits for the network.
        "CUDA_MODULE_LOADING": "EAGER",
    }


def build_shim() -> Path:
    """Build the library that notes read-backs and forbids the program to make processes; cached.

    Raises:
        MissingToolError: there is no C++ compiler.
    """
    compiler = find_compiler()
    texts = [path.read_bytes() for path in _SHIM]

    def make(folder: Path) -> None:
        command = [*compiler.command, "-std=c++20", "-O2", "-fPIC", "-shared"]
        command += [str(path) for path in _SHIM if path.suffix == ".cpp"]
        run_tool([*command, "-o", folder / "readbacks.so"], limits=Limits(seconds=120.0))

    folder, _ = cached_folder("hardware-shim", digest([compiler.identity, *texts]), make)
    return folder / "readbacks.so"


def run_hardware(build: HardwareBuild, setup: Setup, options: HardwareOptions) -> HardwareRun:
    """Run once, in the sandbox, and collect read-backs, times or a sanitizer's report.

    Raises:
        MissingToolError: compute-sanitizer or a C++ compiler is missing.
        RanksLostError: a launcher did not run all ranks to their end.
    """
    if setup.launcher and options.stdin is not None:
        raise UnsupportedError(
            "a launcher's ranks have no standard input, but the workload has stdin",
            hint="leave out launcher or stdin",
        )
    shim = None if options.tool else build_shim()
    with _folder_for(setup) as folder:
        log = folder / LOG if setup.launcher else folder
        asked = _asked(build, setup, options, log, shim)
        if setup.launcher:
            process, outcomes = run_ranks(setup.launcher, setup.ranks, asked, folder)
            kinds = ", ".join(sorted({outcome.sandbox for outcome in outcomes}))
            if setup.launcher.obeys_ranks:
                kinds += f" ({setup.launcher.words[0]}, which ranks can ask, is outside)"
        else:
            result = _run_here(setup, asked, folder, options.stdin)
            process, outcomes, kinds = result.process, (), str(result.kind)
        readbacks, intervals = read_log(log, build)
        report = _sanitizer(log, build, options, process) if options.tool else None
    state, findings = judge(process, options)
    return HardwareRun(
        state, process.exit_code, findings, readbacks, intervals, report, process.log,
        process.seconds, kinds, options.timing if setup.network else "",
        tuple(outcome.node for outcome in outcomes),
    )  # fmt: skip


@contextmanager
def _folder_for(setup: Setup) -> Generator[Path]:
    """Yield a folder for what a run notes: one that all of its machines see."""
    if setup.launcher is None:
        with tempfile.TemporaryDirectory(prefix="warploom-gpu-") as name:
            yield Path(name)
        return
    with shared_folder("run") as folder:
        yield folder


def _asked(
    build: HardwareBuild, setup: Setup, options: HardwareOptions, log: Path, shim: Path | None
) -> Orders:
    """Return what is to be run in the sandbox: all ranks, or each of them on its own machine."""
    ranks = 1 if setup.launcher else setup.ranks  # of this sandbox
    readable = [build.program.parent, nccl_library(setup.nccl).parent]
    readable += [shim.parent] if shim else []
    readable += [setup.mpi.launcher.parent.parent] if setup.mpi else []
    readable += [setup.network.parent] if setup.network else []
    one = rank_command if setup.launcher else launch_command
    return Orders(
        command=tuple(one(build, setup, options, log, shim)),
        environment={**options.env, **launch_environment(setup, log, options.timing)},
        readable=tuple(str(path) for path in readable if path != Path("/usr")),
        beside=str(options.folder) if options.folder else None,
        seconds=options.limits.seconds * (_SANITIZER_FACTOR if options.tool else 1.0),
        memory_mb=options.limits.memory_mb + ranks * _RANK_MEMORY_MB,
        output_mb=options.limits.output_mb,
        node_ranks=setup.launcher.node_ranks if setup.launcher else ranks,
        confined=is_confined(),
    )


def _run_here(setup: Setup, asked: Orders, folder: Path, stdin: Path | None) -> SandboxedResult:
    with ExitStack() as stack:
        descriptors = {} if stdin is None else {0: stack.enter_context(stdin.open("rb")).fileno()}
        return run_sandboxed(
            asked.command,
            limits=asked.limits,
            beside=asked.folder,
            readable=asked.readable_paths,
            environment=asked.environment,
            profile=Profile.GPU,
            descriptors=descriptors,
            extras=Extras((folder,), gpu_devices(), shared_mb=1024 * setup.ranks),
        )


def run_tools(
    build: HardwareBuild, setup: Setup, options: HardwareOptions, tools: Sequence[str]
) -> tuple[HardwareRun, ...]:
    """Run once under each of compute-sanitizer's `tools`, side by side: they take no times."""

    def under(tool: str) -> HardwareRun:
        return run_hardware(build, setup, replace(options, tool=tool))

    with ThreadPoolExecutor(max_workers=max(1, len(tools))) as pool:
        return tuple(pool.map(under, tools))


def judge(process: ProcessResult, options: HardwareOptions) -> tuple[str, tuple[Finding, ...]]:
    """Return how a run ended, and a finding where that was not well."""
    log = process.log
    said = _WARNING.findall(log)
    own = [line for line in log.splitlines() if "NCCL WARN" not in line]
    placed = [line.strip() for line in own if _PLACED.search(line)]
    hint = " | ".join((placed[:1] + said[:1]) or own[-3:])
    if process.stopped is not None:
        kind = "timeout" if process.stopped == "timeout" else str(process.stopped)
        words = f"the program must end within {options.limits.seconds:g} s on the GPU, but did not"
        if kind != "timeout":
            words = f"the program was ended: {kind}"
        return kind, (Finding(kind, Severity.ERROR, words, hint),)
    code = process.exit_code
    if code != 0 and _NO_GIN.search(log):
        words = "NCCL offers no GIN between these GPUs, which the program asks for"
        cure = (
            "GIN needs a network card that NCCL can use, or NCCL 2.30.5 or newer for warploom's "
            f"own network; NCCL says: {hint}"
        )
        return "unsupported", (Finding("unsupported", Severity.ERROR, words, cure),)
    # A launcher says 128 + signal of a process that died of one.
    died = process.signal or (code - 128 if code is not None and 128 < code < 160 else None)
    if died:
        known = died in {int(item) for item in signal.Signals}
        name = signal.Signals(died).name if known else f"signal {died}"
        words = f"the program died of {name} on the GPU machine"
        return "crashed", (Finding("crash", Severity.ERROR, words, hint),)
    if code != 0:
        words = f"the program ended with exit code {code} on the GPU"
        return "finished", (Finding("exit_code", Severity.ERROR, words, hint),)
    return "finished", ()


def _sanitizer(
    folder: Path, build: HardwareBuild, options: HardwareOptions, process: ProcessResult
) -> SanitizerReport:
    found: list[Finding] = []
    foreign = 0
    complete = True
    logs = plain_files(folder, f"{options.tool}.*")
    for path in logs:
        rank = path.suffix.removeprefix(".")
        text = path.read_text(errors="replace")
        some, others, whole = findings_in(
            options.tool, text, int(rank) if rank.isdigit() else None, build.user_file,
            lambda offset: _host_line(build, offset),
        )  # fmt: skip
        found += some
        foreign += others
        complete = complete and whole
    note = ""
    if not logs:
        note = "it wrote no report: " + " | ".join(process.log.strip().splitlines()[-2:])
    elif not found and (process.stopped or process.exit_code != 0 or not complete):
        note = "the program does not run under it to its end"
    return SanitizerReport(
        options.tool, tuple(found), foreign, complete and bool(logs), process.seconds, note
    )


def _host_line(build: HardwareBuild, offset: int) -> SourceLocation | None:
    return places_of(build, [offset]).get(offset)
