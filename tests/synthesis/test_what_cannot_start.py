"""What no GPU can start: too many registers for its threads, or another entry point."""

from pathlib import Path

import pytest

from warploom.synthesis.correctness.building import Builds, nvcc_outcomes
from warploom.synthesis.correctness.frame import first_line_of_body
from warploom.synthesis.correctness.registers import launches_beyond_registers

_LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4workIxEvPKfPfT_' for 'sm_90'
ptxas info    : Function properties for _Z4workIxEvPKfPfT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 65 registers, used 0 barriers
ptxas info    : Compiling entry function '_Z14work_elsewherePf' for 'sm_90'
ptxas info    : Used 200 registers, used 0 barriers
"""


@pytest.mark.parametrize(
    ("launch", "told"),
    [
        ("work<long long><<<max(n, 1), 1024, 0, stream>>>(x, y, n);", True),
        ("work<long long><<<dim3(2, 3), dim3(1024)>>>(x, y, n);", True),
        ("constexpr int kThreads = 928; work<long long><<<8, kThreads>>>(x, y, n);", True),
        ("const unsigned many{1024u}; work<long long><<<8, many>>>(x, y, n);", True),
        ("#define MANY 1024\nwork<long long><<<8, MANY>>>(x, y, n);", True),
        ("work<long long><<<1024, 896, 0, stream>>>(x, y, n);", False),  # 72 x 896 fit
        ("work<long long><<<8, threads_for(n)>>>(x, y, n);", False),  # nobody knows
        ("// work<<<8, 1024>>>\nwork<long long><<<8, 32>>>(x, y, n);", False),
        ("work_elsewhere<<<8, 256>>>(y);", False),
        ("work_elsewhere<<<8, 352>>>(y);", True),
    ],
)
def test_what_does_not_fit_is_told(launch: str, told: bool) -> None:
    findings = launches_beyond_registers(launch, _LOG, "kernel.cu", 5)
    assert [one.kind for one in findings] == ["launch_error"] * told
    if told:
        assert findings[0].line == 5 + launch[: launch.index("<<<")].count("\n")


_HUNGRY = """static __global__ void %s hungry(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 1024LL + threadIdx.x;
  float held[160];
  #pragma unroll
  for (int j = 0; j < 160; ++j) held[j] = x[(i + j * 7919LL) %% n];
  __syncthreads();
  float s = 0.0f;
  #pragma unroll
  for (int j = 1; j < 160; ++j) s = fmaxf(s, held[j] * held[j - 1]);
  #pragma unroll
  for (int j = 1; j < 160; ++j) s = fminf(s, held[j] * held[j] * held[j - 1]);
  if (i < n) y[i] = s;
}
extern "C" int warploom_forward(void* const* inputs, void* const* outputs, const long long* sizes,
                                void* stream) {
  hungry<<<8, 1024, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(inputs[0]), static_cast<float*>(outputs[0]), sizes[0]);
  return cudaGetLastError() == cudaSuccess ? 0 : 2;
}
"""


@pytest.mark.parametrize(("bounds", "told"), [("", 1), ("__launch_bounds__(1024)", 0)])
def test_nvcc_says_how_many_registers_a_kernel_needs(
    tmp_path: Path, bounds: str, told: int
) -> None:
    outcomes, findings = nvcc_outcomes(_HUNGRY % bounds, ["sm_90"], tmp_path)
    if outcomes[0].ok is None:
        pytest.skip(outcomes[0].note)
    assert outcomes[0].ok
    assert [(one.kind, one.line) for one in findings] == (
        [("launch_error", 16 + first_line_of_body() - 1)] * told
    )


def test_an_entry_point_of_other_parameters_is_told() -> None:
    with Builds(1) as builds:
        built = builds.of('extern "C" int warploom_forward(void** inputs) { return 0; }\n')
    assert built.program is None
    assert "void* stream_handle" in built.findings[0].message
