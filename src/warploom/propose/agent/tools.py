"""The tools of warploom's own agent: all of them work on the workspace and nowhere else."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field

from warploom.core.errors import WarploomError
from warploom.core.records import Severity
from warploom.evaluation.check import check
from warploom.evaluation.records import Evaluation
from warploom.evaluation.runs.plan import Effort
from warploom.llm import Tool
from warploom.llm.records import tool
from warploom.propose.agent.workspace import Workspace
from warploom.source import CUDAAnalyzer
from warploom.source.patches import apply_diff_patch
from warploom.workload.workload import Workload

RequestT = TypeVar("RequestT", bound=BaseModel)

Judge = Callable[[Path, int], Evaluation]
"""Evaluates the program at a path up to a level (1: build, 2: verify)."""

_MAX_LINES = 400
_MAX_TEXT = 24_000
_MAX_FINDINGS = 8
_MAX_HITS = 40


class ReadFile(BaseModel):
    """Read lines of a file in the working folder."""

    path: str = Field(description="Relative to the working folder.")
    first_line: int = Field(1, ge=1, description="First line to read, from 1.")
    last_line: int | None = Field(None, ge=1, description="Last line to read; default: 400 lines.")


class EditProgram(BaseModel):
    """Change the program by SEARCH/REPLACE blocks or a unified diff."""

    patch: str = Field(
        description="Blocks of '<<<<<<< SEARCH', whole old lines, '=======', new lines, "
        "'>>>>>>> REPLACE'. The old lines must be found at exactly one place."
    )


class WriteProgram(BaseModel):
    """Replace the whole program."""

    code: str = Field(description="The complete new text of the program.")


class CheckProgram(BaseModel):
    """Run the program in the emulator and report every defect."""

    effort: Effort = Field(Effort.QUICK, description="quick while editing, normal at the end.")


class SearchHeaders(BaseModel):
    """Search the NCCL headers (host and device API)."""

    pattern: str = Field(description="A Python regular expression, such as 'waitSignal'.")


class Nothing(BaseModel):
    """No arguments."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What the tools work with: the copy, the workload, the judge, and where headers are."""

    workspace: Workspace
    workload: Workload
    judge: Judge
    headers: Path

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools, in the order in which the model sees them."""
        return (
            tool("list_files", "List the files of the working folder.", Nothing,
                 _guarded(self._list_files), effects=False),
            tool("read_file", ReadFile.__doc__ or "", ReadFile, _guarded(self._read_file),
                 effects=False),
            tool("edit_program", EditProgram.__doc__ or "", EditProgram, _guarded(self._edit)),
            tool("write_program", WriteProgram.__doc__ or "", WriteProgram, _guarded(self._write)),
            tool("analyze", "List communication, buffers, launches and read-backs by line.",
                 Nothing, _guarded(self._analyze), effects=False),
            tool("build", "Compile the program for the emulator (and with nvcc where it is).",
                 Nothing, _guarded(self._build), effects=False),
            tool("check", CheckProgram.__doc__ or "", CheckProgram, _guarded(self._check),
                 effects=False),
            tool("evaluate", "Judge the program in full: same results as the original on every "
                 "rank, under every schedule.", Nothing, _guarded(self._evaluate), effects=False),
            tool("search_headers", SearchHeaders.__doc__ or "", SearchHeaders,
                 _guarded(self._search), effects=False),
        )  # fmt: skip

    def _list_files(self, _: Nothing) -> str:
        root = self.workspace.folder
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        program = self.workspace.program
        return "\n".join(
            f"{path.relative_to(root)}{'  (the program)' if path == program else ''}"
            for path in paths[:200]
        )

    def _read_file(self, request: ReadFile) -> str:
        file = (self.workspace.folder / request.path).resolve()
        if not file.is_relative_to(self.workspace.folder.resolve()) or not file.is_file():
            return f"error: there is no file {request.path} in the working folder"
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        last = min(request.last_line or len(lines), request.first_line + _MAX_LINES - 1)
        shown = lines[request.first_line - 1 : last]
        text = "\n".join(f"{n:>5}  {line}" for n, line in enumerate(shown, request.first_line))
        rest = f"\n({len(lines)} lines in all)" if last < len(lines) else ""
        return (text or f"error: the file has {len(lines)} lines") + rest

    def _edit(self, request: EditProgram) -> str:
        result = apply_diff_patch(self.workspace.result(), request.patch, free=True)
        if not result.applied:
            return f"error: nothing was changed.\n{result.error}"
        self._put(result.text)
        where = ", ".join(str(hunk.line) for hunk in result.hunks)
        return f"changed at line {where}"

    def _write(self, request: WriteProgram) -> str:
        if not request.code.strip():
            return "error: the program must not be empty; nothing was changed"
        self._put(request.code if request.code.endswith("\n") else request.code + "\n")
        return f"written: {len(request.code.splitlines())} lines"

    def _put(self, text: str) -> None:
        program = self.workspace.program
        program.unlink(missing_ok=True)
        program.write_bytes(text.encode("utf-8"))

    def _analyze(self, _: Nothing) -> str:
        return (
            CUDAAnalyzer(
                self.workspace.program,
                include_dirs=self.workload.include_dirs,
                defines=self.workload.defines,
            )
            .analyze()
            .format_for_llm()
        )

    def _build(self, _: Nothing) -> str:
        return said_of(self.judge(self.workspace.program, 1))

    def _check(self, request: CheckProgram) -> str:
        workload = replace(
            self.workload, program=self.workspace.program, root=self.workspace.folder
        )
        report = check(workload, effort=request.effort)
        found = [
            item.finding for item in report.findings if item.finding.severity is Severity.ERROR
        ]
        lines = [f"verdict: {report.verdict}, {len(found)} errors"]
        for finding in found[:_MAX_FINDINGS]:
            lines.append(f"line {finding.line or '?'}: {finding.kind}: {finding.message}")
            if finding.other is not None:
                lines.append(f"  other side: line {finding.other.line}")
            if finding.hint:
                lines.append(f"  hint: {finding.hint}")
        if not found and report.exit_code:
            lines.append(report.output[-2000:])
        return "\n".join(lines)

    def _evaluate(self, _: Nothing) -> str:
        return said_of(self.judge(self.workspace.program, 2))

    def _search(self, request: SearchHeaders) -> str:
        try:
            pattern = re.compile(request.pattern)
        except re.error as error:
            return f"error: not a regular expression: {error}"
        files = sorted([*self.headers.rglob("nccl*.h"), *self.headers.glob("nccl_device/*.h")])
        hits: list[str] = []
        for file in dict.fromkeys(files):
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                if len(line) < 400 and pattern.search(line):
                    hits.append(f"{file.relative_to(self.headers)}:{number}: {line.strip()}")
                    if len(hits) >= _MAX_HITS:
                        return "\n".join(hits) + "\n(more; be more specific)"
        return "\n".join(hits) or "nothing found"


def said_of(evaluation: Evaluation) -> str:
    """Return an evaluation as a few lines for a model."""
    if evaluation.passed:
        return f"passed at level {evaluation.level_reached}"
    lines = [f"failed at level {evaluation.level_reached}"]
    errors = [m.finding for m in evaluation.findings if m.finding.severity is Severity.ERROR]
    for finding in errors[:_MAX_FINDINGS]:
        lines.append(f"line {finding.line or '?'}: {finding.kind}: {finding.message}")
        if finding.hint:
            lines.append(f"  hint: {finding.hint}")
    lines += [
        f"output {item.buffer or 'unnamed'} differs in {item.failed} of {item.compared} read-backs"
        for item in evaluation.comparisons
        if not item.passed
    ]
    return "\n".join(lines)


def _guarded(work: Callable[[RequestT], str]) -> Callable[[RequestT], Awaitable[str]]:
    """Run a tool in a thread, and turn its errors into words for the model."""

    async def run(request: RequestT) -> str:
        try:
            text = await asyncio.to_thread(work, request)
        except WarploomError as error:
            text = f"error: {error}"
        return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "\n(cut)"

    return run
