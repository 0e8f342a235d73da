"""Scans: running sums and products along a dimension."""

from warploom.synthesis.codegen import ctypes_of, pointwise
from warploom.synthesis.codegen.draft import KernelDraft
from warploom.synthesis.codegen.refusal import BeyondRulesError
from warploom.synthesis.codegen.row_writer import RowWriter
from warploom.synthesis.codegen.scope import c_size, linear, product, split
from warploom.synthesis.codegen.text import Kernel, indented


def scan_kernel(draft: KernelDraft) -> Kernel:
    """Return the kernel of a scan: a block goes along a row, a tile at a time."""
    root = draft.root
    source = draft.graph.node_of(root.args[0])
    assert source is not None
    kind = "sum" if root.op == "cumsum" else "prod"
    dim = int(root.args[1]) % max(len(root.sizes), 1)
    if not root.sizes or root.sizes[dim] == "1":
        raise BeyondRulesError(f"{root.op} along a dimension of one", line=root.line)
    names, sizes = draft.real()
    along = draft.index[dim]
    rows = [(n, s) for n, s in zip(names, sizes, strict=True) if n != along]
    writer = RowWriter(draft, frozenset(n for n, _ in rows))
    values = draft.values(writer.reached)
    writer.values = values
    scope = writer.scope.inner({along})
    ctype = ctypes_of.computed(root.dtype)
    value = values.operand(root.args[0], root.dtype, root, draft.index, scope, "inside")
    first = pointwise.literal(0 if kind == "sum" else 1, root.dtype)
    sign = "+" if kind == "sum" else "*"
    helper = f"block_scan_{kind}_{ctype.replace(' ', '_')}"
    draft.helpers[helper] = _helper(helper, ctype, first, sign)
    size, threads = c_size(root.sizes[dim]), draft.tuning.threads
    place = linear(draft.index, root.sizes)
    tile = [
        f"const long long {along} = begin + threadIdx.x;",
        f"const bool inside = {along} < {size};",
        *scope.lines,
        f"{ctype} whole;",
        f"const {ctype} sofar = {helper}(inside ? {value} : {first}, whole);",
        f"if (inside) out[{place}] = {ctypes_of.store(root.dtype, f'(carry {sign} sofar)')};",
        f"carry = carry {sign} whole;",
    ]
    count = product(s for _, s in rows)
    text = draft.kernel(values, threads, [
        f"const long long rows = {count};",
        "for (long long row = blockIdx.x; row < rows; row += gridDim.x) {",
        *indented([
            *split("row", [n for n, _ in rows], [s for _, s in rows]), *writer.scope.lines,
            f"{ctype} carry = {first};",
            f"for (long long begin = 0; begin < {size}; begin += {threads}) {{",
            *indented(tile), "}",
        ]),
        "}",
    ])  # fmt: skip
    return draft.done("scan", text, values, count, f"blocks_for({count}, 1)", threads)


def _helper(name: str, ctype: str, first: str, sign: str) -> str:
    return f"""// Joins the values of all threads up to each; `whole` becomes that of the block.
static __device__ {ctype} {name}({ctype} value, {ctype}& whole) {{
  __shared__ {ctype} part[32];
  const int lane = threadIdx.x & 31;
  for (int step = 1; step < 32; step <<= 1) {{
    const {ctype} other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value = other {sign} value;
  }}
  if (lane == 31) part[threadIdx.x >> 5] = value;
  __syncthreads();
  {ctype} before = {first};
  {ctype} all = {first};
  for (int warp = 0; warp < static_cast<int>(blockDim.x >> 5); ++warp) {{
    if (warp == static_cast<int>(threadIdx.x >> 5)) before = all;
    all = all {sign} part[warp];
  }}
  __syncthreads();
  whole = all;
  return before {sign} value;
}}
"""
