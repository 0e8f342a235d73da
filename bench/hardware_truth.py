"""Compare the emulator's verdicts with real GPUs': the corpus, its defects, and single-GPU ones.

    python bench/hardware_truth.py run OUT.json [--jobs N] [--deadline S]     # on a GPU machine
    python bench/hardware_truth.py table RESULTS.json > docs/hardware-table.md

`run` checks every entry twice: `warploom check` (emulator, normal effort) and `warploom check
--backend cuda` (three plain runs, and one under each tool of compute-sanitizer). Entries whose LSA
team is smaller than the machine's cannot be set up on one host and are left out; those that need
GIN are run once each, correct form only, and say what NCCL says. Nothing is judged here: the JSON
holds both reports' verdicts, findings and states, and `table` prints them side by side.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warploom.testing.corpus import PROGRAMS
from warploom.testing.corpus_files import read_corpus
from warploom.toolchain.gpu import find_gpus

SINGLE = Path(__file__).parent / "hardware" / "defects.cu"
SINGLE_DEFECTS = (
    "none", "past_end", "shared_past_end", "race", "unset", "divergent", "masked", "misaligned",
    "host_pointer", "bad_launch", "use_after_free", "double_free",
)  # fmt: skip
TIMEOUT = "20"  # seconds of a plain run


@dataclass(frozen=True)
class Job:
    """One entry of the table: a program, what is planted in it, and how it runs."""

    name: str
    program: Path
    defect: str
    kinds: str
    ranks: int
    options: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


def jobs() -> Iterator[Job]:
    """Yield the entries: correct programs first, so that a deadline costs the least."""
    for what in SINGLE_DEFECTS:
        defect = "" if what == "none" else what
        yield Job(f"defects {what}", SINGLE, defect, "", 1, args=(what,))
    entries = read_corpus(PROGRAMS)
    for entry in sorted(entries, key=lambda e: bool(e.defect)):
        gin = entry.program.stem.startswith(("gin_", "hybrid_"))
        setting = entry.setting
        if setting.lsa_size is not None or setting.ranks > 4 or (gin and entry.defect):
            continue
        if gin and setting.ranks != 2:
            continue
        options = ["--nccl", setting.nccl]
        for name, value in entry.defines.items():
            options += ["-D", f"{name}={value}" if value else name]
        yield Job(
            entry.name, entry.program, entry.defect, "|".join(entry.kinds), setting.ranks,
            tuple(options),
        )  # fmt: skip


def check(job: Job, gpus: str, *more: str) -> dict[str, Any]:
    """Run `warploom check` as a user would and return its JSON report, or the error in it."""
    args = ["--", *job.args] if job.args else []
    command = [
        sys.executable, "-m", "warploom.cli", "check", str(job.program), "--ranks", str(job.ranks),
        *job.options, "--json", *more, *args,
    ]  # fmt: skip
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": gpus}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=400, check=False
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": {"message": (done.stdout + done.stderr)[-500:], "exit_code": None}}


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


def run(out: Path, workers: int, deadline: float) -> int:
    """Check all entries, several at a time, and write the results as they come."""
    started = time.monotonic()
    gpus = find_gpus()
    pairs = [f"{i},{i + 1}" for i in range(0, len(gpus) - 1, 2)] or ["0"]
    results: list[dict[str, Any]] = []

    def one(item: tuple[int, Job]) -> None:
        number, job = item
        row: dict[str, Any] = {
            "name": job.name, "defect": job.defect, "expected": job.kinds, "ranks": job.ranks,
        }  # fmt: skip
        if time.monotonic() - started > deadline:
            row["hardware"] = {"verdict": "not run", "why": "the deadline of the session"}
        else:
            some = pairs[number % len(pairs)]
            where = ",".join(str(g.index) for g in gpus) if job.ranks > 2 else some
            where = where.split(",")[0] if job.ranks == 1 else where
            row["emulator"] = brief(check(job, where))
            row["hardware"] = brief(check(job, where, "--backend", "cuda", "--timeout", TIMEOUT))
        results.append(row)
        document = {"gpus": [gpu.describe() for gpu in gpus], "entries": results}
        out.write_text(json.dumps(document, indent=1))
        print(
            f"{time.monotonic() - started:6.1f} {job.name}: {row['hardware']['verdict']}",
            flush=True,
        )

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, enumerate(jobs())))
    return 0


TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


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
    direct = {f["kind"] for f in errors if not f["message"].startswith("compute-sanitizer")}
    for kind, text in (
        ("timeout", "hang"), ("crash", "crash"), ("wrong-result", "wrong values"),
        ("unsupported", "not run: no GIN between these GPUs"),
    ):  # fmt: skip
        if kind in direct:
            words.insert(0, text)
    failed = [run for run in plain if run["state"] == "finished" and run["exit_code"]]
    if "exit_code" in direct and failed:
        own = "FAIL" in report["output"]
        what = "its own check fails" if own else "an API call fails"
        words.insert(0, f"{what} ({len(failed)} of {len(plain)} runs)")
    return "; ".join(words) or "clean"


def said_by_emulator(report: dict[str, Any]) -> str:
    """Put an emulator report into a few words."""
    if report["verdict"] == "not run":
        return f"not run: {report['why']}"
    if report["verdict"] == "ok":
        return "clean"
    kinds = [f["kind"] for f in report["findings"] if f["severity"] == "error"]
    return f"{report['verdict']}: {', '.join(dict.fromkeys(kinds[:3]))}"


def table(path: Path) -> int:
    """Print the table of a results file, and how often the two agree."""
    document = json.loads(path.read_text())
    rows = sorted(document["entries"], key=lambda row: (bool(row["defect"]), row["name"]))
    rows = [row for row in rows if "emulator" in row]
    count: dict[tuple[bool, bool, bool], int] = {}
    print("| program | planted | ranks | emulator | GPU |\n|---|---|---|---|---|")
    for row in rows:
        emulator, hardware = said_by_emulator(row["emulator"]), said_by_hardware(row["hardware"])
        program = row["name"].split(":")[0].split("@")[0].split(" ")[0]
        print(f"| {program} | {row['defect'] or '-'} | {row['ranks']} | {emulator} | {hardware} |")
        if not hardware.startswith("not run"):
            key = (bool(row["defect"]), emulator == "clean", hardware == "clean")
            count[key] = count.get(key, 0) + 1
    print()
    for (defect, emulator, hardware), number in sorted(count.items()):
        kind = "planted defects" if defect else "correct programs"
        words = "the emulator finds nothing" if emulator else "the emulator finds it"
        print(f"- {number} {kind}: {words}, the GPU {'shows nothing' if hardware else 'shows it'}")
    return 0


def main() -> int:
    """Run or print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--deadline", type=float, default=3600.0, help="seconds")
    options = parser.parse_args()
    if options.action == "table":
        return table(options.file)
    return run(options.file, options.jobs, options.deadline)


if __name__ == "__main__":
    sys.exit(main())
