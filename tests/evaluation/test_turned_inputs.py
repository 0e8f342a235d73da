"""Results of earlier iterations that come back where no counter sees them are of other inputs."""

from dataclasses import replace
from pathlib import Path

import pytest
from spoiled_program import KERNEL, TEXT, written

from warploom.emulator import find_topology
from warploom.evaluation.cascade import evaluate
from warploom.evaluation.records import Evaluation
from warploom.source.regions import Program
from warploom.workload.outputs import Output
from warploom.workload.workload import Workload

GATHER = "    ncclAllGather(mine, gathered, kCount, ncclFloat, comm, stream);\n"
# What the host got in the warm-up comes back by value. What moves between ranks is for show, as
# that of a program would be which reads it and does nothing with it.
GIVE = """\
struct Some { TYPE v[128]; };
__global__ void give(Some kept, const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] == 0.0f ? 0.0f : FROM;
}

int main("""
FLOATS = GIVE.replace("TYPE", "float").replace("FROM", "kept.v[i]")
BYTES = GIVE.replace("TYPE v[128]", "unsigned char v[4][128]").replace(
    "FROM",
    "__int_as_float(kept.v[0][i] | kept.v[1][i] << 8 | kept.v[2][i] << 16 | kept.v[3][i] << 24)",
)
TAKE = "for (int i = 0; i < all; i++) kept.v[i] = seen[i];"
TAKE_BYTES = (
    "for (int i = 0; i < all; i++)\n        for (int k = 0; k < 4; k++)\n"
    "          kept.v[k][i] = reinterpret_cast<unsigned char*>(&seen[i])[k];"
)
BY_ARGUMENTS = f"""
    static Some kept;
    {GATHER}
    if (iteration == 0) {{
      {KERNEL}
      cudaStreamSynchronize(stream);
      std::vector<float> seen(all);
      float* same = out;
      for (int i = 0; i < all; i += 16)
        cudaMemcpy(&seen[i], same + i, 64, cudaMemcpyDeviceToHost);
      {TAKE}
    }} else {{
      give<<<(all + 31) / 32, 32, 0, stream>>>(kept, gathered, out, all);
    }}
"""
IN_FIRST = written(BY_ARGUMENTS)
# Each iteration queues the same; those in the middle take what is kept.
BUT_THE_LAST = written(f"""
    static Some kept;
    const bool works = iteration == 0 || iteration == 3;
    {GATHER}
    {KERNEL.replace("out, all)", "out, works ? all : 0)")}
    give<<<(all + 31) / 32, 32, 0, stream>>>(kept, gathered, out, works ? 0 : all);
    if (iteration == 0) {{
      cudaStreamSynchronize(stream);
      float* same = out;
      cudaMemcpy(kept.v, same, all * sizeof(float), cudaMemcpyDeviceToHost);
    }}
""")
ONE_IN_SIXTEEN = written(f"""
    static Some kept;
    {GATHER}
    {KERNEL}
    if (iteration == 0) {{
      cudaStreamSynchronize(stream);
      float* same = out;
      cudaMemcpy(kept.v, same, 32, cudaMemcpyDeviceToHost);
    }} else {{
      give<<<1, 8, 0, stream>>>(kept, gathered, out, 8);
    }}
""")
CHEATS = {
    "floats": IN_FIRST.replace("int main(", FLOATS),
    "bytes": IN_FIRST.replace(TAKE, TAKE_BYTES).replace("int main(", BYTES),
    "but_the_last": BUT_THE_LAST.replace("int main(", FLOATS),
    "a_few": ONE_IN_SIXTEEN.replace("int main(", FLOATS),
}
HONEST = {
    "as_it_is": TEXT,
    "a_scalar": TEXT.replace("2.0f * in[i]", "by * in[i]")
    .replace("float* out, int n) {", "float* out, int n, float by) {")
    .replace("(gathered, out, all)", "(gathered, out, all, 2.0f)"),
    "another_place": TEXT.replace(
        GATHER,
        "    static float* place = nullptr;\n"
        "    if (!place) cudaMalloc(&place, kCount * sizeof(float));\n"
        "    cudaMemcpyAsync(place, mine, kCount * sizeof(float), cudaMemcpyDeviceToDevice,"
        " stream);\n" + GATHER.replace("mine", "place"),
    ),
}


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    path = tmp_path_factory.mktemp("turned") / "base.cu"
    path.write_text(TEXT.replace("iteration < 3", "iteration < 4"))
    made = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    return replace(made, outputs=(Output("out", "float32", 1e-5),))


def judge(workload: Workload, text: str) -> Evaluation:
    program = Program(text.replace("iteration < 3", "iteration < 4"), Path("candidate.cu"))
    return evaluate(program, workload, level=2, nvcc=False, topology=find_topology("h200-8"))


@pytest.mark.parametrize("how", CHEATS)
def test_results_that_come_back_by_value_are_of_earlier_inputs(
    workload: Workload, how: str
) -> None:
    result = judge(workload, CHEATS[how])
    assert not result.passed
    assert any("inputs change between iterations" in f.finding.message for f in result.findings), (
        result.findings
    )


@pytest.mark.parametrize("how", HONEST)
def test_who_computes_anew_goes_by_the_new_inputs(workload: Workload, how: str) -> None:
    result = judge(workload, HONEST[how])
    assert result.passed, result.findings
