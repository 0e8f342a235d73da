"""Compare the emulator's verdicts with real GPUs': the corpus, its defects, and single-GPU ones.

    python bench/hardware_truth.py run OUT.json [--jobs N] [--deadline S] [--tools memcheck,...]
                                                [--only gin_,hybrid_] [--after FILE]
    python bench/hardware_truth.py table RESULTS.json [RESULTS.json ...]

`run`, on a GPU machine, checks every entry twice: as `warploom check` does (emulator, normal
effort), and as `warploom check --backend cuda` does (three plain runs; then compute-sanitizer's
`--tools`, all by default). Entries whose LSA team is smaller than the machine's cannot be set up on
one host and are left out, and so are those for a NCCL that GIN cannot do without a card. `--only`
takes the entries whose program's name begins so, `--after FILE` skips what FILE has already.
Nothing is judged here: the JSON holds both reports' verdicts, findings and states, and `table`
prints them side by side; of an entry in several files the last counts. All is built and emulated
first, `--jobs` at a time; on the GPUs there are `--gpu-jobs`: more than one for each pair of GPUs
slow each other down until they seem to hang, above all those that wait for a network.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from warploom.backends import CUDA, find_backend
from warploom.core.errors import WarploomError
from warploom.core.records import Limits
from warploom.evaluation.check import check
from warploom.evaluation.observed.runs import form_of
from warploom.evaluation.survey import survey
from warploom.hardware import TOOLS
from warploom.hardware.network import has_card, serves
from warploom.testing.corpus import PROGRAMS
from warploom.testing.corpus_files import read_corpus
from warploom.toolchain.gpu import find_gpus
from warploom.toolchain.nccl import newest_version
from warploom.workload.workload import Workload

NO_GIN = "not run: no GIN between these GPUs"
SINGLE = Path(__file__).parent / "hardware" / "defects.cu"
SINGLE_DEFECTS = (
    "none", "past_end", "shared_past_end", "race", "unset", "divergent", "masked", "misaligned",
    "host_pointer", "bad_launch", "use_after_free", "double_free",
)  # fmt: skip
SECONDS = 15.0  # of a plain run; one takes three where nothing hangs


@dataclass(frozen=True)
class Job:
    """One entry of the table: a program, what is planted in it, and how it runs."""

    name: str
    program: Path
    defect: str
    kinds: str
    ranks: int
    args: tuple[str, ...] = ()
    nccl: str | None = None
    defines: tuple[tuple[str, str], ...] = ()


def jobs() -> Iterator[Job]:
    """Yield the entries: correct programs first, so that a deadline costs the least."""
    for what in SINGLE_DEFECTS:
        defect = "" if what == "none" else what
        yield Job(f"defects {what}", SINGLE, defect, "", 1, args=(what,))
    entries = read_corpus(PROGRAMS)
    for entry in sorted(entries, key=lambda e: bool(e.defect)):
        gin = entry.program.stem.startswith(("gin_", "hybrid_"))
        setting = entry.setting
        if setting.lsa_size is not None or setting.ranks > 4:
            continue
        if gin and not (serves(setting.nccl or newest_version()) or has_card()):
            continue
        yield Job(
            entry.name, entry.program, entry.defect, "|".join(entry.kinds), setting.ranks,
            nccl=setting.nccl, defines=tuple(sorted(entry.defines.items())),
        )  # fmt: skip


def one(text: str) -> int:
    """Check one entry in this process, as the JSON in `text` says, and print its report.

    Without tools it is the emulator that checks, and the program for the GPU is built.
    """
    asked = json.loads(text)
    workload = Workload.from_program(
        asked["program"], ranks=asked["ranks"], args=asked["args"], nccl=asked["nccl"],
        defines=dict(asked["defines"]), limits=Limits(seconds=SECONDS),
    )  # fmt: skip
    try:
        if asked["tools"] is None:
            gpus = find_backend(CUDA).machine(workload, form_of(survey(workload)))
            gpus.build()  # cached for the GPU's turn
            report = check(workload)
        else:
            report = check(workload, backend=CUDA, tools=asked["tools"])
    except WarploomError as error:
        sys.stdout.write(json.dumps({"error": {"message": error.message}}))
        return error.exit_code
    sys.stdout.write(json.dumps(report.to_json()))
    return report.exit_code


def report_of(job: Job, gpus: str, tools: Sequence[str] | None) -> dict[str, Any]:
    """Check one entry in a process of its own: in the emulator, or on `gpus` with `tools`."""
    asked = {
        "program": str(job.program), "ranks": job.ranks, "args": job.args, "nccl": job.nccl,
        "defines": job.defines, "tools": tools,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, __file__, "one", json.dumps(asked)], capture_output=True, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus}, timeout=400, check=False,
    )  # fmt: skip
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": (done.stdout + done.stderr)[-500:]}}


def brief(report: dict[str, Any]) -> dict[str, Any]:
    """Keep what the table needs of a report."""
    if "error" in report:
        return {"verdict": "not run", "why": report["error"]["message"]}
    keep = ("verdict", "runs", "expected", "shared", "nccl", "times", "seconds", "sandbox", "ranks")
    findings = [
        {k: f.get(k) for k in ("kind", "severity", "message", "hint", "line", "rank", "runs")}
        for f in report["findings"]
    ]
    kept = {key: report[key] for key in keep if key in report}
    return {**kept, "findings": findings, "output": report["output"][-400:]}


def run(
    out: Path, todo: Sequence[Job], jobs: tuple[int, int], deadline: float, tools: Sequence[str]
) -> int:
    """Check the entries `todo`, and write results as they come.

    `jobs`: how many at a time are built and emulated, and then on the GPUs.
    """
    started = time.monotonic()
    gpus = find_gpus()
    everything = ",".join(str(gpu.index) for gpu in gpus)
    pairs: SimpleQueue[str] = SimpleQueue()
    for number in range(jobs[1]):
        first = number * 2 % max(1, len(gpus) - 1)
        pairs.put(f"{first},{first + 1}" if len(gpus) > 1 else "0")
    rows: dict[str, dict[str, Any]] = {
        job.name: {
            "name": job.name, "defect": job.defect, "expected": job.kinds, "ranks": job.ranks,
        }
        for job in todo
    }  # fmt: skip

    def emulate(job: Job) -> None:
        rows[job.name]["emulator"] = brief(report_of(job, everything, None))

    def measure(job: Job) -> None:
        row = rows[job.name]
        if time.monotonic() - started > deadline:
            row["hardware"] = {"verdict": "not run", "why": "the deadline of the session"}
        else:
            pair = pairs.get()
            where = everything if job.ranks > 2 else pair
            where = where.split(",")[0] if job.ranks == 1 else where
            row["hardware"] = brief(report_of(job, where, tools))
            pairs.put(pair)
        done = [row for row in rows.values() if "hardware" in row]
        write(out, [gpu.describe() for gpu in gpus], done)
        verdict = row["hardware"]["verdict"]
        print(f"{time.monotonic() - started:6.1f} {job.name}: {verdict}", flush=True)

    for count, step in zip(jobs, (emulate, measure), strict=True):
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(step, todo))
    return 0


def write(path: Path, gpus: Sequence[str], entries: Sequence[dict[str, Any]]) -> None:
    """Write a results file, an entry in each line."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in entries)
    path.write_text(f'{{"gpus":{json.dumps(gpus)},"entries":[\n{lines}\n]}}\n')


def read(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a results file that were checked both ways."""
    entries = json.loads(path.read_text())["entries"]
    return [row for row in entries if "emulator" in row]


def said_by_hardware(report: dict[str, Any]) -> str:
    """Put a hardware report into a few words, from its states and findings."""
    if report["verdict"] == "not run":
        return f"not run: {report['why']}"
    plain = [run for run in report["runs"] if not run["tool"]]
    errors = [f for f in report["findings"] if f["severity"] == "error"]
    words: list[str] = []
    for tool in TOOLS:
        kinds = sorted(
            {f["kind"] for f in errors if f["message"].startswith(f"compute-sanitizer {tool}")}
        )
        if kinds:
            words.append(f"{tool}: {', '.join(kinds)}")
    own = [f for f in errors if not f["message"].startswith("compute-sanitizer")]
    direct = {f["kind"] for f in own}
    for kind, text in (
        ("timeout", "hang"), ("crash", "crash"), ("wrong_result", "wrong values"),
        ("unsupported", NO_GIN),
    ):  # fmt: skip
        if kind in direct:
            words.insert(0, text)
    failed = [run for run in plain if run["state"] == "finished" and run["exit_code"]]
    if "exit_code" in direct and failed:
        hint = next(f["hint"] for f in own if f["kind"] == "exit_code")
        if "GIN not supported" in hint:
            return NO_GIN
        called = re.search(r": (?:CUDA|NCCL|MPI): |MPI_ERR|MPI_ABORT", hint + report["output"])
        what = "a call fails" if called else "its own check fails"
        words.insert(0, f"{what} in {len(failed)} of {len(plain)} runs")
    tried = {run["tool"] for run in report["runs"]} - {""}
    mark = "" if tried or "hang" in words or NO_GIN in words else " †"
    return ("; ".join(words) or "clean") + mark


def said_by_emulator(report: dict[str, Any]) -> str:
    """Put an emulator report into a few words."""
    if report["verdict"] == "not run":
        return f"not run: {report['why']}"
    if report["verdict"] == "ok":
        return "clean"
    kinds = [f["kind"] for f in report["findings"] if f["severity"] == "error"]
    return f"{report['verdict']}: {', '.join(dict.fromkeys(kinds[:3]))}"


def table(paths: Sequence[Path]) -> int:
    """Print the table of results files, and how often the two agree."""
    entries = {row["name"]: row for path in paths for row in read(path)}
    rows = sorted(entries.values(), key=lambda row: (bool(row["defect"]), row["name"]))
    count: dict[tuple[bool, bool, bool], int] = {}
    not_run = 0
    print("| program | planted | ranks | emulator | GPU |\n|---|---|---|---|---|")
    for row in rows:
        emulator, hardware = said_by_emulator(row["emulator"]), said_by_hardware(row["hardware"])
        program = row["name"].split(":")[0].split("@")[0].split(" ")[0]
        version = row["name"].partition("+")[2]
        ranks = f"{row['ranks']}, NCCL {version}" if version else row["ranks"]
        if hardware.startswith("not run"):
            not_run += 1
            continue
        print(f"| {program} | {row['defect'] or '-'} | {ranks} | {emulator} | {hardware} |")
        clean = hardware.removesuffix(" †") == "clean"
        key = (bool(row["defect"]), emulator == "clean", clean)
        count[key] = count.get(key, 0) + 1
    print()
    for (defect, emulator, hardware), number in sorted(count.items()):
        kind = "planted defects" if defect else "correct entries"
        words = "the emulator finds nothing" if emulator else "the emulator finds it"
        found = "shows nothing" if hardware else "shows it"
        print(f"- {number} {kind}: {words}, the GPU {found}")
    if not_run:
        print(f"- {not_run} entries could not be run on the GPUs and are left out")
    return 0


def main() -> int:
    """Run or print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "table", "one"))
    parser.add_argument("files", nargs="+")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--gpu-jobs", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=3600.0, help="seconds")
    parser.add_argument("--tools", default=",".join(TOOLS), help="compute-sanitizer's, by comma")
    parser.add_argument("--only", default="", help="beginnings of programs' names, by comma")
    parser.add_argument("--after", type=Path, help="results whose entries are not checked again")
    options = parser.parse_args()
    if options.action == "one":
        return one(options.files[0])
    if options.action == "table":
        return table([Path(name) for name in options.files])
    before = read(options.after) if options.after else []
    known = {row["name"] for row in before if row["hardware"]["verdict"] != "not run"}
    tools = [tool for tool in options.tools.split(",") if tool]
    wanted = tuple(options.only.split(","))
    todo = [job for job in jobs() if job.program.stem.startswith(wanted) and job.name not in known]
    at_once = (options.jobs, options.gpu_jobs)
    return run(Path(options.files[0]), todo, at_once, options.deadline, tools)


if __name__ == "__main__":
    sys.exit(main())
