"""Launches whose chevrons an editor has spaced are launches, and nothing else is changed."""

import pytest

from warploom.evaluation.legality.tokens import scan
from warploom.source import CUDAAnalyzer
from warploom.source.chevrons import joined_chevrons

LAUNCHES = {
    "k << <grid, block>> > (x);": "k <<< grid, block>>>  (x);",
    "k<<<grid, block >> >(x);": "k<<<grid, block >>> (x);",
    "k << <1, 1>>>(x);": "k <<< 1, 1>>>(x);",
    "k<<<f<A<int>>(1), b >> >(x);": "k<<<f<A<int>>(1), b >>> (x);",
    "k<<<(n >> 1), c[n >> 2] >>\n  >(x);": "k<<<(n >> 1), c[n >> 2] >>>\n  (x);",
    "k << /* g */ <1, 1>> // b\n >(x);": "k <<< /* g */ 1, 1>>> // b\n (x);",
    "#define GO(k) k << <1, 1>> >(x)\n": "#define GO(k) k <<< 1, 1>>> (x)\n",
}
OTHERS = [
    "A<B<C<int>> > x; k<<<1, 1>>>(y);",
    'puts("k << <1, 1>> >(x)"); // k << <1, 1>> >(x)',
    "/* k << <1, 1>> >(x) */ int n = 1'000; char c = '<';",
    'auto s = R"(k << <1, 1>> >(x))"; std::cout << s << std::endl;',
    "friend std::ostream& operator<< <>(std::ostream&, const A<B<int>> &);",
    "std::operator<< <std::char_traits<char>>(std::cout, p);",
    "n = a << b; m = c >> d; vector<vector<vector<int>> > v;",
]
PROGRAM = """
#include <cuda_runtime.h>
__global__ void set(int* p) { *p = 7; }
template <class T, int N> __global__ void fill(T* p) { *p = N; }
int main() {
  int* d;
  cudaMalloc(&d, sizeof *d);
  set << <1, 1>> > (d);
  fill<int, 3> << <dim3(1, 1), 1 >> >(d);
  set<<<1, 1>>>(d);
  cudaFree(d);
}
"""


@pytest.mark.parametrize("spaced", LAUNCHES)
def test_three_chevrons_stand_side_by_side(spaced: str) -> None:
    joined = joined_chevrons(spaced.encode()).decode()
    assert joined == LAUNCHES[spaced]
    assert len(joined) == len(spaced) and joined.count("\n") == spaced.count("\n")
    marks = [token.text for token in scan(spaced).tokens if token.text in ("<<<", ">>>")]
    assert marks == ["<<<", ">>>"]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_launch_stays(text: str) -> None:
    assert joined_chevrons(text.encode()) == text.encode()
    assert [token.text for token in scan(text).tokens].count(">>>") == text.count("k<<<1, 1>>>")


def test_the_analysis_knows_them(tmp_path) -> None:
    program = tmp_path / "spaced.cu"
    program.write_text(PROGRAM)
    found = CUDAAnalyzer(program).analyze()
    assert sorted((k.kernel, k.line) for k in found.launches) == [
        ("fill", 9), ("set", 8), ("set", 10),
    ]  # fmt: skip
