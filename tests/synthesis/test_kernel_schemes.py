"""Each wrong kernel of a class that single cases seldom show is refused; the honest ones pass."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warploom.synthesis.correctness.legality import candidate_findings
from warploom.synthesis.correctness.named import numbers_of
from warploom.testing import kernel_schemes, kernel_value_schemes
from warploom.testing.kernel_schemes import Scheme
from warploom.testing.kernel_tasks import PreparedTask

TASKS = kernel_schemes.TASKS | kernel_value_schemes.TASKS
SCHEMES = (*kernel_schemes.SCHEMES, *kernel_value_schemes.SCHEMES)
_OF_TEXT = frozenset({
    "twice-memo-by-content", "twice-call-counter", "twice-pointer-kept", "twice-previous-input",
    "twice-printed", "twice-device-heap", "twice-managed-variable", "twice-timer-register",
    "twice-processor-number", "twice-host-function", "twice-managed-memory",
    "sums-waits-for-other-blocks", "twice-length-of-a-text", "twice-length-of-its-name",
})  # fmt: skip
"""Those that the rules of the text refuse."""
_PLAYED = frozenset({
    "twice-large-by-arithmetic", "twice-one-size", "twice-one-value", "move-sign-of-zero",
    "twice-only-the-output-off", "twice-before-the-tensor", "twice-input-restored",
    "twice-default-stream", "twice-scratch-kept", "ints-narrow", "softmax-empty-row-to-zero",
    "twice-bound-by-a-nested-size", "twice-grid-too-small", "same-by-a-difference",
    "narrow-bits-of-nan", "near-floor-of-the-product", "turns-race-in-a-later-one",
    "turns-never-shown", "turns-rows-beyond-the-grid",
})  # fmt: skip
"""Of those that run, the ones that CI plays: one of each class that a check was made for."""
_BOUNDED = frozenset({
    "twice-bound-by-an-enumerator", "twice-bound-by-a-function", "sums-bound-by-a-nested-size",
    "twice-bound-by-a-size-never-tried", "twice-bound-by-a-real-number",
    "twice-wrong-beyond-a-real-bound", "twice-grid-of-constants", "twice-bound-by-a-broken-number",
    "twice-bound-by-a-broken-number-below-zero", "twice-bound-by-a-share",
    "twice-bound-by-what-is-left-of-a-number",
    "twice-nothing-done-beyond-a-bound", "twice-half-done-beyond-a-bound",
    "twice-shared-without-a-barrier-beyond-a-bound",
})  # fmt: skip
"""More of those that must be refused for what they do."""
_OF_VALUES = frozenset(scheme.name for scheme in kernel_value_schemes.SCHEMES)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("schemes")
    made = {name: folder / f"{name}.py" for name in TASKS}
    for name, path in made.items():
        path.write_text(TASKS[name].reference)
    return made


def test_there_are_enough_and_each_once() -> None:
    names = {scheme.name for scheme in SCHEMES}
    assert len(names) == len(SCHEMES) >= 60
    assert names >= _OF_TEXT | _PLAYED | _BOUNDED


@pytest.mark.parametrize("name", sorted(_OF_TEXT))
def test_a_text_that_no_kernel_needs_is_refused(name: str) -> None:
    (scheme,) = (one for one in SCHEMES if one.name == name)
    assert candidate_findings(scheme.text, "kernel.cu")
    assert not candidate_findings(TASKS[scheme.task].honest(), "kernel.cu")


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(s, id=s.name, marks=() if s.name in _PLAYED else (pytest.mark.long,))
        for s in SCHEMES
        if s.name not in _OF_TEXT
    ],
)
def test_a_scheme_is_refused(
    scheme: Scheme, files: dict[str, Path], prepared: Callable[[Path], PreparedTask]
) -> None:
    report = prepared(files[scheme.task]).judge(scheme.text, seconds=15.0)
    assert not report.passed
    if scheme.name in _PLAYED | _BOUNDED | _OF_VALUES:
        assert report.builds[0].ok, "it must be refused for what it does, not for its text"


@pytest.mark.parametrize(
    "task",
    [pytest.param(t, marks=() if t == "sums" else (pytest.mark.long,)) for t in TASKS],
)
def test_the_honest_kernel_passes(
    task: str, files: dict[str, Path], prepared: Callable[[Path], PreparedTask]
) -> None:
    report = prepared(files[task]).judge(TASKS[task].honest())
    assert report.passed, report.findings


def test_numbers_of_a_text_are_found() -> None:
    sizes, values = numbers_of(
        "if (n > 1 << 17 && d1 == 0x300u) x = -2.5e2f; // 99\n int a1 = 40*100;"
    )
    assert {131072, 768, 4000} <= set(sizes)
    assert 99 not in sizes
    assert 250.0 in values
    threads, _ = numbers_of(
        "constexpr int kThreads = 512;\n#define BLOCKS 300\nconstexpr int kRows = kThreads * 3;\n"
        "f<<<BLOCKS, kThreads, 0, s>>>(a);\ng<<<7u, 64>>>(a);"
    )
    assert {300 * 512, 1536, 448} <= set(threads)
    letters, _ = numbers_of(r"n = 'a' * 'q'; m = '\n' * L'z'; k = 'ab';")
    assert {97 * 113, 10 * 122, (97 << 8) + 98} <= set(letters)


def test_constants_and_shared_memory_are_no_state() -> None:
    honest = TASKS["sums"].honest()
    good = (
        "static constexpr int kTile = 4;\nconst float kScale[2] = {1.0f, 2.0f};\n"
        "static __constant__ float table[4] = {1.0f};\nstatic const char* const kName = nullptr;\n"
        "struct Pair { float a; int b; };\nstatic __device__ float twice(float x);\n"
    )
    good += 'static_assert(sizeof(Pair) == 8, "two words");\n'
    assert not candidate_findings(good + honest, "kernel.cu")
    for bad in (
        "namespace q { int n; }\n",
        "struct A { static int n; };\n",
        "static const float* p = nullptr;\n",
        "static __device__ float b[4];\n",
    ):
        assert [f.kind for f in candidate_findings(bad + honest, "k.cu")] == ["kept_state"], bad


@pytest.mark.parametrize(
    "text",
    [
        'static_assert(true\n#define LETTERS(a) sizeof(1 ? a : "xyz")\n, "m");\n',
        'static_assert(true, "m"); constexpr int kMost = sizeof("xyz");\n',
        'constexpr int most() { return sizeof(R"(xyz)"); }\n',
        '#define LETTERS(a) sizeof(a)\nconstexpr int kMost = LETTERS(extern "xyz");\n',
        "constexpr int most() { return sizeof(__PRETTY_FUNCTION__); }\n",
    ],
)
def test_the_length_of_a_text_is_refused(text: str) -> None:
    found = candidate_findings(text + TASKS["sums"].honest(), "k.cu")
    assert {one.kind for one in found} <= {"hidden_text", "forbidden_call"}
    assert found
