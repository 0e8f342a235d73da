"""Build trees: what their compilation databases say, their programs, and patches for them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.cli import main
from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.transform.build_tree import is_build_tree, planned, tree_programs
from warploom.transform.compile_commands import read_commands

SPREAD = Path(__file__).parent / "programs" / "spread"
TOOL = "int main() { return 0; }\n"


def command(tree: Path, file: str, target: str) -> dict[str, str]:
    """What CMake writes for one source."""
    words = [
        "nvcc", "-forward-unknown-to-host-compiler", f"-I{tree}/include", "-isystem",
        "/usr/include", "-std=c++17", "-x", "cu", "-c", f"{tree}/src/{file}",
        "-o", f"CMakeFiles/{target}.dir/{file}.o",
    ]  # fmt: skip
    return {"directory": f"{tree}/build", "file": f"../src/{file}", "command": " ".join(words)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the program `spread`, whose communication is in a library, and a tool."""
    made = tmp_path / "tree"
    shutil.copytree(SPREAD, made)
    (made / "workload.toml").unlink()
    (made / "src" / "tool.cpp").write_text(TOOL)
    (made / "build").mkdir()
    targets = {"main.cu": "app", "kernels.cu": "app", "comm.cu": "lib", "tool.cpp": "tool"}
    entries = [command(made, file, target) for file, target in targets.items()]
    (made / "build" / "compile_commands.json").write_text(json.dumps(entries))
    return made


def test_the_programs_and_what_would_be_done(tree: Path) -> None:
    assert is_build_tree(tree) and not is_build_tree(SPREAD)
    programs = tree_programs(tree)
    assert [p.name for p in programs] == ["src/main.cu", "src/tool.cpp"]
    assert [s.name for s in programs[0].workload.sources] == ["kernels.cu", "comm.cu"]
    assert programs[1].workload.sources == ()
    plan = planned(programs[0], Api.GIN, tree)
    assert plan.files == ("src/main.cu", "include/comm.h", "src/comm.cu")
    assert [(Path(c.file).name, c.line) for c in plan.collectives] == [
        ("comm.h", 8),
        ("comm.cu", 22),
    ]
    assert plan.refusals == ()
    assert planned(programs[1], Api.GIN, tree).collectives == ()


def test_refusals_name_the_users_lines(tree: Path) -> None:
    path = tree / "src" / "comm.cu"
    path.write_text(
        path.read_text() + "ncclResult_t (*odd)(void*) = &ncclCommFinalize;\n"
        "void own(ncclComm_t c, const ncclDevCommRequirements* r, ncclDevComm* d) {\n"
        "  ncclDevCommCreate(c, r, d);\n"
        "}\n"
    )
    plan = planned(tree_programs(tree)[0], Api.LSA, tree)
    found = [(Path(one.file).name, one.line) for one in plan.refusals]
    lines = path.read_text().split("\n")
    at = next(n for n, line in enumerate(lines, 1) if "ncclDevCommCreate" in line)
    assert ("comm.cu", at) in found
    assert plan.files == ()


def test_commands_in_every_form_are_read(tmp_path: Path) -> None:
    for name in ("a b", "inc", "more"):
        (tmp_path / name).mkdir()
    for name in ("one.cu", "two.cpp", "three.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "flags.rsp").write_text('-I more --define-macro=DEEP "-DTEXT=\\"x y\\""')
    entries = [
        {"directory": str(tmp_path), "file": "one.cu", "arguments": [
            "nvcc", "-I", "a b", "-D", "N=4", "-DFLAG", "--options-file", "flags.rsp", "one.cu"]},
        {"directory": str(tmp_path), "file": "one.cu", "command": "nvcc -DAGAIN one.cu"},
        {"directory": str(tmp_path), "file": "two.cpp", "output": "CMakeFiles/x.dir/two.cpp.o",
         "command": "c++ '-Ia b' -I inc -I /usr/include -I gone two.cpp"},
        {"directory": str(tmp_path), "file": "three.txt", "command": "cat"},
        {"directory": "/", "file": "/etc/hostname.cpp", "command": "cat"},
    ]  # fmt: skip
    file = tmp_path / "compile_commands.json"
    file.write_text(json.dumps(entries))
    one, two = read_commands(file, tmp_path)
    assert one.include_dirs == (tmp_path / "a b", tmp_path / "more")
    assert one.defines == {"N": "4", "FLAG": "", "DEEP": "", "TEXT": '"x y"'}
    assert (two.include_dirs, two.target) == ((tmp_path / "a b", tmp_path / "inc"), "x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "must be JSON"),
        ("{}", "must hold a list of compile commands"),
        ("[{}]", "entry 1 must have directory, file, and command or arguments"),
        ('[{"directory": "/", "file": "a.cu", "command": "nvcc \'"}]', "entry 1 must have"),
        ("[]", "no source of 0"),
    ],
)
def test_a_broken_database_is_told(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text(text)
    with pytest.raises(BadInputError, match=reason):
        tree_programs(tmp_path)


def test_one_program_is_transformed_and_the_patch_applies(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--ranks", "2", "--api", "lsa", "--no-nvcc", "--one-stage", "--seeds", "1"]
    code = main(["transform", str(tree), "--only", "src/main.cu", "--out", str(out), *options])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "src/comm.cu:22: ncclAllGather becomes a kernel" in shown
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    patch = out / "src" / "main" / "tree.patch"
    subprocess.run(["git", "apply", str(patch)], cwd=tree, check=True)
    assert "device_comm::launchAllGather(" in (tree / "src" / "comm.cu").read_text()
    assert (tree / "src" / "device_comm.cuh").is_file()


def test_a_program_that_is_not_there_is_told(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["transform", str(tree), "--only", "src/man.cu"]) == 2
    assert "did you mean src/main.cu?" in capsys.readouterr().err
