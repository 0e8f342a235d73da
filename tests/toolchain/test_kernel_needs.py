"""What kernels need, as ptxas tells of it, against the blocks that are launched."""

from pathlib import Path

import pytest

from warploom.core.records import BuildSpec
from warploom.toolchain.kernel_needs import KernelNeeds, LargestBlock, lacks, named, needs_of
from warploom.toolchain.nvcc import compile_gate

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN2ns3sumIfEEvPKT_Pf' for 'sm_90'
ptxas info    : Function properties for _ZN2ns3sumIfEEvPKT_Pf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN2ns3sumIdEEvPKT_Pf' for 'sm_90'
ptxas info    : Used 66 registers, used 1 barriers
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Used 12 registers, used 1 barriers, 8192 bytes smem
"""


NEEDS = {
    "ns::sum<float>": KernelNeeds(40, 0),
    "ns::sum<double>": KernelNeeds(66, 30 << 10),
    "plain": KernelNeeds(12, 8 << 10),
}


def test_logs_are_read():
    found = needs_of(LOG)
    assert found["plain"] == KernelNeeds(12, 8192)
    assert sorted(need.registers for need in found.values()) == [12, 40, 66]


@pytest.mark.parametrize(
    ("launched", "registers"),
    [
        ("ns::sum<float>", 40),  # this instance
        ("sum<float>", 40),
        ("sum<T>", 66),  # any instance
        ("ns::sum", 66),
        ("plain", 12),
        ("pointer", 66),  # any kernel
        ("alias", 66),  # a variable of the text, whatever else has the name
    ],
)
def test_which_kernels_a_launch_may_mean(launched: str, registers: int):
    needs = {**NEEDS, "small::alias": KernelNeeds(4, 0)}
    found = named(launched, needs, "int main() { auto alias = sum<double>; alias<<<1, 1>>>(); }")
    assert found is not None and found.registers == registers


@pytest.mark.parametrize(
    ("needs", "block", "word"),
    [
        (KernelNeeds(66, 0), LargestBlock(896), ""),  # 66 are given as 72: 65,536 / 72 is 910
        (KernelNeeds(66, 0), LargestBlock(928), "registers"),
        (KernelNeeds(32, 30 << 10), LargestBlock(32, 18 << 10), ""),
        (KernelNeeds(32, 30 << 10), LargestBlock(32, 19 << 10), "together"),
        (KernelNeeds(32, 8 << 10), LargestBlock(32, 100 << 10, 219 << 10), ""),
        (KernelNeeds(32, 8 << 10), LargestBlock(32, 100 << 10, 220 << 10), "cannot allow"),
    ],
)
def test_what_a_block_lacks(needs: KernelNeeds, block: LargestBlock, word: str):
    said = lacks(needs, block)
    assert word in said if word else not said


@pytest.mark.nvcc
def test_the_real_compiler_tells_of_them(tmp_path: Path, real_nccl: str):
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
    result = compile_gate(BuildSpec(tmp_path / "a.cu"), real_nccl)
    assert result.ok
    needs = named("many<120>", needs_of(result.log), "")
    assert needs is not None and needs.registers > 64
    assert lacks(needs, LargestBlock(1024))
