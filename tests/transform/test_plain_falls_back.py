"""Where the plain form turns out to be wrong, the general one is what is written."""

from pathlib import Path

import pytest
from transform_programs import COLLECTIVES

from warploom.evaluation import Workload
from warploom.transform import PreTransformPipeline, TransformConfig

ALIKE = COLLECTIVES["alltoall"].text()
ALLOCATION = "  CUDA_CHECK(cudaMalloc(&recv, n * sizeof(Value)));\n"
CALL = "ncclAlltoAll(send, recv, count, ncclFloat, comm, stream)"
PROGRAMS = {
    "alike": ALIKE,
    "sizes": ALIKE.replace(ALLOCATION, (
        "  const size_t own = n + rank * 5000;\n"
        "  CUDA_CHECK(cudaMalloc(&recv, own * sizeof(Value)));\n"
    )),
    "streams": ALIKE.replace(CALL, CALL.replace("stream)", "turn)")).replace(
        f"    NCCL_CHECK({CALL[:6]}",
        "    CUDA_CHECK(cudaStreamSynchronize(stream));\n"
        "    cudaStream_t turn = round % 2 ? other : stream;\n"
        f"    NCCL_CHECK({CALL[:6]}",
    ).replace("    consume<<<", "    CUDA_CHECK(cudaStreamSynchronize(turn));\n    consume<<<"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_alike_at_run_time_needs_the_general_form(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cu"
    assert name == "alike" or PROGRAMS[name] != ALIKE
    path.write_text(PROGRAMS[name])
    config = TransformConfig(
        api_type="gin", two_stage=False, nvcc=False, backend="emulator", diagnostic_rerun=False
    )
    workload = Workload.from_program(path, args=("{seed}",), ranks=2, seeds=1)
    result = PreTransformPipeline(config).run(workload, tmp_path / "out")
    assert result.verified and result.program is not None
    assert (", plain form" in result.program.read_text()) == (name == "alike")
    assert (result.stages[-1].attempts == 1) == (name == "alike")
