"""Shifts that are left as they were written: such text is compiled for the device by itself."""

import pytest

from warploom.emulator.rewriting.shifts import has_plain_shifts


@pytest.mark.parametrize(
    "text",
    [
        "x << n", "x <<= n", "x >> (n)", "x >>= ::n", "x << \\\n n", "x <\\\n< n", "x << -n",
        "x << 32", "x <</**/n", "#define JOIN(a, b) a##b", "x << ~n", "x << *p", "std::cout << x",
        "f<g<int>> x", "std::vector<std::vector<f(1 >> n)>> x;",
        "std::vector<std::vector<int>> x(n >> m);",
        "#define vector 2\nstd::vector<std::vector<int>> x;", "namespace std { int vector; }\n"
        "std::vector<std::vector<int>> x;",
    ],
)  # fmt: skip
def test_seen(text: str):
    assert has_plain_shifts(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "x << ::warploom::shift_by << n", "x >> ::warploom::shift_by >> (n)", "x << 8", "x <<= 31u",
        "x >> 0x1f", "kernel<<<1, n>>>(p)", "std::vector<std::vector<int>>{}", "f<g<int>>)",
        'out << "text"', "std::vector<std::vector<float>> x, target;",
        "using namespace std;\nstd::vector<const std::pair<int, float*>> x;",
    ],
)  # fmt: skip
def test_not_there(text: str):
    assert not has_plain_shifts(text.encode())
