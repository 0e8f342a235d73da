"""Programs whose communication is spread over headers and further sources."""

import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.core.errors import RefusedError
from warploom.core.records import Verdict
from warploom.evaluation.check import check
from warploom.transform import PreTransformPipeline, TransformConfig
from warploom.transform.several_files import several_files
from warploom.workload.workload import Workload

SPREAD = Path(__file__).parent / "programs" / "spread"
QUICK = {"nvcc": False, "two_stage": False, "backend": "emulator"}


@pytest.mark.parametrize("api", ["gin", pytest.param("lsa", marks=pytest.mark.long)])
def test_the_files_are_transformed_and_verified(api: str, tmp_path: Path) -> None:
    config = TransformConfig(api_type=api, **QUICK)
    result = PreTransformPipeline(config).run(SPREAD, tmp_path / "out")
    assert result.verified, [step.error for step in result.steps]
    assert result.step("files").details["files"] == [
        "src/main.cu", "src/device_comm.cuh", "include/comm.h", "src/comm.cu",
    ]  # fmt: skip
    assert [Path(call.file).name for call in result.collectives] == ["comm.h", "comm.cu"]
    assert [call.line for call in result.collectives] == [8, 22]
    _require_patch(result.diff, tmp_path)


def _require_patch(diff: Path | None, folder: Path) -> None:
    """The diff makes a program of the user's files that runs clean."""
    assert diff is not None
    tree = folder / "tree"
    shutil.copytree(SPREAD, tree)
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "apply", str(diff)], cwd=tree, check=True)
    report = check(tree, seeds=1, args=["1"])
    assert report.verdict is Verdict.OK
    assert "ncclAllGather(" not in (tree / "src" / "comm.cu").read_text()


def test_sources_that_clash_in_one_unit_are_refused(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(SPREAD, tree)
    for name in ("main.cu", "comm.cu"):
        path = tree / "src" / name
        path.write_text("struct Helper { int x; };\n" + path.read_text())
    with pytest.raises(RefusedError, match="do not compile as one translation unit") as caught:
        PreTransformPipeline(TransformConfig(**QUICK)).run(tree, tmp_path / "out")
    assert caught.value.refusals[0].file.endswith("comm.cu")
    assert not (tmp_path / "out").exists()


def test_a_copy_of_the_librarys_header_is_no_file_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "nccl.h").write_text(
        "#pragma once\n#define NCCL_MAJOR 2\nint ncclSend(const void*, int);\n"
    )
    (tmp_path / "comm.h").write_text('#pragma once\n#include "nccl.h"\n')
    program = tmp_path / "main.cu"
    program.write_text('#include "comm.h"\nint main() { ncclSend(0, 1); }\n')
    assert several_files(Workload.from_program(program)) is None
