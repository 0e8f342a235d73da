"""Transforms programs to both APIs, verifies them at 2, 4 and 8 ranks, compiles them with nvcc.

Verified: 3 input seeds x 3 network timings with the happens-before check, every rank's outputs
compared with the host-driven program's. NCCL headers of a version that is not on this machine are
fetched with `warploom doctor --fetch-nccl VERSION`.

    python bench/compatibility.py [--json] [--write docs/compatibility.md]
    python bench/compatibility.py --styles   # the programs of set-up and program styles instead

`--brief` verifies with 1 seed and two timings.

Each row goes to the file that `--log` names as soon as it is there, and is not made again. So the
table can be made in pieces, also on two machines: `--part verify` needs cores and no nvcc, `--part
compile` needs nvcc. `--merge FILE FILE` puts the files together instead of making rows.
"""

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from common import EXAMPLES, ROOT, arguments, show

from warploom import PreTransformPipeline, Program, TransformConfig, Workload, evaluate
from warploom.core.records import Timing
from warploom.toolchain.nvcc import compile_gate

PROGRAMS = ROOT / "tests" / "transform" / "programs"
STYLES = (*sorted(PROGRAMS.glob("*.cu")), *(p.parent for p in PROGRAMS.glob("*/workload.toml")))
RANKS = (2, 4, 8)
NCCL = ("2.28.9", "2.30.7", "2.32.3")
APIS = ("gin", "lsa")
ALL, BRIEF = (Timing.LAZY, Timing.EAGER, Timing.RANDOM), (Timing.LAZY, Timing.RANDOM)
STYLES_BEGIN, STYLES_END = "<!-- styles: begin -->\n", "<!-- styles: end -->\n"
EXAMPLES_BEGIN, EXAMPLES_END = "<!-- examples: begin -->\n", "<!-- examples: end -->\n"

Row = dict[str, str]


@dataclass(frozen=True)
class Made:
    """What a transform has made: the program, and the workload that it takes the place in."""

    program: Path
    workload: Workload


def verified(
    made: Made, workload: Workload, ranks: int, nccl: str, lsa: int | None, *, brief: bool
) -> str:
    """Return "yes", or the first finding."""
    target, reference = (
        one.with_overrides(ranks=ranks, nccl=nccl, lsa_size=lsa)
        for one in (made.workload, workload)
    )
    candidate = Program(made.program.read_text(), made.program)
    judged = evaluate(
        candidate, target, reference=reference, nccl=nccl, nvcc=False, seeds=1 if brief else 3,
        timings=BRIEF if brief else ALL,
    )  # fmt: skip
    if judged.passed:
        return "yes"
    return "no: " + (judged.findings[0].finding.kind if judged.findings else "outputs differ")


def workload_of(program: Path) -> Workload:
    """Return the workload of a folder, or of a program for a style."""
    if program.is_dir():
        return Workload.from_file(program)
    processes = 2 if program.stem == "mpi_devices" else None
    return Workload.from_program(program, args=("{seed}",), processes=processes)


def made_of(workload: Workload, program: Path, out: Path, whole: Path) -> Made:
    """Return what a transform wrote to `out`; of several files, with the unchanged in `whole`."""
    if not workload.sources:
        return Made(program, workload)
    shutil.copytree(workload.root, whole)
    for file in out.rglob("*"):
        if file.suffix in (".cu", ".cuh", ".h") and "stages" not in file.parts:
            shutil.copy(file, whole / file.relative_to(out))
    made = Workload.from_file(whole)
    return Made(made.program, made)


def row_of(program: Path, api: str, part: str, folder: Path, *, brief: bool) -> Row:
    """Return one line of the table, or the `part` of it."""
    row = {"program": program.stem, "api": api}
    workload = workload_of(program)
    out = folder / f"{program.stem}-{api}"
    # What it is worth, the columns say.
    config = TransformConfig(
        api_type=api,
        nvcc=False,
        two_stage=False,
        seeds=1,
        timings=(Timing.LAZY,),
        backend="emulator",
    )
    result = PreTransformPipeline(config).run(workload, out)
    if result.program is None:
        return {**row, "2 ranks": f"not transformed: {result.stages[-1].summary}"}
    made = made_of(workload, result.program, out, folder / f"{program.stem}-{api}-whole")
    if part != "compile":
        for ranks in RANKS:
            row[f"{ranks} ranks"] = verified(made, workload, ranks, NCCL[-1], None, brief=brief)
        if program in EXAMPLES:
            for nccl in NCCL[:-1]:
                row[f"4 ranks @{nccl}"] = verified(made, workload, 4, nccl, None, brief=brief)
            row["4 ranks, lsa 2"] = (
                verified(made, workload, 4, NCCL[-1], 2, brief=brief)
                if api == "gin"
                else "not asked"
            )
    if part != "verify":
        for nccl in NCCL:
            gate = compile_gate(made.workload.build_spec(nccl, made.program), nccl)
            row[f"nvcc {nccl}"] = "yes" if gate.ok else "no"
    return row


def logged(files: Iterable[Path]) -> dict[tuple[str, str], Row]:
    """Return the rows in the files, by program and API; parts of one row are put together."""
    rows: dict[tuple[str, str], Row] = {}
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else ():
            row = json.loads(line)
            rows.setdefault((row["program"], row["api"]), {}).update(row)
    return rows


def make_rows(chosen: Sequence[Path], options: argparse.Namespace) -> list[Row]:
    """Make the rows that the log lacks, several side by side; return all."""
    log: Path | None = options.log
    known = logged([log] if log else [])
    writing = Lock()

    def made(case: tuple[Path, str]) -> Row:
        program, api = case
        if row := known.get((program.stem, api)):
            return row
        with tempfile.TemporaryDirectory() as name:
            row = row_of(program, api, options.part, Path(name), brief=options.brief)
        if log:
            with writing, log.open("a") as out:
                out.write(json.dumps(row) + "\n")
        return row

    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(made, [(program, api) for program in chosen for api in APIS]))


def about(program: str) -> str:
    """Return what the comment at the head of a style's program says."""
    path = PROGRAMS / f"{program}.cu"
    text = (path if path.exists() else PROGRAMS / program / "src" / "main.cu").read_text()
    head = re.match(r"(?://[^\n]*\n)+", text)
    words = " ".join(line.lstrip("/ ") for line in head[0].splitlines()) if head else ""
    return words.rstrip(".")


def table_of(rows: list[Row]) -> str:
    """Return rows as a table in Markdown."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write(page: Path, rows: list[Row], *, styles: bool) -> None:
    """Put the table into its place on the page; that of the styles has a list of what they are."""
    begin, end = (STYLES_BEGIN, STYLES_END) if styles else (EXAMPLES_BEGIN, EXAMPLES_END)
    text = page.read_text()
    if begin not in text or end not in text:
        raise SystemExit(f"{page}: it needs the lines {begin.strip()} and {end.strip()}")
    made = table_of(rows)
    if styles:
        names = dict.fromkeys(row["program"] for row in rows)
        made = "".join(f"- `{name}`: {about(name)}.\n" for name in names) + "\n" + made
    before, rest = text.split(begin)
    page.write_text(f"{before}{begin}\n{made}\n{end}{rest.split(end)[1]}")


def main() -> None:
    """Make the whole table, or a part of it."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--write", type=Path, help="write the table as Markdown into this page")
    parser.add_argument("--styles", action="store_true", help="programs of styles")
    parser.add_argument("--only", help="one program, by name")
    parser.add_argument("--brief", action="store_true", help="1 seed, lazy and random networks")
    parser.add_argument("--part", choices=("all", "verify", "compile"), default="all")
    parser.add_argument("--jobs", type=int, default=1, help="rows that are made side by side")
    parser.add_argument("--log", type=Path, help="write each row here; go on where it ends")
    parser.add_argument("--merge", type=Path, nargs="+", help="logs of parts, instead of runs")
    options = parser.parse_args()
    chosen = [p for p in (STYLES if options.styles else EXAMPLES) if options.only in (None, p.stem)]
    rows = list(logged(options.merge).values()) if options.merge else make_rows(chosen, options)
    columns = max((list(row) for row in rows), key=len)
    rows = [{column: row.get(column, "") for column in columns} for row in rows]
    show(rows, options.json, "transforms of the programs")
    if options.write:
        write(options.write, rows, styles=options.styles)
    if any(
        value == "no" or value.startswith(("no:", "not t")) for r in rows for value in r.values()
    ):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
