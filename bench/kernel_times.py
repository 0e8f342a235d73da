"""Prints how long each kernel of the examples takes on two GPUs, and the gaps between kernels.

    python bench/kernel_times.py OUT.txt [--form NAME=DIR ...] [--only NAME,...] [--sizes N]

Forms are those of `measured_forms.py`, sizes the first N of `time_examples.py`. A kernel's line has
its runs, the median and the least of their microseconds, and its blocks, threads of a block and
registers of a thread; a gap is the time on one stream from the end of a kernel to the start of the
next, the median. CUPTI of the CUDA toolkit tells them (`bench/hardware/trace.cpp`), which takes
time of its own: compare kernels, not programs. The programs run outside of the sandbox, which
would hide the trace: give it forms that you trust.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from common import EXAMPLES
from time_examples import RANKS, SIZES, Case, build_all, told_ms

_OFTEN = 30  # gaps that come as often are of the timed part


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Go through the programs that were asked for."""
    folders = dict(item.split("=", 1) for item in options.form)
    wanted = [name for name in options.only.split(",") if name] or list(SIZES)
    for example in EXAMPLES:
        name = example.name
        if name not in wanted:
            continue
        programs = {"host": example / f"{name}.cu"}
        programs |= {form: Path(folder) / f"{name}.cu" for form, folder in folders.items()}
        for sizes in SIZES[name][: options.sizes]:
            yield from (
                Case(name, form, path, sizes) for form, path in programs.items() if path.is_file()
            )


def build_tracer(folder: Path) -> Path:
    """Build the library that traces."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc must be on PATH: CUPTI is taken from its toolkit")
    home = Path(nvcc).resolve().parents[1]
    places = (home / "targets/x86_64-linux", home / "extras/CUPTI", home)
    toolkit = next((p for p in places if (p / "include/cupti.h").is_file()), None)
    if toolkit is None:
        raise SystemExit(f"{home} must hold CUPTI, but has no cupti.h")
    libraries = next(p for p in (toolkit / "lib64", toolkit / "lib") if p.is_dir())
    made = folder / "trace.so"
    source = Path(__file__).parent / "hardware" / "trace.cpp"
    command = ["g++", "-O2", "-shared", "-fPIC", f"-I{toolkit / 'include'}"]
    command += [f"-I{home / 'include'}", str(source), "-o", str(made), f"-L{libraries}"]
    subprocess.run([*command, "-lcupti", f"-Wl,-rpath,{libraries}"], check=True)
    return made


def lines_of(folder: Path) -> Iterator[str]:
    """Go through what the traces in a folder say."""
    runs: dict[str, list[float]] = defaultdict(list)
    gaps: dict[tuple[str, str], list[float]] = defaultdict(list)
    shapes: dict[str, str] = {}
    for path in sorted(folder.glob("trace.*")):
        last: dict[str, tuple[str, int]] = {}
        rows = [line.split(" ", 6) for line in path.read_text().splitlines()]
        for stream, start, end, *shape, name in sorted(rows, key=lambda row: int(row[1])):
            runs[name].append((int(end) - int(start)) / 1e3)
            shapes[name] = "x".join(shape[:2]) + f", {shape[2]} registers"
            if stream in last:
                before, ended = last[stream]
                gaps[before, name].append((int(start) - ended) / 1e3)
            last[stream] = name, int(end)
    for name, times in runs.items():
        middle, least = statistics.median(times), min(times)
        yield f"  {name[:60]} {len(times)} {middle:.2f} {least:.2f} {shapes[name]}"
    for (before, name), times in gaps.items():
        if len(times) > _OFTEN:
            middle = statistics.median(times)
            yield f"    gap {before[:40]} -> {name[:40]} {len(times)} {middle:.2f}"


def main() -> int:
    """Trace all; return 1 where a program fails."""
    from warploom.hardware.setup import find_setup
    from warploom.toolchain import nccl_library

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--form", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--only", default="", help="examples, by comma")
    parser.add_argument("--sizes", type=int, default=1)
    options = parser.parse_args()
    setup = find_setup(RANKS, "per_rank", uses_mpi=True, nccl=None)
    if setup.mpi is None:
        raise SystemExit("the examples need MPI, but there is none")
    todo = list(cases(options))
    builds = build_all(todo, setup)
    failed = 0
    with tempfile.TemporaryDirectory() as made, options.file.open("w") as out:
        tracer = build_tracer(Path(made))
        for case, built in zip(todo, builds, strict=True):
            with tempfile.TemporaryDirectory() as name:
                libraries = [str(nccl_library(setup.nccl).parent)]
                environment = {
                    **os.environ,
                    "LD_LIBRARY_PATH": os.pathsep.join(
                        [*libraries, os.environ.get("LD_LIBRARY_PATH", "")]
                    ),
                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                    "CUDA_INJECTION64_PATH": str(tracer), "WARPLOOM_TRACE": f"{name}/trace",
                }  # fmt: skip
                command = [str(setup.mpi.launcher), "-n", str(RANKS), "--oversubscribe"]
                done = subprocess.run(
                    [*command, str(built.program), "1"], env=environment, capture_output=True,
                    text=True, check=False, timeout=120,
                )  # fmt: skip
                failed += done.returncode != 0
                ms = told_ms(done.stdout) if done.returncode == 0 else done.stderr[-400:]
                shown = [f"{case.key}: {ms}", *lines_of(Path(name))]
                out.write("\n".join(shown) + "\n")
                print(*shown, sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
