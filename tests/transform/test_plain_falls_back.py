"""Where the plain form turns out to be wrong, the general one is what is written."""

from pathlib import Path

from transform_programs import COLLECTIVES

from warploom.evaluate import Workload
from warploom.transform import PreTransformPipeline, TransformConfig

ALLOCATION = "  CUDA_CHECK(cudaMalloc(&recv, n * sizeof(Value)));\n"
UNLIKE = """\
  const size_t own = n + rank * 5000;
  CUDA_CHECK(cudaMalloc(&recv, own * sizeof(Value)));
"""


def test_buffers_of_unlike_sizes_need_the_general_form(tmp_path: Path) -> None:
    text = COLLECTIVES["alltoall"].text()
    assert text.count(ALLOCATION) == 1
    (tmp_path / "alike.cu").write_text(text)
    (tmp_path / "unlike.cu").write_text(text.replace(ALLOCATION, UNLIKE))
    config = TransformConfig(
        api_type="gin", two_stage=False, nvcc=False, backend="emulator", diagnostic_rerun=False
    )
    forms: dict[str, bool] = {}
    for name in ("alike", "unlike"):
        workload = Workload.from_program(
            tmp_path / f"{name}.cu", args=("{seed}",), ranks=2, seeds=1
        )
        result = PreTransformPipeline(config).run(workload, tmp_path / name)
        assert result.verified and result.program is not None
        forms[name] = ", plain form" in result.program.read_text()
    assert forms == {"alike": True, "unlike": False}
