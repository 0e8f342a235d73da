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


# A router's choices decide where rows go; the places can be made of them once, and kept.
ROUTED = (
    TEXT.replace(
        "int main(",
        """\
__global__ void place(const int* to, int* at, int n) {
  int i = threadIdx.x;
  if (i < n) at[to[i]] = i;
}
__global__ void route(const float* in, const int* at, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * in[i / kCount * kCount + at[i % kCount]];
}

int main(""",
        1,
    )
    .replace(
        "  cudaEvent_t start, stop;\n",
        """\
  std::vector<int> choice(kCount);
  for (int i = 0; i < kCount; i++) choice[i] = (i * 29 + seed % 61) % kCount;
  int *to, *at;
  cudaMalloc(&to, kCount * sizeof(int));
  cudaMalloc(&at, kCount * sizeof(int));
  cudaMemcpy(to, choice.data(), kCount * sizeof(int), cudaMemcpyHostToDevice);
  cudaEvent_t start, stop;
""",
    )
    .replace(
        KERNEL,
        "    place<<<1, kCount, 0, stream>>>(to, at, kCount);\n"
        "    route<<<(all + 31) / 32, 32, 0, stream>>>(gathered, at, out, all);\n",
    )
)
PLACE = "    place<<<1, kCount, 0, stream>>>(to, at, kCount);\n"
PLACED_ONCE = {
    "first": f"    if (iteration == 0)\n{PLACE}",
    "but_one": PLACE.replace("at, kCount)", "at, iteration == 0 ? kCount : 1)"),
    "empty": PLACE.replace("at, kCount)", "at, iteration == 0 ? kCount : 0)"),
}
PLACED_ANEW = {
    "as_it_is": PLACE,
    "of_a_copy": "    static int* copy = nullptr;\n"
    "    if (!copy) {\n      cudaMalloc(&copy, kCount * sizeof(int));\n"
    "      cudaMemcpyAsync(copy, to, kCount * sizeof(int), cudaMemcpyDeviceToDevice, stream);\n"
    f"    }}\n{PLACE.replace('(to,', '(copy,')}",
    "of_an_upload": "    cudaMemcpyAsync(to, choice.data(), kCount * sizeof(int),"
    f" cudaMemcpyHostToDevice, stream);\n{PLACE}",
}
# The same choices upload as what no reference's array is: nothing is asked then.
AS_BYTES = (
    ROUTED.replace("const int* to, int* at", "const unsigned char* to, int* at")
    .replace("std::vector<int> choice", "std::vector<unsigned char> choice")
    .replace("  int *to, *at;", "  unsigned char* to;\n  int* at;")
    .replace("&to, kCount * sizeof(int)", "&to, kCount")
    .replace("choice.data(), kCount * sizeof(int)", "choice.data(), kCount")
)


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    path = tmp_path_factory.mktemp("routed") / "base.cu"
    path.write_text(ROUTED.replace("iteration < 3", "iteration < 4"))
    made = Workload.from_program(path, ranks=2, args=("{seed}",), seeds=1)
    return replace(made, outputs=(Output("out", "float32", 1e-5),))


@pytest.mark.parametrize("how", PLACED_ONCE)
def test_what_was_made_of_integers_once_is_of_earlier_inputs(routed: Workload, how: str) -> None:
    result = judge(routed, ROUTED.replace(PLACE, PLACED_ONCE[how]))
    assert not result.passed
    assert any("inputs change between iterations" in f.finding.message for f in result.findings), (
        result.findings
    )


@pytest.mark.parametrize("how", PLACED_ANEW)
def test_what_is_made_of_integers_anew_goes_by_the_new_ones(routed: Workload, how: str) -> None:
    result = judge(routed, ROUTED.replace(PLACE, PLACED_ANEW[how]))
    assert result.passed, result.findings


def test_integers_in_another_form_are_not_asked_for(routed: Workload) -> None:
    result = judge(routed, AS_BYTES)
    assert result.passed, result.findings
