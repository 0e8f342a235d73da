"""Level 0: no code of the program's where the emulator passes arguments or writes into the text."""

import re
from pathlib import Path

import pytest
from test_legality_classes import added

from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import rewrite
from warploom.evaluation.legality.system_macros import rewriters_words

ROOT = Path(__file__).parents[2]
PASSING = [
    "struct Late { const float* at; __device__ operator float() const { return *at; } };",
    "struct Late { const float* at; operator const float*() const { return at; } };",
    "struct Work { int n; template <class T> __device__ operator T() const { return n; } };",
    "struct Count { int n; __device__ Count(const Count& o) : n(o.n + 1) {} };",
    "struct Count { int n; __host__ __device__ Count(Count& o) { n = o.n + 1; } };",
]
MACROS = ["unset", "LaunchConfig", "shift_by", "launch_plain", "shared_variable", "input"]
HONEST = [
    "struct Pair { int a; __device__ explicit operator bool() const { return a != 0; } };",
    "struct Pair { int a; Pair(const Pair&) = default; __device__ Pair(int n) : a(n) {} };",
    "struct Pair { int a; __device__ Pair operator+(const Pair& o) const { return {a + o.a}; } };",
]


@pytest.mark.parametrize("text", PASSING)
def test_what_runs_as_arguments_are_passed_is_refused(text: str) -> None:
    assert ("redefinition", 1) in added(text)


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_of_a_word_that_the_rewriter_writes_is_refused(name: str) -> None:
    assert ("redefinition", 1) in added(f"#define {name}(...) __syncthreads()")


@pytest.mark.parametrize("text", HONEST)
def test_ordinary_classes_pass(text: str) -> None:
    assert added(text) == []


def test_all_that_the_rewriter_writes_is_known() -> None:
    words = rewriters_words()
    for timed in (False, True):
        for program in sorted(ROOT.glob("examples/*/*.cu")):
            texts = rewrite(BuildSpec(program, timed=timed)).texts.values()
            for text in texts:
                written = set(re.findall(r"warploom\s*::\s*(\w+)", text.decode(errors="replace")))
                assert written <= words, (program, written - words)
