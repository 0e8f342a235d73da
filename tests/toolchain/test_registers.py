"""Registers of kernels, as ptxas tells of them, against the blocks that are launched."""

from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.core.records import BuildSpec
from warploom.toolchain.nccl import find_nccl
from warploom.toolchain.nvcc import compile_gate, find_nvcc
from warploom.toolchain.registers import base_name, registers_of, too_many, written_name

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN2ns3sumIfEEvPKT_Pf' for 'sm_90'
ptxas info    : Function properties for _ZN2ns3sumIfEEvPKT_Pf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN2ns3sumIdEEvPKT_Pf' for 'sm_90'
ptxas info    : Used 66 registers, used 1 barriers
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Used 12 registers
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z7combinePKfPf", "combine"),
        ("_ZN2ns3sumIfEEvPKT_Pf", "sum"),
        ("_ZN12_GLOBAL__N_14stepEv", "step"),
        ("_Z3sumIfEvPT_", "sum"),
        ("c_linkage", "c_linkage"),
    ],
)
def test_names_of_symbols(symbol: str, name: str):
    assert base_name(symbol) == name


@pytest.mark.parametrize(
    ("launched", "name"),
    [("sum", "sum"), ("ns::sum<float>", "sum"), ("a::b<c<d>, e>", "b"), ("(*work)", "work")],
)
def test_names_in_launches(launched: str, name: str):
    assert written_name(launched) == name


def test_of_instances_the_largest_counts():
    assert registers_of(LOG) == {"sum": 66, "plain": 12}


def test_blocks_with_too_few_registers():
    registers = registers_of(LOG)
    assert too_many(registers, {"ns::sum<double>": 896, "plain": 1024}) == {}
    # 66 are given as 72: 65,536 / 72 is 910 threads.
    assert too_many(registers, {"ns::sum<double>": 928}) == {"ns::sum<double>": (66, 928)}
    assert too_many(registers, {"pointer": 1024}) == {"pointer": (66, 1024)}
    assert too_many({}, {"sum": 1024}) == {}


@pytest.mark.nvcc
def test_the_real_compiler_tells_of_them(tmp_path: Path):
    try:
        find_nvcc()
    except MissingToolError as error:
        pytest.skip(error.message)
    if not find_nccl():
        pytest.skip("no NCCL headers; name some in WARPLOOM_NCCL_HOME")
    (tmp_path / "a.cu").write_text(
        "template <int N> __global__ void many(float* data) {\n"
        "  float held[N];\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < N; i++) held[i] = data[threadIdx.x * N + i];\n"
        "  __syncthreads();\n"
        "#pragma unroll\n"
        "  for (int i = 0; i < N; i++) data[threadIdx.x + 1024 * i] = held[i];\n"
        "}\n"
        "int main() { many<120><<<1, 1024>>>(nullptr); }\n"
    )
    result = compile_gate(BuildSpec(tmp_path / "a.cu"), find_nccl()[0].version)
    assert result.ok
    assert result.registers["many"] > 64
    assert too_many(result.registers, {"many<120>": 1024})
