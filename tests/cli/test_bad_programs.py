"""Programs that misbehave, through the command line: verdict, exit code, nothing left behind."""

import json
import os
import pty
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.records import Json

HEAD = """\
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void fill(int* p, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v + i;
}
"""
SET_UP = """\
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cudaSetDevice(rank);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, id, rank);
  int *d_in, *d_out, h[64];
  cudaMalloc(&d_in, sizeof(h));
  cudaMalloc(&d_out, sizeof(h));
  cudaMemset(d_out, 0, sizeof(h));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  fill<<<1, 64, 0, stream>>>(d_in, 64, rank);
"""
REDUCE = """\
  ncclAllReduce(d_in, d_out, 64, ncclInt, ncclSum, comm, stream);
  cudaStreamSynchronize(stream);
"""
READ = "  cudaMemcpy(h, d_out, sizeof(h), cudaMemcpyDeviceToHost);\n"
TEAR_DOWN = """\
  cudaFree(d_in);
  cudaFree(d_out);
  cudaStreamDestroy(stream);
  ncclCommDestroy(comm);
  MPI_Finalize();
"""


def program(body: str) -> str:
    return f"{HEAD}int main(int argc, char** argv) {{\n{SET_UP}{body}}}\n"


GOOD = program(f"{REDUCE}{READ}{TEAR_DOWN}  return h[1] == ranks * (ranks + 1) / 2 ? 0 : 1;\n")
FAILS = program(f"{REDUCE}{READ}{TEAR_DOWN}  return rank == 2 ? 3 : 0;\n")
LOOPS = program("  for (volatile int i = 0;; i = i + 1) {}\n")
SPINS_ON_DEVICE = (
    HEAD.replace("p[i] = v + i;", "while (true) p[i] = p[i] + v;")
    + f"int main(int argc, char** argv) {{\n{SET_UP}  cudaDeviceSynchronize();\n}}\n"
)
PRINTS = program('  while (true) puts("and so on and so forth");\n')
CRASHES = program("  memset(reinterpret_cast<void*>(8), 1, 64);\n")
EATS_HOST = program("  for (int i = 0; i < 100; ++i) memset(malloc(1ull << 30), i, 1ull << 30);\n")
EATS_DEVICE = program(
    "  int* big = nullptr;\n"
    "  if (cudaMalloc(&big, 100ull << 30) != cudaSuccess) {\n"
    '    fprintf(stderr, "no memory for 100 GiB\\n");\n'
    "    return 4;\n"
    "  }\n"
)
WAITS = program("  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);\n" + REDUCE + READ + TEAR_DOWN)
ALONE = (
    f"{HEAD}int main() {{\n  int *d, h[4];\n  cudaMalloc(&d, 16);\n  fill<<<1, 4>>>(d, 4, 1);\n"
    "  cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost);\n  cudaFree(d);\n  return h[3] != 4;\n}\n"
)


def check(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    *options: str,
    limits: str = "",
) -> tuple[int, dict[str, Json]]:
    path = folder / "bad.cu"
    path.write_text(text)
    names = ["bad.cu"]
    if limits:
        names.append("workload.toml")
        (folder / "workload.toml").write_text(f'program = "bad.cu"\n[limits]\n{limits}\n')
        path = folder
    token = secrets.token_hex(8)
    arguments = ["check", str(path), "--seeds", "1", "--json", *options, "--", token]
    code = main(arguments)
    assert running(token) == []
    assert sorted(item.name for item in folder.iterdir()) == names
    return code, json.loads(capsys.readouterr().out)


def running(token: str) -> list[str]:
    """Return the command lines of live processes that hold `token`."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if token in line:
                found.append(line)
    return found


def kinds(data: dict[str, Json]) -> list[str]:
    return [finding["kind"] for finding in data["findings"] if finding["severity"] == "error"]


def test_a_good_program_is_ok(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, GOOD)
    assert (code, data["verdict"], kinds(data)) == (0, "ok", [])
    assert [(run["timing"], run["seed"]) for run in data["runs"]] == [
        ("lazy", 0),
        ("eager", 0),
        ("random", 0),
    ]
    assert data["runs"][0]["exit_codes"] == [0, 0, 0, 0]


def test_a_program_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, FAILS)
    assert (code, data["verdict"]) == (1, "failed")
    assert data["runs"][0]["exit_codes"][2] == 3
    assert "exit_code" in kinds(data)


@pytest.mark.parametrize("text", [LOOPS, SPINS_ON_DEVICE], ids=["host", "device"])
def test_an_endless_loop(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    code, data = check(tmp_path, capsys, text, "--timeout", "2")
    assert (code, data["verdict"], set(kinds(data))) == (1, "failed", {"timeout"})
    assert len(data["runs"]) == 1  # no other run is wasted on it
    assert data["runs"][0]["seconds"] < 10
    assert time.monotonic() - started < 60


def test_endless_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, PRINTS)
    assert (code, data["verdict"], kinds(data)) == (1, "failed", ["output_limit"])
    assert len(data["output"]) < 10000


def test_a_crash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, CRASHES)
    assert code == 1
    assert data["verdict"] in ("failed", "defect")
    assert kinds(data)


def test_a_huge_host_allocation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, EATS_HOST, limits="memory_mb = 1024")
    assert (code, data["verdict"], kinds(data)) == (1, "failed", ["memory_limit"])
    assert "--memory GIB" in data["findings"][0]["hint"]


def test_memory_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, EATS_HOST, "--memory", "0.5")
    assert (code, kinds(data)) == (1, ["memory_limit"])
    assert "at most 512 MiB" in data["findings"][0]["message"]


def test_a_huge_device_allocation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, EATS_DEVICE)
    assert (code, data["verdict"]) == (1, "failed")
    assert "no memory for 100 GiB" in data["output"]


def test_a_deadlock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, WAITS)
    assert (code, data["verdict"]) == (1, "deadlock")
    assert "deadlock" in kinds(data)


def test_a_program_without_communication(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, data = check(tmp_path, capsys, ALONE)
    assert (code, data["verdict"], kinds(data)) == (0, "ok", [])
    assert "no_communication" in [finding["kind"] for finding in data["findings"]]


def test_code_that_does_not_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = check(tmp_path, capsys, GOOD.replace("return h[1]", "return hh[1]"))
    assert code == 2
    line = GOOD[: GOOD.index("return h[1]")].count("\n") + 1
    assert data["error"]["line"] == line
    assert "hh" in data["error"]["message"]


def test_an_api_that_is_not_emulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace("  cudaFree(d_in);", "  cudaProfilerStartAndDance();\n  cudaFree(d_in);")
    code, data = check(tmp_path, capsys, text)
    assert (code, data["verdict"]) == (3, "unsupported")
    finding = data["findings"][0]
    assert finding["kind"] == "unsupported"
    assert "cudaProfilerStartAndDance" in finding["message"]
    assert finding["line"] == text[: text.index("cudaProfilerStartAndDance")].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FAILS, "the program fails before it is changed"),
        (ALONE, "the program has no communication"),
        (GOOD.replace("return h[1]", "return hh[1]"), "hh"),
    ],
    ids=["fails", "no communication", "does not compile"],
)
def test_what_cannot_be_transformed_writes_nothing(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.cu"
    path.write_text(text)
    out = tmp_path / "out"
    assert main(["transform", str(path), "--api", "gin", "--out", str(out), "--no-nvcc"]) == 2
    assert words in capsys.readouterr().err
    assert [item.name for item in tmp_path.iterdir()] == ["bad.cu"]


def test_a_wrong_candidate_that_prints_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = tmp_path / "good.cu"
    trusted.write_text(GOOD)
    candidate = tmp_path / "bad.cu"
    candidate.write_text(
        program(f'{READ}{TEAR_DOWN}  printf("Verification: PASS\\n");\n  return 0;\n')
    )
    arguments = ["eval", str(candidate), str(trusted), "--seeds", "1", "--json"]
    assert main(arguments) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["passed"], data["level_reached"], data["printed_verdict"]) == (False, 2, "PASS")
    assert "wrong_result" in kinds(data)
    assert main(["eval", str(trusted), str(trusted), "--seeds", "1"]) == 0
    assert "passed at level 2" in capsys.readouterr().out


def test_the_starter_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "work")]) == 0
    assert main(["check", str(tmp_path / "work"), "--seeds", "1"]) == 0
    assert "program.cu: ok" in capsys.readouterr().out


def test_text_output_names_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.cu"
    path.write_text(FAILS)
    assert main(["check", str(path), "--seeds", "1"]) == 1
    text = capsys.readouterr().out
    assert "bad.cu: failed" in text
    assert "exit code 3" in text
    assert "seen in 3 of 3 runs" in text


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    path = tmp_path / "alone.cu"
    path.write_text(ALONE)
    command = [sys.executable, "-m", "warploom.cli", "check", str(path), "--seeds", "2"]
    plain = subprocess.run(command, capture_output=True, check=True)
    assert plain.stderr == b""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the other end of a terminal was closed
            pass
        finally:
            os.close(ours)
        result = process.communicate()[0]
    assert process.returncode == 0
    assert b"run" in shown
    assert b"alone.cu: " in result


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.cu"
    path.write_text(LOOPS)
    token = secrets.token_hex(8)
    command = [sys.executable, "-m", "warploom.cli", "check", str(path), "--", token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not any("program.so" in line for line in running(token)):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"interrupted" in errors
    assert b"Traceback" not in errors
    deadline = time.monotonic() + 10
    while running(token) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running(token) == []
