"""Reads what compute-sanitizer says and turns it into findings with the user's lines."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from warploom.core.records import Finding, Severity, SourceLocation

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
"""The tools, in the order in which they are run."""

_PREFIX = re.compile(r"^========= ?")
_PLACE = re.compile(r"\bat (?P<function>.+?)\+0x[0-9a-f]+(?: in (?P<file>.+):(?P<line>\d+))?")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_DEVICE_FRAME = re.compile(
    r"Device Frame: ?(?P<function>.+?)\+0x[0-9a-f]+(?: in (?P<file>.+):(?P<line>\d+))?"
)
_HOST_FRAME = re.compile(
    r"Host Frame: ?(?P<function>.*?) ?(?:in (?P<file>\S+):(?P<line>\d+) )?"
    r"\[(?P<offset>0x[0-9a-f]+)\] in (?P<module>\S+)"
)
_ACCESS = re.compile(r"^Invalid __(\w+)__ (\w+)")
_RACE = re.compile(r"^(?P<level>Error|Warning): (?:Potential \w+ hazard|Race reported)")
_API = re.compile(r"^Program hit (?P<name>\S+) \(error \d+\).* on CUDA API call to (?P<call>\w+)")
_SUMMARY = re.compile(r"SUMMARY:")
_RUNTIME_MODULES = ("libcudart", "libcuda.so", "libcuda-")

Address = Callable[[int], "SourceLocation | None"]
"""Names the user's line of an offset in the program."""

UserFile = Callable[[str], "str | None"]
"""Returns the path of the user's file of this name, None for a file of somebody else."""


@dataclass(frozen=True, slots=True)
class Report:
    """One report: its first line, and the lines below it."""

    head: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """What one tool said of a run.

    `findings` are the user's; `foreign` counts reports about code that is not the user's (NCCL
    probes what the GPU can do, and each refusal is reported). `complete` says that the tool came
    to its summary in every process; `note` says why a tool's silence proves nothing, else "".
    """

    tool: str
    findings: tuple[Finding, ...]
    foreign: int
    complete: bool
    seconds: float
    note: str = ""


def split_reports(text: str) -> tuple[tuple[Report, ...], bool]:
    """Split a log into its reports; also says whether the tool's summary is there."""
    reports: list[Report] = []
    head = ""
    body: list[str] = []
    complete = False
    for raw in text.splitlines():
        if not raw.startswith("========="):
            continue  # the program's own output
        line = _PREFIX.sub("", raw)
        if _SUMMARY.search(line):
            complete = True
        elif line.startswith(" ") and head:
            body.append(line.strip())
            continue
        if head:
            reports.append(Report(head, tuple(body)))
        head, body = "", []
        if line and not line.startswith((" ", "COMPUTE-SANITIZER")) and not _SUMMARY.search(line):
            head = line
    if head:
        reports.append(Report(head, tuple(body)))
    return tuple(reports), complete


def findings_in(
    tool: str, text: str, rank: int | None, user_file: UserFile, address: Address
) -> tuple[tuple[Finding, ...], int, bool]:
    """Return what one process's log says.

    Returns:
        The findings, how many reports were about foreign code, and whether the log is complete.
    """
    reports, complete = split_reports(text)
    found: list[Finding] = []
    foreign = 0
    for report in reports:
        finding = _finding(tool, report, rank, user_file, address)
        if finding is None:
            foreign += 1
        else:
            found.append(finding)
    return tuple(found), foreign, complete


def _finding(
    tool: str, report: Report, rank: int | None, user_file: UserFile, address: Address
) -> Finding | None:
    """Return one report as a finding; None where it is about foreign code, or no defect."""
    kind = _kind(tool, report)
    if kind is None:
        return None
    places = list(_device_places(report, user_file))
    place = places[0] if places else None
    other = places[1] if tool == "racecheck" and len(places) > 1 else None
    if place is None and kind in ("api_error", "leak"):
        place = _host_place(report, address)
        if place is None:
            return None
    if place is None and tool != "memcheck":
        return None  # a race or an unset value inside of NCCL's own kernels
    kernel = _kernel(report)
    indices = next((m for line in report.lines if (m := _THREAD.search(line))), None)
    numbers = [int(part) for part in indices.groups()] if indices else []
    warning = kind == "leak" or report.head.startswith("Warning")
    return Finding(
        kind=kind,
        severity=Severity.WARNING if warning else Severity.ERROR,
        message=f"compute-sanitizer {tool}: {_words(report)}",
        file=place.file if place else None,
        line=place.line if place else None,
        rank=rank,
        kernel=kernel,
        block=(numbers[3], numbers[4], numbers[5]) if numbers else None,
        thread=(numbers[0], numbers[1], numbers[2]) if numbers else None,
        other=other,
    )


def _kind(tool: str, report: Report) -> str | None:
    """Return the finding kind, the emulator's where it has one for the same defect."""
    head, details = report.head, " ".join(report.lines)
    if _ACCESS.match(head):
        return "misaligned" if "misaligned" in details else "out_of_bounds"
    if _RACE.match(head) or tool == "racecheck":
        return "shared_memory_race"
    if head.startswith("Uninitialized"):
        return "uninitialized_read"
    if head.startswith("Leaked"):
        return "leak"
    if "Barrier error" in head or tool == "synccheck":
        return "divergent_barrier"
    if _API.match(head):
        return "api_error"
    if head.startswith(("Malloc/Free error", "Double free", "Invalid free")):
        return "double_free"
    return None if head.startswith(("Target application", "Error: ", "Warning: ")) else "sanitizer"


def _words(report: Report) -> str:
    """Return the report in one line, without addresses, which differ from run to run."""
    words = re.sub(r"\b0x[0-9a-f]+\b", "an address", report.head)
    details = [
        re.sub(r"\b0x[0-9a-f]+\b", "an address", line)
        for line in report.lines
        if line.startswith(("Access ", "and is ", "Access to"))
    ]
    return "; ".join([words.rstrip("."), *details])


def _device_places(report: Report, user_file: UserFile) -> Iterable[SourceLocation]:
    """Yield the user's places of the report, the innermost first."""
    for line in (report.head, *report.lines):
        match = _DEVICE_FRAME.search(line) or (
            _PLACE.search(line) if "Host Frame" not in line else None
        )
        if match and match["file"]:
            path = user_file(match["file"])
            if path is not None:
                yield SourceLocation(path, int(match["line"]), match["function"])


def _host_place(report: Report, address: Address) -> SourceLocation | None:
    """Return the user's line that made a CUDA call; None where a library made it."""
    for line in report.lines:
        match = _HOST_FRAME.search(line)
        if match is None or match["module"].rpartition("/")[2].startswith(_RUNTIME_MODULES):
            continue
        if not match["module"].endswith("program"):
            return None
        place = address(int(match["offset"], 16))
        if place is not None:
            return place
    return None


def _kernel(report: Report) -> str | None:
    """Return the kernel's name: the outermost device frame's, else the place's own."""
    names = [
        match["function"]
        for line in (report.head, *report.lines)
        if (match := _DEVICE_FRAME.search(line) or _PLACE.search(line)) and "Host Frame" not in line
    ]
    return re.sub(r"^void |[<(].*", "", names[-1]) if names else None
