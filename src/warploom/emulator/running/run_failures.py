"""How a run failed: its state, and the findings that say so."""

import signal
import tempfile

from warploom.core.process import ProcessResult, Stop
from warploom.core.records import Finding, Severity
from warploom.emulator.running.report import Report
from warploom.emulator.running.run_records import RunOptions, State
from warploom.toolchain.sandbox import MAX_FILE_MB

_READ_BACK_MORE = 2  # bytes that a run may read back, by byte of memory that it may hold
_MORE_READ_BACK = (
    f"--memory GIB allows {_READ_BACK_MORE} times that; TMPDIR names the folder that keeps it"
)
_MORE_MEMORY = "--memory GIB allows more, or memory_mb in the [limits] of a workload.toml"


def _failure(process: ProcessResult, options: RunOptions, report: Report) -> tuple[State, str]:
    """Return the state of a run that has no believable end, and the words for it."""
    limits = options.limits
    if process.stopped is Stop.TIMEOUT:
        return "timeout", f"the program must end within {limits.seconds:g} s, but did not"
    if process.stopped is Stop.OUTPUT:
        return "output_limit", f"the program must print at most {limits.output_mb} MiB"
    if process.stopped is Stop.MEMORY:
        return "memory_limit", (
            f"the program must use at most {process.memory_limit_mb} MiB of memory, "
            f"but held {process.memory_mb} MiB"
        )
    if process.stopped is Stop.PROCESSES:
        return "process_limit", "the program started too many processes"
    if process.stopped is Stop.DISK:
        return "disk_limit", "the program wrote too much to files"
    if process.stopped is Stop.CANCELLED:
        return "cancelled", "the run was cancelled"
    if unkept := _unkept(report, limits.memory_mb):
        return "output_limit", unkept
    if process.signal is not None:
        how = f"signal {signal.Signals(process.signal).name}"
    else:
        how = f"exit code {process.exit_code}"
    return "crashed", f"the run ended with {how}, and its report is not valid: {report.problem}"


def _file_limit_mb(memory_mb: int) -> int:
    """Return how much a run that may hold `memory_mb` may read back, MiB."""
    return max(MAX_FILE_MB, _READ_BACK_MORE * memory_mb)


def room_mb(options: RunOptions) -> int:
    """Return how large the file with the read-backs may get, MiB."""
    versions = 0 if options.spoil is None else options.spoil.versions
    return _file_limit_mb(options.limits.memory_mb) + versions


def _unkept(report: Report, memory_mb: int) -> str:
    """Return why the file with the read-backs lacks some of their bytes; empty if it should not."""
    read_back = sum(raw.size for raw in report.readbacks if not raw.at) >> 20
    most = _file_limit_mb(memory_mb)
    if read_back >= most:
        return (
            f"the program must read back less than {most} MiB from its devices in one run, "
            f"but read back {read_back} MiB"
        )
    if any(raw.lost for raw in report.readbacks):
        return (
            f"{tempfile.gettempdir()} must have room for what the program reads back, but is full "
            f"after {read_back} MiB"
        )
    return ""


def failure_findings(
    process: ProcessResult, options: RunOptions, report: Report
) -> tuple[State, list[Finding]]:
    """Return the run's state, and findings for each way in which the program failed."""

    def finding(kind: str, message: str, hint: str = "", rank: int | None = None) -> Finding:
        run = options.run
        return Finding(
            kind, Severity.ERROR, message, hint, rank=rank, seed=run.seed, timing=run.timing
        )

    if report.state is None or process.stopped is not None:
        state, message = _failure(process, options, report)
        kind = "crash" if state == "crashed" else state
        last = process.stderr.decode(errors="replace").strip().splitlines()[-3:]
        hint = " | ".join(last)
        if state == "output_limit" and process.stopped is None:
            hint = _MORE_READ_BACK
        if state == "memory_limit":
            short = process.memory_limit_mb < options.limits.memory_mb
            hint = "this machine has no more" if short else _MORE_MEMORY
        return state, [finding(kind, message, hint)]
    found = [
        finding("exit_code", f"rank {rank} ended with exit code {code}", rank=rank)
        for rank, code in sorted(report.exit_codes.items())
        if code != 0
    ]
    expected = range(options.process_count)
    if report.state == "finished":
        found += [
            finding("crash", f"rank {rank} never ended", rank=rank)
            for rank in expected
            if rank not in report.exit_codes
        ]
        return "finished", found
    if report.state == "timeout":
        return "timeout", found
    return ("deadlock" if report.state == "deadlock" else "stopped"), found
