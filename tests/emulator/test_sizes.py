"""Types of CUDA and NCCL have the sizes of the real ones, which `sizeof` shows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Limits, RunSpec, Timing, Verdict
from warploom.emulator import RunOptions, build, run


def _names(text: str) -> list[str]:
    return text.split()


_COOPS = ("ncclCoopThread", "ncclCoopWarp", "ncclCoopCta", "ncclCoopLanes", "ncclCoopWarpSpan")
_SESSIONS = ("ncclLsaBarrierSession", "ncclGinBarrierSession", "ncclBarrierSession",
             "ncclLLA2ASession")  # fmt: skip
_ALWAYS = _names("""
ncclUniqueId ncclConfig_t ncclTeam ncclMultimemHandle ncclLsaBarrierHandle ncclGinBarrierHandle
ncclLLA2AHandle ncclDevComm ncclDevCommRequirements ncclDevResourceRequirements
ncclTeamRequirements ncclGin ncclGin_BackendMask<4> ncclTeamTagWorld ncclSymPtr<float>
ncclCoopThread ncclCoopTile<8> ncclCoopLanes ncclCoopWarpSpan ncclCoopCta ncclWindow_t ncclComm_t
ncclGinSignal_t ncclGinCounter_t ncclDevResourceHandle_t ncclGinDescriptorSmem ncclGin_None
ncclGin_SignalInc ncclGin_SignalAdd ncclGin_CounterInc ncclGin_DescriptorSmem ncclGinFenceLevel
ncclResult_t ncclDataType_t ncclRedOp_t
""") + [f"{session}<{coop}>" for session in _SESSIONS for coop in _COOPS]
_FROM_29 = _names("""
ncclCommProperties ncclGinConnectionType_t ncclGinType_t ncclCoopAny ncclWaitSignalDesc_t
ncclGin_VASignalInc ncclGin_VASignalAdd ncclGinOptFlags
""") + [f"{session}<ncclCoopAny>" for session in _SESSIONS]
_FROM_30 = _names("""
ncclGinRequest_t ncclGinAllContexts ncclGin_StrongSignalInc ncclGin_WeakSignalAdd
ncclGin_StrongVASignalAdd ncclGin_WeakVASignalInc ncclGin_WeakCounterInc ncclGin_SegmentDevice
ncclGinResourceSharingMode
""")
_FROM_31 = ["ncclConfigExt_t", "ncclCollConfig_t"]
NCCL = {
    "2.28.9": _ALWAYS,
    "2.29.7": _ALWAYS + _FROM_29,
    "2.30.7": _ALWAYS + _FROM_29 + _FROM_30,
    "2.31.2": _ALWAYS + _FROM_29 + _FROM_30 + _FROM_31,
    "2.32.3": _ALWAYS + _FROM_29 + _FROM_30 + _FROM_31,
}
CUDA = _names("""
cudaDeviceProp cudaPointerAttributes cudaFuncAttributes cudaLaunchAttribute cudaLaunchConfig_t
cudaMemcpy3DParms cudaExtent cudaPos cudaPitchedPtr cudaMemLocation cudaMemPoolProps
cudaMemAccessDesc cudaKernelNodeParams cudaMemsetParams cudaHostNodeParams cudaUUID_t dim3 uint3
float3 float4 double2 double4 longlong4 short4 char3 __half __half2 __nv_bfloat16 __nv_fp8_e4m3
cuFloatComplex cooperative_groups::thread_block cooperative_groups::grid_group
cooperative_groups::coalesced_group cooperative_groups::thread_block_tile<32>
cooperative_groups::thread_block_tile<4> cooperative_groups::thread_group
cuda::atomic<int,cuda::thread_scope_device> cuda::atomic_ref<int,cuda::thread_scope_system>
cuda::pipeline<cuda::thread_scope_thread>
""")
_HEADERS = "".join(
    f"#include <{name}>\n"
    for name in ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuComplex.h",
                 "cooperative_groups.h", "cuda/atomic", "cuda/pipeline", "nccl.h",
                 "nccl_device.h", "cstdio")
)  # fmt: skip

# Of docs.nvidia.com and the headers themselves, so that a machine without nvcc tests something.
KNOWN = {("2.28.9", "ncclDevComm"): 200, ("2.30.7", "ncclGin"): 40, ("2.32.3", "ncclDevComm"): 248}


def sizes_here(folder: Path, version: str, types: list[str]) -> list[tuple[str, int, int]]:
    """Return the size and alignment that the emulator's headers give each type."""
    lines = "".join(
        f'  std::printf("%zu %zu\\n", sizeof({name}), alignof({name}));\n' for name in types
    )
    program = folder / "sizes.cu"
    program.write_text(f"{_HEADERS}int main() {{\n{lines}}}\n")
    outcome = run(
        build(BuildSpec(program, nccl=version)),
        RunOptions(run=RunSpec(0, Timing.EAGER), ranks=1, limits=Limits(seconds=30)),
    )
    assert outcome.verdict is Verdict.OK, outcome.findings
    pairs = [line.split() for line in outcome.stdout.splitlines()]
    return [(name, int(p[0]), int(p[1])) for name, p in zip(types, pairs, strict=True)]


@pytest.mark.parametrize("version", sorted({version for version, _ in KNOWN}))
def test_known_sizes(tmp_path: Path, version: str):
    types = [name for at, name in KNOWN if at == version]
    for name, size, _ in sizes_here(tmp_path, version, types):
        assert size == KNOWN[version, name]


@pytest.mark.nvcc
@pytest.mark.parametrize("version", sorted(NCCL))
def test_sizes_are_those_of_the_real_headers(
    tmp_path: Path, version: str, real_headers: Callable[..., None]
):
    found = sizes_here(tmp_path, version, NCCL[version] + CUDA)
    checks = "".join(
        f'static_assert(sizeof({name}) == {size} && alignof({name}) == {align}, "{name}");\n'
        for name, size, align in found
    )
    program = tmp_path / "real.cu"
    program.write_text(f"{_HEADERS}{checks}int main() {{}}\n")
    real_headers(program, version)
