"""Code for graphs, without PyTorch: what is fused, what is split, what is refused."""

import importlib.resources
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.core.errors import BadInputError
from warploom.synthesis.codegen import BeyondRulesError, Generated, TuningParameters, generate
from warploom.synthesis.codegen.graph import graph_from
from warploom.synthesis.codegen.scope import linear
from warploom.synthesis.codegen.turns import in_turns
from warploom.synthesis.correctness.legality import candidate_findings
from warploom.synthesis.export.host_text import host_text
from warploom.synthesis.sizes import size_value


def _node(name: str, op: str, args: list[Any], shape: list[Any], dtype: str = "float32") -> Any:
    return {"name": name, "op": op, "args": args, "kwargs": {}, "shape": shape, "dtype": dtype,
            "line": 7}  # fmt: skip


def _of(name: str) -> dict[str, str]:
    return {"node": name}


def _trace(
    nodes: list[Any], outputs: list[str], shape: tuple[str, ...] = ("s7", "s9")
) -> dict[str, Any]:
    return {
        "inputs": [{"name": "x", "shape": list(shape), "dtype": "float32"}],
        "nodes": nodes,
        "outputs": outputs,
        "symbols": [
            {"name": s, "input": 0, "dim": at} for at, s in enumerate(shape) if not s.isdigit()
        ],
    }


def _generate(nodes: list[Any], outputs: list[str]) -> Generated:
    return generate(graph_from(_trace(nodes, outputs)))


def _softmax() -> list[Any]:
    row, one = ["s7", "s9"], ["s7", 1]
    return [
        _node("top", "amax", [_of("x"), [1], True], one),
        _node("off", "sub", [_of("x"), _of("top")], row),
        _node("power", "exp", [_of("off")], row),
        _node("total", "sum", [_of("power"), [1], True], one),
        _node("result", "div", [_of("power"), _of("total")], row),
    ]


def test_a_softmax_is_one_kernel() -> None:
    made = _generate(_softmax(), ["result"])
    assert made.forms == ("rows",)
    assert made.text.count("__global__") == 1
    assert not candidate_findings(made.text, "kernel.cu")
    assert "d0" in made.text
    assert "s7" not in made.text


def test_elements_that_are_alike_are_one_flat_kernel() -> None:
    nodes = [
        _node("a", "mul", [_of("x"), 2.0], ["s7", "s9"]),
        _node("b", "add", [_of("a"), _of("x")], ["s7", "s9"]),
    ]
    made = _generate(nodes, ["b"])
    assert made.forms == ("elements",)
    assert "in_x[i]" in made.text


def test_a_whole_sum_is_computed_once_before_what_needs_it() -> None:
    nodes = [
        _node("total", "sum", [_of("x"), []], []),
        _node("share", "div", [_of("x"), _of("total")], ["s7", "s9"]),
    ]
    assert _generate(nodes, ["share"]).forms == ("rows", "elements")


def test_neighbors_are_moved_as_one_behind_one_test() -> None:
    nodes = [_node("b", "mul", [_of("x"), 2.0], ["s7", "s9"])]
    text = _generate(nodes, ["b"]).text
    assert "group_at<float, 4>(in_x + first)" in text
    assert "store_group(out + first" in text
    fits = "(address_of(in_x) % 16 | address_of(out0) % 16) == 0"
    assert text.count(fits) == 1  # the host finds out
    assert "wide" not in text
    assert "d1 % 4" not in text  # no row has to begin at a multiple: it is one range of memory
    assert "d1 % 4" in _generate(_softmax(), ["result"]).text


def test_elements_of_small_vectors_are_moved_one_by_one() -> None:
    trace = _trace([_node("b", "mul", [_of("x"), 2.0], ["s7", "s9"])], ["b"])
    one = generate(graph_from(trace), TuningParameters(vector_bytes=4))
    assert "group_at" not in one.text


def test_what_lies_beside_what_is_not_loaded_as_one_is_stored_as_one() -> None:
    flipped = _node("f", "flip", [_of("x"), [1]], ["s7", "s9", 5])
    trace = graph_from(_trace([flipped], ["f"], ("s7", "s9", "5")))
    text = generate(trace).text
    loop = text.split("tile += gridDim.x) {")[1].split("const Index stride")[0]
    before, each = loop.split("for (int e = 0; e < 4; ++e) {")
    assert before.count(" / ") == 2  # two divisions for four elements
    assert " / " not in each
    assert each.index("if (++i2 == 5) {") < each.index("if (++i1 == d1) {") < each.index("++i0;")
    assert "store_group(out + first, made_f);" in each
    alone = generate(trace, TuningParameters(vector_bytes=4)).text
    assert "store_group" not in alone


def test_a_test_that_could_never_hold_is_not_made() -> None:
    head = _node("head", "slice", [_of("x"), 0, 1], ["(s7 - 1)"])
    rolled = _node("r", "cat", [[_of("head"), _of("x")], 0], ["(2*s7 - 1)"])
    text = generate(graph_from(_trace([head, rolled], ["r"], ("s7",)))).text
    assert "group_at<float" not in text  # neither d0 - 1 and d0, nor what they make
    assert "store_group(out" in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_is_written_without_text(dtype: str) -> None:
    nodes = [_node("n", "where", [_of("x"), {"float": "nan"}, 1.0], ["s7", "s9"], dtype)]
    text = _generate(nodes, ["n"]).text
    assert "NAN" in text
    assert not candidate_findings(text, "kernel.cu")


def test_shifts_by_operators_are_those_by_name() -> None:
    trace = _trace([_node("a", "__rshift__", [_of("x"), 4], ["s7", "s9"], "int32")], ["a"])
    trace["inputs"][0]["dtype"] = "int32"
    assert " >> 4)" in generate(graph_from(trace)).text


def test_only_what_a_pad_adds_is_tested() -> None:
    cut = _node("p", "constant_pad_nd", [_of("x"), [-1, 2, 0, 0], 7.0], ["s7", "(s9 + 1)"])
    text = _generate([cut], ["p"]).text
    assert ">= 0" not in text
    assert "< d1" in text and "i0 < " not in text
    only = _node("p", "constant_pad_nd", [_of("x"), [-1, 0], 7.0], ["s7", "(s9 - 1)"])
    kernel = _generate([only], ["p"]).text.split("__global__ void")[1].split("\n}\n")[0]
    assert "in_x[" in kernel and "?" not in kernel


def test_kernels_of_nothing_are_launched_too() -> None:
    nodes = [_node("b", "mul", [_of("x"), 2.0], ["s7", "s9"])]
    assert "> 0)" not in _generate(nodes, ["b"]).text  # some references take no size of zero


def test_what_is_loaded_comes_before_what_is_computed() -> None:
    nodes = [
        _node("q", "exp", [_of("x")], ["s7", "s9"]),
        _node("r", "div", [_of("x"), _of("q")], ["s7", "s9"]),
    ]
    text = _generate(nodes, ["r"]).text
    loads, rest = text.split("#pragma unroll\n    for (int turn = 0; turn < 2; ++turn) {")[1:]
    assert "group_at" in loads and "exp" not in loads
    assert "group_at" not in rest.split("store_group")[0]


def test_statements_that_need_what_is_loaded_come_later_unless_a_load_needs_them() -> None:
    head = [
        "const long long v0 = in_index[i];", "const long long v1 = v0 * 2;",
        "const float v2 = in_table[v1];", "const float v3 = v2 / 3.0f;", "const bool v4 = i < 7;",
    ]  # fmt: skip
    made = in_turns(2, ["const int i = turn;"], head, ["out[i] = v4 ? v3 : 0.0f;"], "i < n")
    assert made == [
        "float v2[2];",
        "#pragma unroll", "for (int turn = 0; turn < 2; ++turn) {", "  const int i = turn;",
        "  if (i < n) {", "    const long long v0 = in_index[i];",
        "    const long long v1 = v0 * 2;", "    v2[turn] = in_table[v1];", "  }", "}",
        "#pragma unroll", "for (int turn = 0; turn < 2; ++turn) {", "  const int i = turn;",
        "  if (i < n) {", "    const float v3 = v2[turn] / 3.0f;", "    const bool v4 = i < 7;",
        "    out[i] = v4 ? v3 : 0.0f;", "  }", "}",
    ]  # fmt: skip


def test_rows_that_are_read_again_are_held() -> None:
    text = _generate(_softmax(), ["result"]).text
    assert "Group<float, 4> held0[8];" in text
    assert text.count("= held0[turn];") == 3  # the greatest, the sum, the result
    tuned = TuningParameters(held_bytes=0)
    assert "held0" not in generate(graph_from(_trace(_softmax(), ["result"])), tuned).text


def test_rows_that_are_read_once_are_under_way_at_once() -> None:
    nodes = [_node("t", "sum", [_of("x"), [1]], ["s7"])]
    text = _generate(nodes, ["t"]).text
    assert "Group<float, 4> held0[4];" in text
    assert "held0[turn] = group_once<float, 4>" in text
    assert "group_at<float, 4>(in_x" not in text  # nor are they kept in a cache beyond that
    tuned = generate(graph_from(_trace(nodes, ["t"])), TuningParameters(once_bytes=0)).text
    assert "held0" not in tuned
    assert "group_once<float, 4>(in_x" in tuned
    places = _generate([_node("p", "argmax", [_of("x"), 1], ["s7"], "int64")], ["p"]).text
    assert "held0" not in places


def test_rows_of_single_bytes_are_read_as_they_are_used() -> None:
    trace = _trace([_node("t", "any", [_of("x"), 1], ["s7"], "bool")], ["t"])
    trace["inputs"][0]["dtype"] = "bool"
    assert "held0" not in generate(graph_from(trace)).text
    both = [
        _node("no", "logical_not", [_of("x")], ["s7", "s9"], "bool"),
        _node("some", "any", [_of("no"), 1], ["s7"], "bool"),
        _node("t", "any", [_of("x"), 1], ["s7"], "bool"),
    ]
    twice = _trace(both, ["t", "some"])
    twice["inputs"][0]["dtype"] = "bool"
    text = generate(graph_from(twice)).text
    assert "held0" not in text
    assert "group_once" not in text, "the second load of a loop finds it in the cache"


def test_kernels_have_indices_of_32_bits_where_these_do() -> None:
    text = _generate(_softmax(), ["result"]).text
    assert "template <typename Index>" in text
    assert "min(elements, 1073741824LL) == elements" in text
    single = graph_from(_trace([_node("n", "neg", [_of("x")], [])], ["n"], ()))
    assert "elements = 1;" in generate(single).text
    product = _generate([_node("p", "mm", [_of("x"), _of("x")], ["s7", "s9"])], ["p"]).text
    assert "Index" not in product


def test_a_row_of_an_odd_fixed_length_has_no_groups() -> None:
    nodes = [_node("t", "sum", [_of("x"), [1]], ["s7"])]
    trace = _trace(nodes, ["t"], ("s7", "33"))
    assert "group_at" not in generate(graph_from(trace)).text
    assert "group_at" in generate(graph_from(_trace(nodes, ["t"], ("s7", "32")))).text


def test_outputs_that_share_what_they_read_are_one_kernel() -> None:
    row, one = ["s7", "s9"], ["s7", 1]
    nodes = [
        _node("top", "amax", [_of("x"), [1], True], one),
        _node("share", "div", [_of("x"), _of("top")], row),
    ]
    made = _generate(nodes, ["share", "top"])
    assert made.forms == ("rows",)
    assert "out_top[" in made.text


def test_columns_are_reduced_by_neighboring_lanes_and_all_by_many_blocks() -> None:
    down = _generate([_node("t", "sum", [_of("x"), [0]], ["s9"])], ["t"])
    assert down.forms == ("columns",)
    assert "group_once<float, 4>(in_x + (k_0 * d1 + start))" in down.text  # and by nobody else
    assert down.text.count("__global__") == 2
    whole = _generate([_node("t", "sum", [_of("x"), []], [])], ["t"])
    assert whole.text.count("__global__") == 2
    assert "cudaMallocAsync" in whole.text


def test_only_what_nobody_reads_again_is_streamed() -> None:
    alone = [_node("t", "sum", [_of("x"), [1]], ["s9"])]
    assert "group_once<float, 4>(in_x" in _generate(alone, ["t"]).text
    also = [*alone, _node("twice", "add", [_of("x"), _of("x")], ["s9", "s7"])]
    assert "group_once<float" not in _generate(also, ["t", "twice"]).text
    assert "group_once<float" not in _generate(_softmax(), ["result"]).text


def test_reductions_that_do_not_need_each_other_share_a_loop() -> None:
    one = ["s7"]
    nodes = [
        _node("top", "amax", [_of("x"), [1]], one),
        _node("least", "amin", [_of("x"), [1]], one),
        _node("range", "sub", [_of("top"), _of("least")], one),
    ]
    assert _generate(nodes, ["range"]).text.count("k0 < whole0") == 1
    assert "k1 < whole1" not in _generate(nodes, ["range"]).text
    assert "k1 < whole1" in _generate(_softmax(), ["result"]).text


def test_what_lies_in_memory_for_others_is_stored_by_one_kernel() -> None:
    nodes = [
        _node("top", "amax", [_of("x"), [1], True], ["s7", 1]),
        _node("least", "amin", [_of("x"), [1], True], ["s7", 1]),
        _node("both", "cat", [[_of("top"), _of("least")], 1], ["s7", 2]),
    ]
    assert _generate(nodes, ["both"]).forms == ("rows", "elements")


def test_halves_that_are_joined_are_moved_as_groups() -> None:
    def swapped(at: int) -> str:
        nodes = [
            _node("tail", "slice", [_of("x"), 1, at, 32], ["s7", 32 - at]),
            _node("head", "slice", [_of("x"), 1, 0, at], ["s7", at]),
            _node("both", "cat", [[_of("tail"), _of("head")], 1], ["s7", 32]),
        ]
        return generate(graph_from(_trace(nodes, ["both"], ("s7", "32")))).text

    assert "start < 16;" in swapped(16)
    assert "? group_at<float, 4>(in_x" in swapped(16)
    assert "? group_at" not in swapped(15)


def test_a_scan_takes_in_what_is_computed_from_it() -> None:
    nodes = [
        _node("sums", "cumsum", [_of("x"), 1], ["s7", "s9"]),
        _node("before", "sub", [_of("sums"), _of("x")], ["s7", "s9"]),
    ]
    made = _generate(nodes, ["before"])
    assert made.forms == ("scan",)
    assert "store_group(out" in made.text
    down = _generate([_node("sums", "cumsum", [_of("x"), 0], ["s7", "s9"])], ["sums"])
    assert down.text.count("__global__") == 2


def test_a_transpose_goes_through_shared_memory() -> None:
    made = _generate([_node("t", "transpose", [_of("x"), 0, 1], ["s9", "s7"])], ["t"])
    assert "__shared__ float tile0[32][32 + 1];" in made.text
    assert not candidate_findings(made.text, "kernel.cu")


def test_an_output_that_is_another_is_copied() -> None:
    made = _generate([_node("a", "neg", [_of("x")], ["s7", "s9"])], ["a", "a", "x"])
    assert made.forms == ("elements",) * 3


def test_what_is_copied_into_a_tensor_takes_its_place() -> None:
    size = ["s7", "s9"]
    nodes = [
        _node("place", "full", [size, 5], size),
        _node("twice", "mul", [_of("x"), 2], size),
        _node("filled", "copy", [_of("place"), _of("twice")], size),
    ]
    copied = _generate(nodes, ["filled"]).text
    assert (
        copied.replace("_copy", "_mul").replace("_filled", "_twice")
        == _generate(nodes[1:2], ["twice"]).text
    )


def test_what_has_no_code_is_named_with_its_line() -> None:
    with pytest.raises(BeyondRulesError, match="the operation polygamma") as caught:
        _generate([_node("a", "polygamma", [_of("x")], ["s7", "s9"])], ["a"])
    assert caught.value.line == 7
    with pytest.raises(BeyondRulesError, match="complex64"):
        _generate([_node("a", "neg", [_of("x")], ["s7", "s9"], "complex64")], ["a"])


@pytest.mark.parametrize(
    ("args", "size"), [([_of("x"), {"sym": "zuf0"}], "s9"), ([_of("x"), 2.0], "u0")]
)
def test_a_number_that_only_a_tensor_holds_is_refused_with_its_line(
    args: list[Any], size: str
) -> None:
    with pytest.raises(BeyondRulesError, match=r"mul with a number .* item\(\)") as caught:
        _generate([_node("m", "mul", args, ["s7", size])], ["m"])
    assert caught.value.line == 7


def test_launches_become_calls_on_the_host() -> None:
    text = host_text(_generate(_softmax(), ["result"]).text)
    assert text is not None
    assert "<<<" not in text
    threads = "threads_for(d1, 8, (d1 + 31) / 32 + 31, 512"
    for width in ("int", "long long"):
        call = (
            f"host_cuda::launch(blocks_for(d0, 1), {threads}, 0, d0), [&] {{ kernel_0_div<{width}>"
        )
        assert call in text
    assert host_text("k<<<1, 2>>>; never closed") is None


def test_the_header_for_the_cpu_has_cudas_min_and_max(tmp_path: Path) -> None:
    """As CUDA's: of mixed types too, and a number rather than NaN."""
    header = importlib.resources.files("warploom.synthesis.export") / "host_cuda.h"
    (tmp_path / "host_cuda.h").write_text(header.read_text())
    (tmp_path / "a.cpp").write_text(
        '#include "host_cuda.h"\n'
        "static_assert(max(1LL, min(70000LL, 65535LL)) == 65535LL);\n"
        "static_assert(max(-1, 1u) == 4294967295u && min(2L, 3LL) == 2);\n"
        "int main() { return min(NAN, 1.0f) == 1.0f && max(2.0, 3.0f) == 3.0 ? 0 : 1; }\n"
    )
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "a.cpp", "-o", "a.out"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./a.out"], cwd=tmp_path, check=True)


def test_a_streamed_sum_runs_on_the_cpu(tmp_path: Path) -> None:
    """As the package's own tests run it, at the sizes 3 x 64."""
    header = importlib.resources.files("warploom.synthesis.export") / "host_cuda.h"
    (tmp_path / "host_cuda.h").write_text(header.read_text())
    kernel = host_text(_generate([_node("t", "sum", [_of("x"), [1]], ["s7"])], ["t"]).text)
    assert kernel is not None
    assert "group_once" in kernel
    (tmp_path / "a.cpp").write_text(
        f'#include "host_cuda.h"\n{kernel}'
        "alignas(16) float x[3 * 64];\nfloat sums[3];\n"
        "int main() {\n"
        "  for (int at = 0; at < 3 * 64; ++at) x[at] = static_cast<float>(at / 64 + 1);\n"
        "  void* const inputs[] = {x};\n  void* const outputs[] = {sums};\n"
        "  const long long sizes[] = {3, 64};\n"
        "  if (warploom_forward(inputs, outputs, sizes, nullptr) != 0) return 1;\n"
        "  return sums[0] == 64.0f && sums[1] == 128.0f && sums[2] == 192.0f ? 0 : 2;\n"
        "}\n"
    )
    command = ["g++", "-std=c++17", "-O2", "-Wall", "a.cpp", "-o", "a.out"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./a.out"], cwd=tmp_path, check=True)


def test_parameters_have_bounds() -> None:
    with pytest.raises(BadInputError, match="multiple of 32"):
        TuningParameters(threads=100)
    with pytest.raises(BadInputError, match="divide the tile"):
        TuningParameters(tile_m=33)


def test_sizes_are_arithmetic() -> None:
    values = {"d0": 6, "d1": 4}
    assert size_value("(d0*(d1//2))", values) == 12
    assert size_value("max((d0 + -7), 0)", values) == 0
    with pytest.raises(BadInputError, match="arithmetic"):
        size_value("__import__('os')", values)
    with pytest.raises(BadInputError, match="divides by zero"):
        size_value("(d0//(d1//8))", values)


@given(sizes=st.tuples(*[st.integers(2, 9)] * 3), data=st.data())
def test_a_place_that_divisions_part_is_one_again(
    sizes: tuple[int, int, int], data: st.DataObject
) -> None:
    a, b, c = sizes
    k = data.draw(st.integers(0, b * c - 1))
    i = data.draw(st.integers(0, a - 1))
    text = linear(("i", "(k / (d2))", "(k % (d2))"), ("d0", "d1", "d2"))
    assert "/" not in text
    assert "%" not in text
    names = {"i": i, "k": k, "d1": b, "d2": c}
    assert eval(text, names) == (i * b + k // c) * c + k % c
    other = linear(("i", "(k / (d1))", "(k % (d2))"), ("d0", "d1", "d2"))
    assert "/" in other  # another divisor: they are no parts of one


def test_rows_of_a_view_are_moved_as_groups() -> None:
    nodes = [
        {**_node("v", "view", [_of("x"), ["d0", 4, 8, 6]], ["s7", 4, "s9//4", 6]),
         "groups": [[[0], [0]], [[1], [1, 2]], [[2], [3]]]},
        _node("t", "sum", [_of("v"), [2, 3]], ["s7", 4]),
    ]  # fmt: skip
    trace = _trace(nodes, ["t"], ("s7", "s9", "6"))
    text = generate(graph_from(trace)).text
    assert "group_at<float, 4>(in_x" in text or "group_once<float, 4>(in_x" in text
