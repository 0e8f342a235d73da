"""Measure a real GPU machine: launches, memory, arithmetic, barriers, links, NCCL, LSA.

    python bench/hardware.py --write bench/hardware/results/NAME.json [--ranks 2,4]

Needs nvcc, the NCCL headers and library, and GPUs (two or more for the links). Builds the programs
of bench/hardware, runs them one after the other, and writes one JSON document: `setting` (what the
machine is) and `results` (one object for each measurement: `bench`, what was varied, `unit`, and
the median, least and largest of the repeats). All times are measured, none is modelled.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from warploom.core.errors import WarploomError
from warploom.toolchain.nccl import get_nccl
from warploom.toolchain.nvcc import find_nvcc

PROGRAMS = Path(__file__).parent / "hardware"
NCCL_PROGRAMS = ("lsa", "collectives")
PLAIN_PROGRAMS = ("launch", "device", "links")
SECONDS = 120.0


def build(name: str, folder: Path, include: Path, library: Path) -> Path:
    """Compile one program for the GPU that is here, and return it."""
    program = folder / name
    nccl: list[str] = []
    if name in NCCL_PROGRAMS:
        one_back_end = [f"-DNCCL_GIN_{n}_ENABLE=0" for n in ("GDAKI", "GPI", "EFA_GDA")]
        nccl = [f"-I{include}", *one_back_end, f"-L{library}", "-l:libnccl.so.2"]
        nccl += ["-Xlinker", f"-rpath={library}"]
    source = str(PROGRAMS / f"{name}.cu")
    command = [str(find_nvcc().path), "-std=c++17", "-O2", "-arch=native", source]
    subprocess.run([*command, *nccl, "-o", str(program)], check=True, timeout=600)
    return program


def measure(program: Path, *arguments: str) -> list[dict[str, object]]:
    """Run one program and return what it reported; what it could not do goes to stderr."""
    # NVLink multicast is left alone: a program that dies in it can take the host's GPUs along.
    environment = {**os.environ, "NCCL_NVLS_ENABLE": "0"}
    print(program.name, *arguments, file=sys.stderr, flush=True)
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=SECONDS,
        env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"  exit code {done.returncode}: {done.stderr.strip()[-500:]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def setting(nccl: str) -> dict[str, str]:
    """Say which machine this is."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    name, driver = (part.strip() for part in gpus[0].split(","))
    return {
        "machine": f"{len(gpus)} x {name}, {os.cpu_count()} CPU cores",
        "driver": driver,
        "cuda": find_nvcc().identity,
        "nccl": f"{nccl} (NVLS off)",
        "date": datetime.now(UTC).date().isoformat(),
        "os": platform.platform(),
    }


def main() -> int:
    """Measure, write and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, required=True)
    parser.add_argument("--ranks", default="2", help="ranks of the NCCL programs, by comma")
    options = parser.parse_args()
    try:
        nccl = get_nccl()
        library = nccl.include.parent / "lib"
        with tempfile.TemporaryDirectory() as name:
            built = {
                program: build(program, Path(name), nccl.include, library)
                for program in (*PLAIN_PROGRAMS, *NCCL_PROGRAMS)
            }
            results: list[dict[str, object]] = []
            for program in PLAIN_PROGRAMS:
                results += measure(built[program])
            for ranks in options.ranks.split(","):
                for program in NCCL_PROGRAMS:
                    results += measure(built[program], ranks)
    except WarploomError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    document = {"setting": setting(nccl.version), "results": results}
    options.write.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(results)} results in {options.write}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
