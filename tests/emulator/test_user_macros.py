"""Macros that programs define before our headers change nothing in them."""

import re
import string
import subprocess
from pathlib import Path

import pytest

from warploom.core.records import BuildSpec, Verdict
from warploom.emulator import RunOptions, build, run
from warploom.emulator.building.unit_flags import own_macros
from warploom.emulator.rewriting.rewrite import SHIM_DIR
from warploom.toolchain.compilers import find_compiler

LETTERS = string.ascii_uppercase
_WORDS_TEXT = """
BLOCK BLOCKS SIZE COUNT RANK RANKS NUM WARP WARPS LANE THREADS TILE ROWS COLS DIM LEN MAX MIN
BYTES ITERS STEPS CHUNK DATA VALUE INDEX CHECK DEBUG VERBOSE ROUNDS TYPE FLOAT INT HALF WIDTH
HEIGHT OFFSET STREAM EPS PI SCALE BM BN BK TM TN
"""
WORDS = _WORDS_TEXT.split()
HEADERS = sorted(
    path.relative_to(SHIM_DIR).as_posix()
    for path in SHIM_DIR.rglob("*")
    if path.is_file() and path.suffix in ("", ".h", ".hpp", ".cuh")
)


def test_common_names_may_be_macros(tmp_path: Path) -> None:
    source = tmp_path / "macros.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in HEADERS))
    macros = [f"-D{name}=64" for name in (*LETTERS, *WORDS)]
    flags = ["-std=c++20", "-fsyntax-only", "-w", "-DWARPLOOM_NCCL_VERSION=23203"]
    done = subprocess.run(
        [*find_compiler().command, *flags, *macros, f"-I{SHIM_DIR}", source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]


_PROGRAM = """
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

__device__ int total_;
__global__ void fill_(int* out_, int much_) {
  __shared__ int part_[32];
  extern __shared__ int more_[];
  const int i_ = blockIdx.x * blockDim.x + threadIdx.x;
  part_[threadIdx.x] = i_ + much_;
  more_[threadIdx.x] = gridDim.x;
  __syncthreads();
  atomicAdd(&total_, part_[i_] << much_);
  out_[i_] = part_[31 - i_] + __shfl_xor_sync(~0u, more_[i_], 1);
}
int main() {
  int *out_, host_[32];
  cudaMalloc(&out_, sizeof host_);
  fill_<<<1, 32, sizeof host_>>>(out_, 3);
  if (cudaGetLastError() != cudaSuccess) return 1;
  cudaMemcpy(host_, out_, sizeof host_, cudaMemcpyDeviceToHost);
  cudaFree(out_);
  return host_[0] != 35;
}
"""
# What programs and build scripts call their macros, but what the program above spells itself.
_LOWER_TEXT = """
ranks rank size world count nranks world_size my_rank nodes node local root peer tag team
block grid warp lane lanes tile threads blocks thread bx by tx ty bid tid gid block_size grid_size
chunk bytes length width height depth batch index offset stride value key mode flags kind
stream device host event window signal barrier context buffer buf src dst start total steps step
mine info done send recv slot slots launch call closure group place text span stage table args
argument kernel body inner outer meter price kernel_name rows cols iters warmup rounds
"""


def _macros() -> list[str]:
    used = set(re.findall(r"\w+", _PROGRAM))
    return [n for n in (*string.ascii_letters, *WORDS, *_LOWER_TEXT.split()) if n not in used]


def _runs(spec: BuildSpec) -> None:
    outcome = run(build(spec), RunOptions(ranks=1, processes="single"))
    assert outcome.verdict == Verdict.OK, outcome.findings


@pytest.mark.parametrize("timed", [False, True], ids=["checked", "timed"])
def test_a_macro_of_the_command_line_is_for_the_program_alone(tmp_path: Path, timed: bool) -> None:
    program = tmp_path / "defined.cu"
    program.write_text(_PROGRAM)
    _runs(BuildSpec(program, defines=dict.fromkeys(_macros(), "64"), timed=timed))


def test_a_macro_of_the_text_is_for_the_program_alone(tmp_path: Path) -> None:
    program = tmp_path / "text.cu"
    program.write_text("".join(f"#define {name} 64\n" for name in _macros()) + _PROGRAM)
    _runs(BuildSpec(program))


def test_macros_reach_the_program_and_what_headers_ask_for_reaches_these(tmp_path: Path) -> None:
    program = tmp_path / "asked.cu"
    program.write_text(
        "#if ranks != 4 || !defined(WITH) || DOUBLED(3) != 6\n#error not defined\n#endif\n"
        '#include <cuda_runtime.h>\n#include "own.h"\nint main() { return own(0); }\n'
    )
    (tmp_path / "own.h").write_text("inline int own(int n) { return n * ranks; }\n")
    defines = {"ranks": "4", "WITH": "", "DOUBLED(n)": "((n)*2)", "_OWN": "1", "NDEBUG": ""}
    spec = BuildSpec(program, defines=defines)
    assert own_macros(spec).keys() == {"ranks", "WITH", "DOUBLED(n)", "NDEBUG"}
    _runs(spec)
