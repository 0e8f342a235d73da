"""The command line without running anything: help, usage errors, bad input, JSON errors, speed."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.cli.comparisons import describe_comparison
from warploom.cli.run_options import parse_defines
from warploom.core.errors import BadInputError
from warploom.evaluation.compare.difference import Worst
from warploom.evaluation.records import OutputComparison
from warploom.workload.workload import load_target

EXAMPLES = Path(__file__).parents[2] / "examples"
MOE = ["check", str(EXAMPLES / "moe"), "--ranks", "4"]
COMMANDS = ["analyze", "check", "doctor", "eval", "explain", "init", "mcp", "transform"]
KERNEL = "#include <cuda_runtime.h>\n__global__ void k(int* p) { *p = 1; }\n"
MAIN = "int main() { int* p; cudaMalloc(&p, 4); k<<<1, 1>>>(p); return 0; }\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example: " in text and f"warploom {command}" in text.partition("Example: ")[2]


@pytest.mark.parametrize("module", ["warploom", "warploom.cli"])
def test_the_package_is_a_command_too(module: str) -> None:
    asked = subprocess.run(
        [sys.executable, "-m", module, "check", "/nowhere/to/be/found"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "/nowhere/to/be/found" in asked.stderr and "Traceback" not in asked.stderr


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("warploom 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["check"], "Missing argument"),
        (["check", "x.cu", "--rank"], "No such option"),
        (["check", "x.cu", "--ranks", "many"], "'--ranks'"),
        (["check", "x.cu", "-D", "1A=2"], "-D must be NAME or NAME=VALUE, got '1A=2'"),
        (["check", "x.cu", "--nccl", "2.30"], "--nccl must be a version"),
        (["check", "x.cu", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["check", "x.cu", "--timeout", "0"], "--timeout must be above 0"),
        (["check", "x.cu", "--memory", "0"], "--memory must be from 0.25 to 4096 GiB"),
        (["check", "x.cu", "--effort", "huge"], "must be quick, normal or thorough, got 'huge'"),
        (["check", "x.cu", "--replay", "3"], "must be SEED:TIMING such as 3:random, got '3'"),
        (["check", str(EXAMPLES / "moe"), "--replay", "3:lazy", "--seeds", "2"], "leave out the"),
        (["check", "/nowhere/x.cu"], "no such file"),
        (["check", "x.cu", "/nowhere/y.cu"], "no such file among the program's sources"),
        ([*MOE, "--node-size", "3"], "node_size must divide the ranks (4), got 3"),
        ([*MOE, "--node-size", "2", "--processes", "1"], "cannot be shared out to 2 machines"),
        (["analyze", "/nowhere/x.cu"], "must exist"),
        (["transform", "/nowhere/x.cu"], "no such file"),
        (["transform", "/nowhere/x.cu", "--api", "ib"], "no such file"),
        (["doctor", "--fetch-nccl", "newest"], "must look like 2.30.7"),
        (["eval", "/nowhere/x.cu", "/nowhere/y.cu"], "no such file"),
    ],
)
def test_wrong_usage_exits_with_2_as_text_and_as_json(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    text = capsys.readouterr()
    assert words in text.err
    assert text.err.startswith("error: ")
    assert text.out == ""
    assert main([*arguments, "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert words in data["error"]["message"]
    assert data["error"]["exit_code"] == 2


@pytest.mark.parametrize("ranks", ["0", "-3", "1000"])
def test_rank_counts_out_of_range(
    ranks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "a.cu"
    program.write_text(KERNEL + MAIN)
    assert main(["check", str(program), "--ranks", ranks]) == 2
    assert f"ranks must be from 1 to 256, got {ranks}" in capsys.readouterr().err
    assert main(["check", str(EXAMPLES / "moe"), "--ranks", ranks]) == 2


@pytest.mark.parametrize("command", ["check", "analyze"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"Dear reader,\nthis is a letter.\n", "a CUDA program must"),
        (b'#include <cstdio>\nint main() { puts("hi"); }\n', "must call the CUDA runtime"),
        (b"", "the file is empty"),
        (b"\x7fELF\x00\x00", "must be text"),
    ],
)
def test_files_that_are_not_cuda(
    command: str,
    content: bytes,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.cu"
    path.write_bytes(content)
    assert main([command, str(path)]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert str(path) in message


def test_a_program_without_main(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KERNEL)
    assert main(["check", str(path)]) == 2
    assert "must define main" in capsys.readouterr().err
    assert main(["analyze", str(path)]) == 0


def test_a_main_that_the_parser_did_not_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KERNEL + "static int f() { return ((((((;\nint main() { return f(); }\n")
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert "main cannot be found: the parser gave up" in said and "plainer way" in said


def test_a_folder_without_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "without a workload.toml" in capsys.readouterr().err


def test_an_unreadable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.cu"
    path.write_text(KERNEL)
    path.chmod(0)
    if os.access(path, os.R_OK):
        path.unlink()
        path.symlink_to(path)  # root reads everything, but no loop of links
    assert main(["analyze", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_analyze_json_holds_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(EXAMPLES / "moe" / "moe.cu"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [c["name"] for c in data["collectives"]] == ["ncclAlltoAll"] * 3
    wanted = "name line send recv count dtype op root comm stream group producers consumers"
    assert set(wanted.split()) <= data["collectives"][0].keys()
    assert {"name", "call", "bytes", "line"} <= data["allocations"][0].keys()
    assert {"kernel", "line", "grid", "block", "shared", "stream"} <= data["launches"][0].keys()
    assert all({"kind", "line", "message"} <= w.keys() for w in data["warnings"])


@pytest.mark.parametrize("name", sorted(p.parent.name for p in EXAMPLES.glob("*/workload.toml")))
def test_analyze_prints_every_collective(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(EXAMPLES / name / f"{name}.cu")]) == 0
    text = capsys.readouterr().out
    assert "collectives" in text
    assert "nccl" in text
    assert main(["analyze", str(EXAMPLES / name / f"{name}.cu"), "--llm"]) == 0
    assert "nccl" in capsys.readouterr().out


def test_init_writes_a_workload_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "work"
    assert main(["init", str(folder)]) == 0
    assert f"warploom check {folder}" in capsys.readouterr().out
    workload = load_target(folder)
    assert workload.name == "work"
    assert [output.buffer for output in workload.outputs] == ["d_sum"]
    (folder / "program.cu").write_text("mine")
    assert main(["init", str(folder)]) == 2
    assert "program.cu, workload.toml must not exist yet" in capsys.readouterr().err
    assert (folder / "program.cu").read_text() == "mine"
    assert main(["init", str(folder / "program.cu")]) == 2


@pytest.mark.parametrize("name", ["moe", "kv_transfer"])
def test_init_writes_a_workload_of_a_program(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / f"{name}.cu"
    program.write_bytes((EXAMPLES / name / f"{name}.cu").read_bytes())
    assert main(["init", str(program)]) == 0
    assert f"warploom check {tmp_path}" in capsys.readouterr().out
    made, ours = load_target(tmp_path), load_target(EXAMPLES / name)
    assert [(item.buffer, item.dtype) for item in made.outputs] == [
        (item.buffer, item.dtype) for item in ours.outputs
    ]
    assert made.program == program and made.args == ("{seed}",) and made.shape.ranks == 4
    assert "# ITERATIONS = " in (tmp_path / "workload.toml").read_text()
    assert main(["init", str(program)]) == 2
    assert "must not exist yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('int main() { cudaFree(0); }', "It copies nothing back"),
        ('int main(int c, char** argv) { cudaFree(argv[1]); }', 'args = ["{seed}"]'),
        ('#ifndef "x"\n#ifndef N\n#define N 1.5 // size\n#endif\nint main() { cudaFree(0); }',
         "# N = 1.5"),
        ("int main() { void* x; float y[4];\n cudaMemcpy(y, x, 16, cudaMemcpyDeviceToHost); }",
         'dtype = "float32"'),
        ('int main() { cudaEvent_t a; float t; cudaEventElapsedTime(&t, a, a); }',
         "# scored_region = 1"),
    ],
)  # fmt: skip
def test_init_says_what_the_text_shows(text: str, holds: str, tmp_path: Path) -> None:
    program = tmp_path / 'odd "name".cu'
    program.write_text("#include <cuda_runtime.h>\n" + text + "\n")
    assert main(["init", str(program)]) == 0
    assert holds in (tmp_path / "workload.toml").read_text()
    assert load_target(tmp_path).program == program


def test_doctor_tells_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == (0 if data["ok"] else 3)
    assert {"C++20 compiler", "sandbox", "nvcc"} <= {tool["name"] for tool in data["tools"]}
    assert main(["doctor"]) == code
    assert "C++20 compiler" in capsys.readouterr().out


MISTAKES = {
    "no_cuda.cu": "int main() {}\n",
    "notes.toml": 'program = "no_cuda.cu\n',
    "gone.toml": 'ranks = 2\nprogram = "no_cudaa.cu"\n',
    "old.toml": 'program = "no_cuda.cu"\nnccl = "2.20.3"\n',
    "header.cu": '#include <cuda_runtime.h>\n#include "away.h"\nint main() { cudaFree(0); }\n',
    "workload.toml": 'program = "no_cuda.cu"\n',
}


@pytest.mark.parametrize(
    ("arguments", "where", "wrong", "cure"),
    [
        (["check", "no_cuda.cu"], "no_cuda.cu", "a kernel, but this file does neither", "has main"),
        (["check", "notes.toml"], "notes.toml:1", "is not valid TOML", "close in the same line"),
        (["check", "gone.toml"], "no_cudaa.cu", "no such file", "by program in gone.toml:2; did"),
        (["check", "old.toml"], "old.toml:2", "known (2.28 to 2.32), got 2.20.3", "leave it out"),
        (["check", "header.cu"], "header.cu:2", "away.h: No such file", "its folder with -I"),
        (["check", "no_cuda.c"], "no_cuda.c", "no such file", "did you mean no_cuda.cu"),
        (["check", "deep"], "deep", "is a folder without a workload.toml", "warploom init"),
        (["check", "/dev/null"], "/dev/null", "is no ordinary file", ""),
        (["check", ".", "no_cuda.cu"], "no_cuda.cu", "is named twice", "only its further files"),
        (["check", ".", "--nccl", "3.1.0"], "", "known (2.28 to 2.32), got 3.1.0", "leave it out"),
        (["check", ".", "--tokens", "5"], "", "No such option: --tokens", "itself come after --"),
        (["eval", ".", "no_cuda.cu"], ".", "this is the folder of a workload", "name its .cu file"),
        (["init", "no_cuda.cu/deep"], "no_cuda.cu/deep", "cannot be made: Not a dir", "write to"),
        (
            ["transform", ".", "--model", "gpt"],
            "",
            "PREFIX:MODEL with a known prefix, got",
            "openai",
        ),
        (["transform", ".", "--price", "3"], "", "must be IN,OUT in dollars", ""),
        (["explain", "memory_limits"], "", "no finding of the kind", "memory_limit"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_its_cure(
    arguments: list[str], where: str, wrong: str, cure: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, text in MISTAKES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert where in first and wrong in first
    assert cure in "".join(rest)


def test_only_pages_that_exist_are_recommended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "blas.cu"
    program.write_text(MISTAKES["header.cu"].replace('"away.h"', "<cudnn.h>"))
    assert main(["check", str(program)]) == 3
    said = capsys.readouterr().out
    assert "uses cuDNN, which is not emulated (<cudnn.h>) [unsupported]" in said
    assert "warploom explain" not in said


def test_a_transform_of_a_wrong_api_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    moe = str(EXAMPLES / "moe")
    assert main(["transform", moe, "--api", "ib", "--out", str(out)]) == 2
    assert "the API must be one of gin, lsa, auto, got 'ib'" in capsys.readouterr().err
    assert main(["transform", moe, "--api", "lsa", "--lsa-size", "2", "--out", str(out)]) == 2
    assert "lsa_size is 2" in capsys.readouterr().err
    assert not out.exists()


def test_an_output_is_told_in_words_that_hold_for_one_and_for_many() -> None:
    good = OutputComparison("d_out", "float32", 1e-5, None, 36, 18432, 0, 0.0, None, None)
    assert describe_comparison(good) == (
        "d_out (float32, rtol 1e-05, atol by magnitude): 36 read-backs as expected, largest error 0"
    )
    bad = replace(good, compared=1, failed=1, max_error=2.5, rtol=0.0, atol=0.0, weak="all zero")
    assert describe_comparison(bad) == (
        "d_out (float32, bit by bit): differs in 1 of 1 read-back, largest error 2.5; "
        "weak: all zero"
    )
    worst = Worst(3, 0.5, math.nan, math.inf, 1e-5)
    lost = replace(good, compared=1, failed=1, max_error=math.inf, worst=worst)
    assert describe_comparison(lost).endswith("1 read-back, element 3 is nan, expected 0.5")


def test_defines() -> None:
    assert parse_defines(["A", "B=", "C=1=2"]) == {"A": "", "B": "", "C": "1=2"}
    with pytest.raises(BadInputError):
        parse_defines(["=1"])


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m warploom.cli analyze {EXAMPLES}/moe/moe.cu --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "{"
    assert done.stderr == ""


def test_a_check_loads_neither_numpy_nor_sqlalchemy() -> None:
    code = (
        "import sys, warploom.cli; "
        f"ended = warploom.cli.main(['check', {str(EXAMPLES / 'gemm_allgather')!r}]); "
        "heavy = {'numpy', 'sqlalchemy', 'pydantic_ai'} & set(sys.modules); "
        "sys.exit(f'loaded: {heavy}' if heavy else ended)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_start_up_loads_nothing_heavy() -> None:
    code = (
        "import sys, warploom.cli; warploom.cli.main(['check', '--help']); "
        "heavy = {'numpy', 'rich', 'tree_sitter', 'omegaconf'} & set(sys.modules); "
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
