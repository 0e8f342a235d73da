"""What is started for a run on GPUs, what is told of its end, and what is missing here."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError, UnsupportedError
from warploom.core.process import ProcessResult, Stop
from warploom.core.records import BuildSpec
from warploom.hardware import HardwareBuild, HardwareOptions, Setup, run
from warploom.hardware import setup as setups
from warploom.hardware.handed import Node
from warploom.hardware.launcher import Launcher
from warploom.hardware.run import (
    judge,
    launch_command,
    launch_environment,
    read_log,
)
from warploom.hardware.setup import connect, find_setup
from warploom.toolchain import gpu, mpi, nccl
from warploom.toolchain.gpu import parse_gpus
from warploom.toolchain.mpi import Mpi, nvcc_flags
from warploom.toolchain.nccl import NcclHeaders

SMI = "0, NVIDIA H200, 9.0, 143771 MiB, 580.159.04\n1, NVIDIA H200, 9.0, 143771 MiB, 580.159.04\n"
OPENMPI = Mpi(Path("/opt/mpi/bin/mpirun"), "openmpi", (), ())


@pytest.fixture
def headers(tmp_path: Path) -> NcclHeaders:
    """Return an NCCL with a library beside its headers."""
    (tmp_path / "include").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnccl.so.2").write_bytes(b"")
    return NcclHeaders("2.32.3", tmp_path / "include", "test")


@pytest.fixture
def built(tmp_path: Path) -> HardwareBuild:
    """Return a build of a program that is not there."""
    return HardwareBuild(tmp_path / "program", BuildSpec(tmp_path / "a.cu"), "sm_90", 0.0, False)


def test_nvidia_smi_is_read_and_other_lines_are_not() -> None:
    gpus = parse_gpus(SMI + "No devices were found\n2, X, [N/A], 1 MiB, 1\n")
    assert [(g.index, g.arch, g.memory_mb) for g in gpus] == [
        (0, "sm_90", 143771),
        (1, "sm_90", 143771),
    ]


def test_mpicc_becomes_nvcc_flags() -> None:
    show = "gcc -I/a -pthread -L/b -Wl,-rpath -Wl,/b -lmpi"
    assert nvcc_flags(show) == (
        ("-I/a",),
        ("-L/b", "-Xlinker", "-rpath", "-Xlinker", "/b", "-lmpi"),
    )


def test_a_plain_run_has_the_readback_library_and_a_tools_run_has_not(
    tmp_path: Path, built: HardwareBuild, headers: NcclHeaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(parse_gpus(SMI), headers, OPENMPI, 4, shared=True)
    options = HardwareOptions(args=("7",))
    plain = launch_command(built, setup, options, tmp_path, Path("/c/readbacks.so"))
    assert plain[:2] == ["/opt/mpi/bin/mpirun", "--oversubscribe"]
    assert plain[plain.index("-n") + 1] == "4"
    assert plain[-4:] == ["/usr/bin/env", "LD_PRELOAD=/c/readbacks.so", str(built.program), "7"]
    monkeypatch.setattr(run, "find_sanitizer", lambda: Path("/cuda/compute-sanitizer"))
    tool = launch_command(built, setup, replace(options, tool="racecheck"), tmp_path, None)
    assert "LD_PRELOAD" not in " ".join(tool)
    assert tool[tool.index("--tool") + 1] == "racecheck"
    assert f"{tmp_path}/racecheck.%q{{OMPI_COMM_WORLD_RANK}}" in tool


def test_a_launcher_is_told_how_many_before_words_that_may_be_a_containers() -> None:
    inside = ("srun", "--mpi=pmix", "apptainer", "exec", "w.sif")
    assert Launcher(inside, 4).command(8) == [
        "srun", "--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--gpus-per-node=4",
        "--kill-on-bad-exit=1", "--mpi=pmix", "apptainer", "exec", "w.sif",
    ]  # fmt: skip
    assert "--gpus-per-node=4" not in Launcher(("srun", "--gres=gpu:h100:8"), 4).command(8)
    by_mpi = Launcher(("/opt/mpi/bin/mpirun", "--hostfile", "hosts"), 4).command(8, each=1)
    assert by_mpi[1:5] == ["-n", "2", "--map-by", "ppr:1:node"]
    assert Launcher(("mpiexec",), 4, hydra=True).command(8)[1:5] == ["-n", "8", "-ppn", "4"]


def test_gin_between_machines_needs_cards(headers: NcclHeaders) -> None:
    gpus = parse_gpus(SMI)
    nodes = (Node("n1", gpus, True, "bubblewrap"), Node("n2", gpus, False, "bubblewrap"))
    setup = Setup(gpus, headers, OPENMPI, 4, shared=False, nodes=nodes)
    assert connect(setup, wants_network=False) == setup
    with pytest.raises(MissingToolError, match="a network card in each, but there is none in n2"):
        connect(setup, wants_network=True)


def test_a_run_gets_nccls_settings_and_no_secret(
    tmp_path: Path, headers: NcclHeaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    monkeypatch.setenv("SOME_API_KEY", "secret")
    setup = Setup(parse_gpus(SMI), headers, OPENMPI, 4, shared=True)
    environment = launch_environment(setup, tmp_path)
    assert environment["NCCL_NVLS_ENABLE"] == "0"
    assert environment["NCCL_MULTI_RANK_GPU_ENABLE"] == "1"
    assert "SOME_API_KEY" not in environment
    assert environment["LD_LIBRARY_PATH"].startswith(str(headers.include.parent / "lib"))
    alone = launch_environment(replace(setup, mpi=None, shared=False), tmp_path)
    assert alone["WARPLOOM_ONE_PROCESS"] == "1" and "NCCL_MULTI_RANK_GPU_ENABLE" not in alone


def _ended(code: int | None, log: str = "", stopped: Stop | None = None) -> ProcessResult:
    return ProcessResult(
        exit_code=code, signal=None, stdout=log.encode(), stderr=b"", truncated=False,
        stopped=stopped, seconds=1.0, memory_mb=1, memory_limit_mb=1, channels={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("process", "state", "kind"),
    [
        (_ended(0), "finished", None),
        (_ended(1, "a.cu:7: NCCL: invalid usage\n"), "finished", "exit_code"),
        (_ended(139), "crashed", "crash"),
        (_ended(None, stopped=Stop.TIMEOUT), "timeout", "timeout"),
        (
            _ended(1, "NCCL WARN User requested GIN but not all ranks in the comm support GIN"),
            "unsupported",
            "unsupported",
        ),
    ],
)
def test_how_a_run_ended(process: ProcessResult, state: str, kind: str | None) -> None:
    said, findings = judge(process, HardwareOptions())
    assert said == state
    assert [finding.kind for finding in findings] == ([] if kind is None else [kind])
    if kind == "exit_code":
        assert "a.cu:7" in findings[0].hint


def _machine(monkeypatch: pytest.MonkeyPatch, headers: NcclHeaders, smi: str) -> None:
    monkeypatch.setattr(setups, "require_gpus", lambda: parse_gpus(smi))
    monkeypatch.setattr(setups, "get_nccl", lambda _version: headers)
    monkeypatch.setattr(setups, "find_mpi", lambda: OPENMPI)


def test_more_ranks_than_gpus_need_a_new_nccl(
    headers: NcclHeaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    _machine(monkeypatch, headers, SMI)
    assert find_setup(4, "per_rank", uses_mpi=True, nccl=None).shared
    assert not find_setup(2, "per_rank", uses_mpi=True, nccl=None).shared
    _machine(monkeypatch, replace(headers, version="2.28.9"), SMI)
    with pytest.raises(MissingToolError, match="4 ranks need as many GPUs") as told:
        find_setup(4, "per_rank", uses_mpi=True, nccl=None)
    assert "--ranks 2" in told.value.hint
    with pytest.raises(MissingToolError, match="in one process"):
        find_setup(4, "single", uses_mpi=False, nccl=None)
    with pytest.raises(UnsupportedError, match="must use MPI"):
        find_setup(2, "per_rank", uses_mpi=False, nccl=None)


def test_without_nvidia_smi_the_cure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu.shutil, "which", lambda *_args, **_more: None)
    with pytest.raises(MissingToolError, match="needs a GPU") as told:
        gpu.require_gpus()
    assert told.value.exit_code == 3 and "emulator" in told.value.hint


def test_gpus_of_two_kinds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = parse_gpus(SMI.replace("1, NVIDIA H200, 9.0", "1, NVIDIA A100, 8.0"))
    monkeypatch.setattr(gpu, "find_gpus", lambda: mixed)
    with pytest.raises(MissingToolError, match="sm_80, sm_90") as told:
        gpu.require_gpus()
    assert "CUDA_VISIBLE_DEVICES" in told.value.hint


def test_what_a_hostile_program_leaves_is_not_followed(
    tmp_path: Path, built: HardwareBuild
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "0.data").symlink_to(secret)
    (folder / "0.index").write_text("R 0 0 0 0 0 6\n")
    os.mkfifo(folder / "1.index")
    (folder / "2.index").write_text("R x y z\nT 0 0 0 0 never\nR 1 2\n\n")
    (folder / "2.data").write_bytes(b"")
    assert read_log(folder, built) == ((), ())


def test_without_mpi_the_cure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLOOM_MPI_HOME", str(tmp_path))
    with pytest.raises(MissingToolError, match="mpirun") as told:
        mpi.find_mpi.__wrapped__()
    assert "WARPLOOM_MPI_HOME" in told.value.hint


def _tool(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_mpicc_has_a_home_and_its_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPLOOM_MPI_HOME", str(tmp_path))
    _tool(tmp_path / "bin" / "mpirun", "echo 'mpirun (Open MPI) 5.0.11'\n")
    _tool(tmp_path / "bin" / "mpicc", '[ -d "$HOME" ] && echo "cc -I/there/include -lmpi"\n')
    found = mpi.find_mpi.__wrapped__()
    assert (found.kind, found.compile_flags) == ("openmpi", ("-I/there/include",))
    _tool(tmp_path / "bin" / "mpicc", "echo 'no such compiler' >&2\nexit 1\n")
    with pytest.raises(MissingToolError, match=r"mpicc does not say .* no such compiler"):
        mpi.find_mpi.__wrapped__()


def test_without_nccls_library_the_cure_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match=r"libnccl\.so\.2"):
        nccl.nccl_library(NcclHeaders("2.32.3", tmp_path / "include", "test"))


NEEDS = "needs GPUs, nvcc, NCCL's library and an MPI"


@pytest.mark.gpu
@pytest.mark.skipif(
    not gpu.find_gpus() or not shutil.which("nvcc") or not os.environ.get("WARPLOOM_NCCL_HOME"),
    reason=NEEDS + ", with WARPLOOM_NCCL_HOME set",
)
def test_a_correct_program_is_clean_on_gpus_and_equals_the_emulator() -> None:
    from warploom import check
    from warploom.core.records import Verdict
    from warploom.workload.workload import Workload

    program = Path(__file__).parents[1] / "corpus" / "programs" / "lsa_allgather.cu"
    report = check(Workload.from_program(program, ranks=2), backend="cuda", tools=())
    assert report.verdict is Verdict.OK, report.output
    assert report.expected == "emulator"
    assert sum(item.compared for item in report.comparisons) == 18
    assert all(item.passed for item in report.comparisons)
