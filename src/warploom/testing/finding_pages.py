"""The pages of findings as a test: each page's program shows its finding, and its cure works.

    python -m warploom.testing.finding_pages [KIND...] [--write]

A page `docs/findings/KIND.md` holds a complete program in a `cuda` block, one line of which is
marked `// FINDING` (none where the finding has no line); a `console` block with the command and
what it prints of the finding; and a cure as a `diff` block, whose hunks are parted by `@@`.
`--write` puts what the program prints today into the console block.
"""

import argparse
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.cli.output import finding_lines
from warploom.core.errors import BadInputError, WarploomError
from warploom.core.records import Finding, Limits, Severity
from warploom.evaluation.check import CheckReport, check
from warploom.evaluation.runs.plan import Effort
from warploom.workload.workload import Workload

PAGES = Path(__file__).parents[3] / "docs" / "findings"
MARK = "// FINDING"
_SECONDS = 60.0
_ADDRESS = re.compile(r"\b0x[0-9a-f]{9,}\b")  # of memory; another one in each run
# What other findings lead to, when the program ends, and what a kind always comes with.
_AFTERMATH = frozenset({"exit_code"})
_WITH = {
    "not_resident": frozenset({"deadlock"}),
    "early_wait": frozenset({"missing_wait", "destination_overwrite"}),
}
# Where a program is when its time is over differs from run to run.
_ANYWHERE = frozenset({"timeout"})


@dataclass(frozen=True, slots=True)
class Page:
    """One page: what it says, split into what can be run.

    `line` is the marked line of `program`, counting from 1; None where no line is marked.
    `options` are those of the command; `report` are the lines that it is said to print.
    """

    path: Path
    program: str
    line: int | None
    options: tuple[str, ...]
    report: tuple[str, ...]
    cured: str

    @property
    def kind(self) -> str:
        """The kind of finding that the page is about."""
        return self.path.stem


def read_page(path: Path) -> Page:
    """Read one page.

    Raises:
        BadInputError: a block is missing or doubled, more than one line is marked, the command is
            not a check of the page's program, or the cure does not fit the program.
    """
    text = path.read_text(encoding="utf-8")
    program, console, diff = (_block(path, text, name) for name in ("cuda", "console", "diff"))
    marked = [n for n, line in enumerate(program, 1) if line.endswith(MARK)]
    if len(marked) > 1:
        raise BadInputError(f"marks {len(marked)} lines as {MARK!r}, not one", file=str(path))
    start = ["$", "warploom", "check", f"{path.stem}.cu"]
    command = shlex.split(console[0]) if console else []
    if command[:4] != start:
        raise BadInputError(f"the console block must begin with {' '.join(start)}", file=str(path))
    return Page(
        path=path,
        program="\n".join(program) + "\n",
        line=marked[0] if marked else None,
        options=tuple(command[4:]),
        report=tuple(console[1:]),
        cured="\n".join(_apply(path, program, diff)) + "\n",
    )


def _block(path: Path, text: str, name: str) -> list[str]:
    parts = text.split(f"```{name}\n")
    if len(parts) != 2 or "\n```" not in parts[1]:
        raise BadInputError(f"must hold one {name!r} block", file=str(path))
    return parts[1].split("\n```")[0].splitlines()


def _apply(path: Path, program: list[str], diff: list[str]) -> list[str]:
    """Apply hunks of lines that begin with ` `, `-` and `+`; indentation is free to differ."""
    lines = list(program)
    hunks: list[list[str]] = [[]]
    for line in diff:
        if line == "@@":
            hunks.append([])
        else:
            hunks[-1].append(line)
    for hunk in hunks:
        old = [line[1:].strip() for line in hunk if not line.startswith("+")]
        size = len(old)
        places = [
            at
            for at in range(len(lines) - size + 1)
            if [line.strip() for line in lines[at : at + size]] == old
        ]
        if not old or len(places) != 1:
            raise BadInputError(
                f"the hunk with {(old or hunk)[:1]} fits {len(places)} places of the program",
                file=str(path),
            )
        lines[places[0] : places[0] + size] = [line[1:] for line in hunk if line[:1] != "-"]
    return lines


def check_text(page: Page, text: str, folder: Path) -> CheckReport:
    """Check a program of a page with the page's options, under the first decisive schedule.

    Raises:
        WarploomError: the options are wrong, or the program cannot be built or run.
    """
    folder.mkdir(exist_ok=True)
    program = folder / f"{page.kind}.cu"
    program.write_text(text, encoding="utf-8")
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--lsa-size", type=int)
    parser.add_argument("--nccl")
    parser.add_argument("--timeout", type=float, default=_SECONDS)
    options = parser.parse_args(page.options)
    workload = Workload.from_program(
        program,
        ranks=options.ranks,
        lsa_size=options.lsa_size,
        nccl=options.nccl,
        limits=Limits(seconds=options.timeout, memory_mb=8192, output_mb=4),
    )
    return check(workload, effort=Effort.QUICK, jobs=1)


def problems(page: Page, folder: Path) -> list[str]:
    """Run both programs of a page and say what is not as the page says; empty if all is."""
    found: list[str] = []
    report = check_text(page, page.program, folder)
    ours = _ours(page, report)
    others = {
        item.finding.kind
        for item in report.findings
        if item.finding.severity == Severity.ERROR and item.finding.kind not in _AFTERMATH
    } - {page.kind, *_WITH.get(page.kind, ())}
    if others:
        found.append(f"the program shows {', '.join(sorted(others))} besides")
    if not ours:
        return [*found, f"the program does not show {page.kind}: {report.output[-300:]}"]
    if page.kind not in _ANYWHERE:
        found += _misplaced(page, ours)
    cured = check_text(page, page.cured, folder / "cured")
    left = [item.finding for item in cured.findings if _counts(page, item.finding)]
    if left:
        found.append(f"the cured program shows {left[0].kind}: {left[0].message}")
    if cured.exit_code != 0:
        found.append(f"the cured program ends as {cured.verdict}")
    return found


def _misplaced(page: Page, ours: list[Finding]) -> list[str]:
    """Say where the place or the printed report is not as the page says."""
    found: list[str] = []
    lines = {finding.line for finding in ours}
    if page.line not in lines:
        found.append(f"line {page.line} is marked, but found at {sorted(map(str, lines))}")
    shown = tuple(shown_lines(ours[0]))
    if shown != page.report:
        found.append("the report reads otherwise today:\n" + "\n".join(shown))
    return found


def _ours(page: Page, report: CheckReport) -> list[Finding]:
    """Return the findings of the kind, those at the marked line first."""
    ours = [item.finding for item in report.findings if item.finding.kind == page.kind]
    return sorted(ours, key=lambda finding: finding.line != page.line)


def _counts(page: Page, finding: Finding) -> bool:
    return finding.severity == Severity.ERROR or finding.kind == page.kind


def shown_lines(finding: Finding) -> list[str]:
    """Return what `warploom check` prints of a finding, with the program's bare name."""
    other = finding.other
    if other is not None:
        other = replace(other, file=Path(other.file).name)
    file = None if finding.file is None else Path(finding.file).name
    lines = finding_lines(replace(finding, file=file, other=other))
    return _ADDRESS.sub("0x...", "\n".join(lines)).splitlines()


def write_report(page: Page, folder: Path) -> None:
    """Put what the program prints today into the page's console block.

    Raises:
        BadInputError: the program does not show the page's finding.
    """
    ours = _ours(page, check_text(page, page.program, folder))
    if not ours:
        raise BadInputError(f"the program does not show {page.kind}", file=str(page.path))
    text = page.path.read_text(encoding="utf-8")
    before, rest = text.split("```console\n")
    command, after = rest.splitlines()[0], rest[rest.index("\n```") :]
    shown = "\n".join([command, *shown_lines(ours[0])])
    page.path.write_text(f"{before}```console\n{shown}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check pages from the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m warploom.testing.finding_pages")
    parser.add_argument("kinds", nargs="*", help="kinds of finding; default: all")
    parser.add_argument("--write", action="store_true", help="bring the console blocks up to date")
    options = parser.parse_args(arguments)
    kinds = options.kinds or sorted(path.stem for path in PAGES.glob("*.md"))
    bad = 0
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                page = read_page(PAGES / f"{kind}.md")
                if options.write:
                    write_report(page, Path(folder))
                    page = read_page(page.path)
                told = problems(page, Path(folder))
            except (WarploomError, OSError) as error:
                told = [str(error)]
        bad += bool(told)
        sys.stdout.write(f"{'BAD' if told else 'ok '} {kind}\n")
        sys.stdout.write("".join(f"    {line}\n" for text in told for line in text.splitlines()))
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
