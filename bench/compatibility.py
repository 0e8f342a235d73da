"""Transforms every example to both APIs, verifies it at 2, 4 and 8 ranks, compiles it with nvcc.

Verified: 3 input seeds x 3 network timings with the happens-before check, every rank's outputs
compared with the host-driven program's. NCCL headers of a version that is not on this machine are
fetched with `warploom doctor --fetch-nccl VERSION`.

    python bench/compatibility.py [--json] [--write docs/compatibility.md]
    python bench/compatibility.py --styles   # the programs of set-up styles instead of the examples
"""

import tempfile
from pathlib import Path

from common import EXAMPLES, ROOT, arguments, show

from warploom import PreTransformPipeline, Program, TransformConfig, Workload, evaluate
from warploom.toolchain.nvcc import compile_gate

STYLES = sorted((ROOT / "tests" / "transform" / "programs").glob("*.cu"))
RANKS = (2, 4, 8)
NCCL = ("2.28.9", "2.30.7", "2.32.3")
HEADER = """# What transforms, and where

Made by `python bench/compatibility.py --write docs/compatibility.md`. *n ranks*: the output was
verified in the emulator against the host-driven program: 3 input seeds x 3 network timings, with
the happens-before check, every rank's outputs compared; `@v` is the NCCL version whose rules held,
`lsa k` that only k consecutive ranks share memory. *nvcc v*: nvcc compiled it for sm_90 against
the real headers of that NCCL version.

"""


def verified(program: Path, workload: Workload, ranks: int, nccl: str, lsa: int | None) -> str:
    """Return "yes", or the first finding."""
    target = workload.with_overrides(ranks=ranks, nccl=nccl, lsa_size=lsa)
    result = evaluate(Program(program.read_text(), program), target, nccl=nccl, seeds=3, nvcc=False)
    if result.passed:
        return "yes"
    return "no: " + (result.findings[0].finding.kind if result.findings else "outputs differ")


def workload_of(example: Path) -> Workload:
    """Return the workload of an example's folder, or of a program for a set-up style."""
    if example.is_dir():
        return Workload.from_file(example)
    processes = 2 if example.stem == "mpi_devices" else None
    return Workload.from_program(example, args=("{seed}",), processes=processes)


def row_of(example: Path, api: str, folder: Path) -> dict[str, str]:
    """Return one line of the table."""
    row = {"example": example.stem, "api": api}
    workload = workload_of(example)
    out = folder / f"{example.stem}-{api}"
    result = PreTransformPipeline(TransformConfig(api_type=api, nvcc=False)).run(workload, out)
    if result.program is None:
        return {**row, "2 ranks": f"not transformed: {result.stages[-1].summary}"}
    for ranks in RANKS:
        row[f"{ranks} ranks"] = verified(result.program, workload, ranks, NCCL[-1], None)
    for nccl in NCCL[:-1]:
        row[f"4 ranks @{nccl}"] = verified(result.program, workload, 4, nccl, None)
    row["4 ranks, lsa 2"] = (
        verified(result.program, workload, 4, NCCL[-1], 2) if api == "gin" else "not asked"
    )
    for nccl in NCCL:
        gate = compile_gate(workload.build_spec(nccl, result.program), nccl)
        row[f"nvcc {nccl}"] = "yes" if gate.ok else "no"
    return row


def main() -> None:
    """Make the whole table."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--write", type=Path, help="write the table as Markdown to this file")
    parser.add_argument("--styles", action="store_true", help="programs of set-up styles")
    options = parser.parse_args()
    chosen = STYLES if options.styles else EXAMPLES
    with tempfile.TemporaryDirectory() as name:
        rows = [row_of(e, api, Path(name)) for e in chosen for api in ("gin", "lsa")]
    columns = max((list(row) for row in rows), key=len)
    rows = [{column: row.get(column, "") for column in columns} for row in rows]
    show(rows, options.json, "transforms of the examples")
    if options.write:
        cells = [[row[column] for column in columns] for row in rows]
        lines = [columns, ["---"] * len(columns), *cells]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        (ROOT / options.write).write_text(HEADER + table + "\n")
    if any(
        value == "no" or value.startswith(("no:", "not t")) for r in rows for value in r.values()
    ):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
