"""The nvcc gate: right and wrong programs, cached by content."""

import re
import subprocess
import threading
import time
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError, SourceError, ToolFailedError
from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.evaluation.cascade import evaluate
from warploom.source.regions import Program
from warploom.toolchain import nvcc
from warploom.toolchain.compilers import find_compiler
from warploom.toolchain.nvcc import compile_gate, find_nvcc, parse_nvcc_errors, user_contents
from warploom.workload.workload import Workload

MPI_STUB = Path(nvcc.__file__).with_name("mpi_stub")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    nvcc._probe.cache_clear()


def program(folder: Path, code: str) -> BuildSpec:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.cu").write_text(code)
    return BuildSpec(folder / "a.cu")


FAKE = """#!/bin/sh
case "$*" in *--version*) echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit 0;; esac
echo "called with $@"
for last; do :; done
case "$*" in *" -c "*) ;; *) exit 9;; esac
{then}
"""
SLOW = 'case "$last" in /dev/null) ;; *) sleep 300;; esac'


def fake_nvcc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str = 'echo o > "$last"'
) -> None:
    """An nvcc that says its arguments; `then` is what it does to compile."""
    nvcc._toolkit.cache_clear()
    path = tmp_path / "bin" / "nvcc"
    path.parent.mkdir(exist_ok=True)
    path.write_text(FAKE.format(then=then))
    path.chmod(0o755)
    monkeypatch.setenv("WARPLOOM_NVCC", str(path))
    home = tmp_path / "nccl" / "include"
    home.mkdir(parents=True, exist_ok=True)
    (home / "nccl.h").write_text(
        "#define NCCL_MAJOR 2\n#define NCCL_MINOR 30\n#define NCCL_PATCH 7\n"
    )
    monkeypatch.setenv("WARPLOOM_NCCL_HOME", str(tmp_path / "nccl"))


def test_the_answer_is_cached_by_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    fake_nvcc(monkeypatch, tmp_path)
    spec = program(tmp_path / "one", '#include "u.h"\nint main() {}\n')
    (tmp_path / "one" / "u.h").write_text("int u;\n")
    first = compile_gate(spec, "2.30.7")
    assert first.ok and not first.cached and first.nccl == "2.30.7"
    assert compile_gate(spec, "2.30.7").cached
    other = program(tmp_path / "two", '#include "u.h"\nint main() {}\n')
    (tmp_path / "two" / "u.h").write_text("int u;\n")
    assert compile_gate(other, "2.30.7").cached  # the place does not matter
    (tmp_path / "two" / "u.h").write_text("long u;\n")
    assert not compile_gate(other, "2.30.7").cached  # an included file does
    fewer = compile_gate(spec, "2.30.7", all_back_ends=False)
    assert not fewer.cached
    assert "-arch=sm_90" in first.log and f"-I{tmp_path}/nccl/include" in first.log
    assert "GDAKI_ENABLE=0" in fewer.log and "GDAKI_ENABLE=0" not in first.log


def test_errors_are_read_and_placed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    fake_nvcc(
        monkeypatch, tmp_path, "echo 'a.cu(3): error: identifier \"x\" is undefined' >&2; exit 2"
    )
    result = compile_gate(program(tmp_path / "p", "int main() { x; }"), "2.30.7")
    assert not result.ok
    assert [(e.file, e.line, e.message) for e in result.errors] == [
        (str(tmp_path / "p" / "a.cu"), 3, 'identifier "x" is undefined')
    ]
    moved = compile_gate(program(tmp_path / "q", "int main() { x; }"), "2.30.7")
    assert moved.cached and moved.errors[0].file == str(tmp_path / "q" / "a.cu")


def test_an_unfit_host_compiler_is_no_fault_of_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fake_nvcc(
        monkeypatch,
        tmp_path,
        "echo 'host_config.h(70): error: -- unsupported GNU version!' >&2; exit 1",
    )
    with pytest.raises(ToolFailedError, match="NVCC_CCBIN"):
        compile_gate(program(tmp_path, "int main() {}"), "2.30.7")


def test_an_nvcc_that_nobody_needs_any_more_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fake_nvcc(monkeypatch, tmp_path, SLOW)
    find_nvcc()
    needless = threading.Event()
    threading.Timer(1.0, needless.set).start()
    started = time.monotonic()
    with pytest.raises(ToolFailedError, match="cancelled"):
        compile_gate(program(tmp_path, "int main() {}"), "2.30.7", cancel=needless)
    assert time.monotonic() - started < 60


def test_a_program_that_does_not_build_does_not_wait_for_nvcc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fake_nvcc(monkeypatch, tmp_path, SLOW)
    spec = program(tmp_path / "work", "int main() { return 0; }\n")
    workload = Workload.from_program(spec.program, ranks=1, seeds=1)
    broken = Program("int main() { return one; }\n", Path("broken.cu"))
    started = time.monotonic()
    done = evaluate(broken, workload, level=1, trust_candidate=True)
    assert done.level_reached == 1
    assert not done.passed
    assert time.monotonic() - started < 120


def test_a_missing_program_or_nvcc_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    fake_nvcc(monkeypatch, tmp_path)
    with pytest.raises(SourceError, match=r"absent\.cu"):
        compile_gate(BuildSpec(tmp_path / "absent.cu"), "2.30.7")
    with pytest.raises(MissingToolError, match=r"NCCL 2\.28\.9"):
        compile_gate(program(tmp_path, "int main() {}"), "2.28.9")
    monkeypatch.setenv("WARPLOOM_NVCC", str(tmp_path / "no"))
    with pytest.raises(MissingToolError, match=r"warploom\[cuda\]"):
        find_nvcc()


def test_both_passes_of_nvcc_are_read(tmp_path: Path):
    log = """a.cu(12): error: identifier "ncclFoo" is undefined
inc/b.h:3:10: fatal error: absent.h: No such file or directory
a.cu(12): error: identifier "ncclFoo" is undefined
a.cu(14): warning #177-D: unused
a.cu(20): error #20: bad
2 errors detected in the compilation of "a.cu".
"""
    errors = parse_nvcc_errors(log, tmp_path)
    assert [(Path(e.file).name, e.line) for e in errors] == [("a.cu", 12), ("b.h", 3), ("a.cu", 20)]


def test_user_contents_follow_includes(tmp_path: Path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "b.h").write_text("#include <c.h>\n")
    (tmp_path / "inc" / "c.h").write_text('#include "b.h"\n#include <vector>\n')
    (tmp_path / "a.cu").write_text('#include "b.h"\n')
    spec = BuildSpec(tmp_path / "a.cu", include_dirs=(tmp_path / "inc",))
    assert sorted(user_contents(spec)) == ["a.cu", "inc/b.h", "inc/c.h"]


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_mpi_stub_compiles_alone(tmp_path: Path, language: str):
    (tmp_path / "a.c").write_text(
        "#include <mpi.h>\n#if defined(OPEN_MPI) && OPEN_MPI\n#include <mpi-ext.h>\n#endif\n"
        "int f(void) { return MPI_Barrier(MPI_COMM_WORLD) + MPIX_Query_cuda_support(); }\n"
    )
    done = subprocess.run(
        [*find_compiler().command, "-x", language, "-Wall", "-Werror", "-I", MPI_STUB, "-c", "a.c"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_mpi_stub_has_all_that_is_emulated(tmp_path: Path):
    """Each name of the emulator's header is one of the stub's too, and calls take as much."""
    emulated = (SHIM_DIR / "mpi.h").read_text()
    calls = re.findall(r"\b(MPI_\w+)\(([^;{]*?)\);", emulated)
    macros = re.findall(r"#define (MPI_\w+)", emulated)
    assert len(calls) > 130 and len(macros) > 100
    head = "#include <mpi.h>\n"
    head += "template <class R, class... A> constexpr int n(R (*)(A...)) { return sizeof...(A); }\n"
    lines = [head]
    for name, parameters in calls:
        count = 0 if parameters == "void" else parameters.count(",") + 1
        lines.append(f'static_assert(n({name}) == {count}, "{name}");')
    lines += [f"auto use{at} = {name};" for at, name in enumerate(macros)]
    (tmp_path / "all.cpp").write_text("\n".join(lines))
    done = subprocess.run(
        [*find_compiler().command, "-std=c++20", "-Wall", "-I", MPI_STUB, "-c", "all.cpp"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.nvcc
def test_the_real_compiler(tmp_path: Path, real_nccl: str):
    good = """#include <nccl.h>
#include <mpi.h>
#include <cuda_runtime.h>
__global__ void k(float* p) { *p = 1; }
int main(int c, char** v) { MPI_Init(&c, &v); k<<<1, 1>>>(nullptr);
  ncclComm_t comm; ncclUniqueId id;
  return ncclCommInitRank(&comm, 1, id, 0); }
"""
    assert compile_gate(program(tmp_path, good), real_nccl).ok
    bad = compile_gate(program(tmp_path, good.replace("*p = 1", "*p = y")), real_nccl)
    assert not bad.ok and [(e.line, "y" in e.message) for e in bad.errors] == [(4, True)]
