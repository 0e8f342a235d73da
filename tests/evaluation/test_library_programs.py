"""A program that uses the device through a library alone is a CUDA program."""

from pathlib import Path

import pytest

from warploom.core.errors import SourceError
from warploom.evaluation.survey import survey
from warploom.workload.workload import Workload

PROGRAMS = {
    "nccl.c": "#include <nccl.h>\nint main(void) { int v; return ncclGetVersion(&v); }\n",
    "properties.cu": "int main() { int n; return cudaGetDeviceCount(&n); }\n",
    "sort.cu": (
        "#include <thrust/device_vector.h>\nint main() { thrust::device_vector<int> v(4); "
        "return v[0]; }\n"
    ),
    "blas.cpp": (
        "#include <cublas_v2.h>\nint main() { cublasHandle_t h; return cublasCreate(&h); }\n"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_library_is_enough(name: str, tmp_path: Path):
    program = tmp_path / name
    program.write_text(PROGRAMS[name])
    assert survey(Workload.from_program(program, ranks=1)).reports


def test_a_name_in_passing_is_not(tmp_path: Path):
    program = tmp_path / "words.cpp"
    program.write_text('#include <cstdio>\nint main() { puts("cub and thrust, nccl"); }\n')
    with pytest.raises(SourceError, match="does neither"):
        survey(Workload.from_program(program, ranks=1))
