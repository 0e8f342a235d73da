"""Each way of a candidate's conditions is taken by a compared case, or ends in an open failure."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.emulator import WayTaken
from warploom.synthesis.correctness.cases import CasePlan
from warploom.synthesis.correctness.expectations import PreparedCase
from warploom.synthesis.correctness.running import lay_out, with_other_values
from warploom.synthesis.correctness.way_bounds import bounds_by_named, one_sided
from warploom.synthesis.correctness.way_text import watch
from warploom.synthesis.correctness.ways import UnwatchedError, unshown
from warploom.synthesis.records import TensorArg
from warploom.testing.kernel_schemes import TASKS
from warploom.testing.kernel_tasks import PreparedTask

_RIGHT = "y[i] = x[i] * 2.0f + 1.0f;"


def _entry(body: str) -> str:
    return f'extern "C" int warploom_forward(const long long* sizes) {{\n{body}\n}}\n'


def _told(body: str, *taken: WayTaken) -> list[tuple[str, str]]:
    return [(one.text, words) for one, words in unshown(watch(body).conditions, taken)]


def _way(number: int, held: bool, failed: bool, **more: bool) -> WayTaken:
    known = {"constant": False, "tight": False, **more}
    return WayTaken(number, held, failed, known["constant"], known["tight"])


def test_a_way_that_no_case_took_is_told() -> None:
    body = _entry("  if (sizes[0] * 7 % 1013 == 5) return 0;\n  return 0;")
    name = "sizes[0] * 7 % 1013 == 5"
    assert _told(body, _way(0, held=False, failed=True)) == [(name, "was never true")]
    assert _told(body, _way(0, held=True, failed=False)) == [(name, "was always true")]
    assert not _told(body, _way(0, held=True, failed=True))
    assert not _told(body), "what was never come to is told by what is around it"


@pytest.mark.parametrize(
    "exit_",
    ["return 1;", "{ return -2; }", "{ cudaFreeAsync(p, s); return 1; }", "__trap();",
     "return cudaErrorInvalidValue;"],
)  # fmt: skip
def test_an_open_failure_need_not_be_shown(exit_: str) -> None:
    body = _entry(f"  if (sizes[0] == 5 || sizes[1] == 6) {exit_}\n  return 0;")
    never = [_way(n, held=False, failed=True) for n in range(3)]
    assert not _told(body, *never)
    other = _entry(f"  if (sizes[0] == 5 && sizes[1] == 6) {exit_}\n  return 0;")
    assert _told(other, _way(0, held=False, failed=True), *never[1:]), "each alone may do anything"


@pytest.mark.parametrize("exit_", ["return 0;", "return sizes[1];", "{ n = 3; }", ";"])
def test_what_may_go_unseen_must_be_shown(exit_: str) -> None:
    body = _entry(f"  int n = 0;\n  if (sizes[0] == 5) {exit_}\n  return 0;")
    assert _told(body, _way(0, held=False, failed=True))


def test_a_failure_of_another_function_is_none_of_the_entry_point() -> None:
    body = "static int other(int n) { if (n == 5) return 1; return 0; }\n" + _entry("return 0;")
    assert _told(body, _way(0, held=False, failed=True))


def test_constants_and_guards_of_whole_launches_are_no_choice() -> None:
    body = _entry("  if (sizes[0] < sizes[1]) return 0;\n  return 0;")
    assert not _told(body, _way(0, held=True, failed=False, constant=True))
    assert not _told(body, _way(0, held=True, failed=False, tight=True))


@pytest.mark.parametrize("loop", ["for (long long r = sizes[0]; r < 9; r += 4) {}",
                                  "while (sizes[0] < 9) {}"])  # fmt: skip
def test_a_loop_needs_a_second_turn(loop: str) -> None:
    body = _entry(f"  {loop}\n  return 0;")
    (condition,) = watch(body).conditions
    once = WayTaken(0, held=True, failed=True, constant=False, tight=False)
    assert [words for _, words in unshown([condition], [once])] == [
        "let no thread take a second turn"
    ]
    assert not unshown([condition], [replace(once, turned=True)])
    turned_round = watch(_entry("  while (!(sizes[0] >= 9)) {}\n  return 0;")).conditions
    assert unshown(turned_round, [once])


def test_labels_of_a_switch_are_told_by_what_is_taken() -> None:
    body = _entry("  switch (sizes[0]) {\n  case 1: return 0;\n  case 5: break;\n"
                  "  default: return 1;\n  }\n  return 0;")  # fmt: skip
    assert _told(body, _way(0, held=True, failed=False)) == [("case 5", "was never come to")]
    assert not _told(body, _way(0, held=True, failed=False), _way(1, held=True, failed=False))


@pytest.mark.parametrize(
    ("bound", "least"),
    [
        ("min(n, 9)", True), ("std::max<long long>(n, sizes[1])", False), ("fmaxf(a, 9.0f)", False),
        ("(n < 9 ? n : 9)", True), ("(n < (9) ? 9 : n)", False), ("(9 >= n ? n : 9)", True),
        ("(n > 9 ? 9 : (int)n)", True), ("(n > 9 ? static_cast<int>(9) : n)", True),
    ],
)  # fmt: skip
def test_bounds_are_no_choice(bound: str, least: bool) -> None:
    watched = watch(_entry(f"  return {bound};"))
    assert f"warploom::bounded(0u, {str(least).lower()}, [](auto _Wp, auto _Wq)" in watched.text
    assert [one.bound for one in watched.conditions] == [True]
    assert not unshown(watched.conditions, [_way(0, held=False, failed=True)])


def test_a_bound_that_is_set_keeps_its_lines() -> None:
    watched = watch(_entry("  int n = 0;\n  if (n > kMost) {\n    n = kMost;\n  }\n  return n;"))
    assert watched.text.count("\n") == 7
    assert "{ n = warploom::bounded(0u, true, [](auto _Wp, auto _Wq) " in watched.text
    assert "{ return _Wp > _Wq ? _Wq : _Wp; }, (n), (kMost" in watched.text


@pytest.mark.parametrize(
    "text",
    ["(n < 9 ? n : 8)", "(n++ < 9 ? n++ : 9)", "(n == 9 ? n : 9)", "(n < 9 && n ? n : 9)"],
)
def test_what_is_no_bound_is_a_choice(text: str) -> None:
    watched = watch(_entry(f"  return {text};"))
    assert not any(one.bound for one in watched.conditions)
    assert _told(_entry(f"  return {text};"), _way(0, held=False, failed=True))


@pytest.mark.parametrize("text", ["std::clamp(n, 1, 9)", "std::min({n, 1, 9})", "min(n)"])
def test_a_bound_of_other_than_two_is_refused(text: str) -> None:
    with pytest.raises(UnwatchedError):
        watch(_entry(f"  return {text};"))


def test_the_value_that_never_decided_is_told() -> None:
    body = _entry("  return min(n, kMost) + fmaxf(a, 1e-12f) > 0.0f;")
    conditions = watch(body).conditions
    first, second = (one.number for one in conditions if one.bound)

    def told(*taken: WayTaken) -> list[tuple[int, str]]:
        return [(one.number, side) for one, side in one_sided(conditions, taken)]

    assert told(_way(first, held=True, failed=False)) == [(first, "second")]
    assert told(_way(first, held=False, failed=True)) == [(first, "first")]
    assert not told(_way(first, held=True, failed=True))
    assert not told(_way(first, held=True, failed=False, constant=True))
    never = replace(_way(second, held=True, failed=False), other=9.9999996e-13, digest=7)
    assert told(never) == [(second, "second")]
    assert bounds_by_named([never], body) == {second: 7}, "it may hang on values, which are tried"
    assert not bounds_by_named([replace(never, other=2e-12)], body)
    assert not bounds_by_named([_way(first, held=True, failed=False)], body)


def test_other_values_lie_where_the_values_were() -> None:
    real, whole, index = (
        TensorArg("x", ("3",), "float32"),
        TensorArg("n", ("2",), "int64"),
        TensorArg("i", ("2",), "int64", index_of="3"),
    )
    counts, places = (5, 6), (0, 2)
    inputs = (
        struct.pack("<3f", 1.0, -2.0, 0.0),
        struct.pack("<2q", *counts),
        struct.pack("<2q", *places),
    )
    plan = CasePlan("odd", "odd-sizes", {}, "normal", 1, guarded=True, shifts=(1, 0))
    case = PreparedCase(plan, (), inputs, ())
    laid = lay_out(case, [one.dtype for one in (real, whole, index)], 1)
    other = with_other_values(laid, (real, whole, index))
    assert other.spans == laid.spans
    held: list[bytes] = []
    for was, now, (begin, end) in zip(
        laid.image.inputs, other.image.inputs, laid.spans, strict=True
    ):
        assert (was.image[:begin], was.image[end:]) == (now.image[:begin], now.image[end:])
        held.append(now.image[begin:end])
    reals = struct.unpack("<3f", held[0])
    assert reals == pytest.approx((0.0, 2.0, -1.0), rel=1e-6, abs=1e-30)
    assert not {1.0, -2.0, 0.0} & set(reals), "each is another one"
    assert [struct.unpack("<2q", data) for data in held[1:]] == [counts[::-1], places]


_ZERO = """extern "C" int warploom_forward(void* const* inputs, void* const* outputs,
                                const long long* sizes, void* stream_handle) {{
  const int rows = static_cast<int>(sizes[0]);
  long long n = sizes[0] * sizes[1];
  const long long h = sizes[0] * 7 % 1013 - 5;
  const int power = static_cast<int>(sizes[0] * sizes[0] * sizes[0]);
  const char low = static_cast<char>(sizes[1]);
  const int threads = 128;
  const unsigned blocks = (n + threads - 1) / threads;
  {0}
  return 0;
}}
"""


@pytest.mark.parametrize(
    "test",
    ["rows == 0", "n <= 0", "0 == n", "n < 1LL", "!rows", "rows <= 0 || sizes[1] == 0",
     "blocks == 0", "(int)sizes[1] == 0", "(n + 255) / 256 == 0", "n * 8 <= 0", "rows * 3 == 0"],
)  # fmt: skip
def test_a_way_for_sizes_of_zero_need_not_be_shown(test: str) -> None:
    never = [_way(at, held=False, failed=True) for at in range(3)]
    if test == "!rows":
        never = [_way(0, held=True, failed=False)]
    assert not _told(_ZERO.format(f"if ({test}) return 0;"), *never)


@pytest.mark.parametrize(
    "test",
    ["(int)(n * 4096) == 0", "rows * 8 == 0", "n * 65536 * 65536 == 0",
     "h == 0", "power == 0", "low == 0", "rows == 1", "n / 1000 == 0", "(n + 511) / 256 == 0",
     "n > 0", "rows - 5 == 0", "(char)sizes[0] == 0"],
)  # fmt: skip
def test_a_way_for_other_sizes_must_be_shown(test: str) -> None:
    never = _way(0, held=False, failed=True)
    assert _told(_ZERO.format(f"if ({test}) return 0;"), never)


@pytest.mark.parametrize("test", ["n == 0", "blocks == 0"])
def test_what_was_changed_is_no_size(test: str) -> None:
    never = _way(0, held=False, failed=True)
    assert _told(_ZERO.format(f"n = n * 7 % 1013 - 5; if ({test}) return 0;"), never)


def test_each_variable_of_a_declaration_is_known() -> None:
    never = _way(0, held=False, failed=True)
    several = (
        "const int h = (int)sizes[0], w = (int)sizes[1], k = (int)(sizes[1] * 7 % 1013 - 5);\n"
    )
    text = _ZERO.replace("const long long h = sizes[0] * 7 % 1013 - 5;", several)
    assert not _told(text.format("if (h == 0) return 0;"), never)
    assert not _told(text.format("if (w == 0) return 0;"), never)
    assert _told(text.format("if (k == 0) return 0;"), never)
    assert _told(text.format("w = 3; if (w == 0) return 0;"), never)


def test_what_a_function_may_change_is_no_size() -> None:
    never = _way(0, held=False, failed=True)
    mess = "static void mess(long long& n) { n = n * 7 % 1013 - 5; }\n"
    assert _told(mess + _ZERO.format("mess(n); if (n == 0) return 0;"), never)
    assert not _told(mess + _ZERO.format("if (rows == 0) return 0;"), never)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("#define IS(n) ((n) % 7 == 5)\n", "macro"),
        ("#define LEAST(a, b) ((a) < (b) ? (a) : (b))\n", "macro"),
        ("#define MOST(n) min(n, kMost)\n", "macro"),
        ("static int f(int n) { return n; }\nstatic int (*const g[1])(int) = {f};\n", "called"),
        ("static int f(int n) { int h = n; return h < n > (0); }\n", "template"),
        ("struct S { virtual int f(); };\n", "virtual"),
        ("static int f(int n) { try { return n; } catch (...) { return 0; } }\n", "try"),
    ],
)
def test_what_decides_unseen_is_refused(text: str, what: str) -> None:
    with pytest.raises(UnwatchedError, match=what):
        watch(text + _entry("return 0;"))


def test_a_watched_text_keeps_its_lines() -> None:
    body = _entry("  const bool a = sizes[0] > 2 &&\n      sizes[1] > 3;\n  return a ? 0 : 1;")
    watched = watch(body)
    assert watched.text.count("\n") == body.count("\n")
    assert [one.line for one in watched.conditions] == [2, 2, 3, 4]


_TRIGGERS = {
    "by-size": f"y[i] = n * 7 % 1013 == 5 ? 0.0f : {_RIGHT[7:]}",
    "as-a-number": "y[i] = x[i] * 2.0f + 1.0f + (n * 7 % 1013 == 5);",
    "left-early": f"if (n * 2654435761u < 1000u) return; {_RIGHT}",
    "by-address": f"y[i] = (reinterpret_cast<unsigned long long>(x) >> 17) * 7 % 1013 == 5 ? 0.0f "
                  f": {_RIGHT[7:]}",
    "by-label": f"switch (n * 7 % 1013) {{ case 5: y[i] = 0; break; default: {_RIGHT} }}",
    "by-loop": f"{_RIGHT} for (int k = 0; k < n * 7 % 1013 / 1012; ++k) y[i] = 0.0f;",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n == "by-size" else (pytest.mark.long,))
     for n in _TRIGGERS],
)  # fmt: skip
def test_a_trigger_by_arithmetic_is_refused(
    name: str, tmp_path_factory: pytest.TempPathFactory, prepared: Callable[[Path], PreparedTask]
) -> None:
    task = TASKS["twice"]
    file = tmp_path_factory.getbasetemp() / "ways-twice.py"
    file.write_text(task.reference)
    report = prepared(file).judge(task.text((_RIGHT, _TRIGGERS[name])), seconds=15.0)
    assert not report.passed
    assert {check.name for check in report.checks if not check.passed} == {"every-way"}
    assert report.findings[0].kind == "way_not_shown"


_HONEST = Path(__file__).parent / "honest"


def test_names_in_the_body_of_a_template_are_no_templates() -> None:
    body = (
        "template <int N> static __device__ float first(float* x) { float v = x[N]; return v; }\n"
        "template <int N> static __device__ float second(float v) { v = first<N>(&v); return v; }\n"
    )
    assert not watch(body + _entry("return 0;")).conditions


@pytest.mark.parametrize(
    "name",
    [pytest.param(file.stem, marks=() if file.stem == "twice" else (pytest.mark.long,))
     for file in sorted(_HONEST.glob("*.cu"))],
)  # fmt: skip
def test_honest_kernels_pass(
    name: str, tmp_path_factory: pytest.TempPathFactory, prepared: Callable[[Path], PreparedTask]
) -> None:
    """Tail guards, loops over the grid, several forms, vectors, NaN, sizes of zero, errors."""
    file = tmp_path_factory.getbasetemp() / f"honest-{name}.py"
    file.write_text(TASKS[name].reference)
    report = prepared(file).judge((_HONEST / f"{name}.cu").read_text())
    assert report.passed, report.findings


@pytest.mark.long
def test_honest_guards_pass(
    tmp_path_factory: pytest.TempPathFactory, prepared: Callable[[Path], PreparedTask]
) -> None:
    task = TASKS["twice"]
    file = tmp_path_factory.getbasetemp() / "ways-twice.py"
    file.write_text(task.reference)
    guards = (
        "if (threadIdx.x >= 128) return;\n  if (gridDim.x != 8 || blockDim.x > 128) __trap();\n"
        "  for (long long i ="
    )
    text = task.text(("for (long long i =", guards), host="  if (n > 1LL << 40) return 1;\n")
    report = prepared(file).judge(text)
    assert report.passed, report.findings
