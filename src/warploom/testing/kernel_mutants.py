"""Right kernels made wrong in one place: acceptance must find each.

Each is a change of the text that the rules generate for a task of the internal suite.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong kernel: the first `old` in the generated text of `task` becomes `new`."""

    task: str
    what: str
    old: str
    new: str

    @property
    def name(self) -> str:
        """A name for tests."""
        return f"{self.task}-{self.what.replace(' ', '-')}"

    def apply(self, text: str) -> str:
        """Return the wrong text.

        Raises:
            ValueError: the text has no such place: the mutant would be no mutant.
        """
        if self.old not in text:
            raise ValueError(f"the kernel of {self.task} must hold {self.old!r}, but does not")
        return text.replace(self.old, self.new, 1)


def _of(task: str, *changes: tuple[str, str, str]) -> tuple[Mutant, ...]:
    return tuple(Mutant(task, what, old, new) for what, old, new in changes)


MUTANTS = (
    # What ends a loop over a row, lost in a later turn of it.
    *_of(
        "attention",
        ("scores of no number masked behind the first turn",
         "out[((i0 * d1 + i1) * d3 + i2)] = static_cast<float>(total);",
         "out[((i0 * d1 + i1) * d3 + i2)] = g2 >= 128 ? fmaxf(total, -3e38f) : total;"),
    ),
    *_of(
        "row_max_min",
        ("no number lost behind the first turn", "s0 = (s0 < v0 || s0 != s0 ? s0 : v0);",
         "s0 = k0 >= blockDim.x ? fminf(s0, v0) : (s0 < v0 || s0 != s0 ? s0 : v0);"),
        ("no number lost behind the first turn of groups",
         "s0 = (s0 < v2 || s0 != s0 ? s0 : v2);",
         "s0 = k0 >= blockDim.x * 4 ? fminf(s0, v2) : (s0 < v2 || s0 != s0 ? s0 : v2);"),
        ("no number of an earlier turn lost", "s0 = (s0 < v0 || s0 != s0 ? s0 : v0);",
         "s0 = s0 <= v0 ? s0 : v0;"),
        ("no number of an earlier turn of groups lost",
         "s0 = (s0 < v2 || s0 != s0 ? s0 : v2);", "s0 = s0 <= v2 ? s0 : v2;"),
    ),
    *_of(
        "matmul",
        ("left operand transposed", "in_a[(row * d1 + at)]", "in_a[(at * d0 + row)]"),
        ("right operand transposed", "in_b[(at * d2 + col)]", "in_b[(col * d1 + at)]"),
        ("no barrier before use", "      __syncthreads();\n      bring(", "      bring("),
        ("no barrier after use", "      __syncthreads();\n    }\n", "    }\n"),
        ("last step left out", "step < d1; step += 16", "step + 16 < d1; step += 16"),
        ("step too far", "row < d0 && at < d1", "row < d0 && at <= d1"),
        ("rows not bounded", "if (g0 < d0 && g1 < d2)", "if (g1 < d2)"),
        ("columns not bounded", "if (g0 < d0 && g1 < d2)", "if (g0 < d0)"),
        ("output transposed", "out[(i0 * d2 + i1)]", "out[(i1 * d0 + i0)]"),
        ("sums begin at another number", "sums[i][j] = 0.0f;", "sums[i][j] = 0.0f + i;"),
        ("one product left out", "for (int q = 0; q < 16; ++q)", "for (int q = 0; q < 15; ++q)"),
        ("operands rounded to half", "sums[i][j] = fmaf(tile_a[q][y * 8 + i],",
         "sums[i][j] = fmaf(__half2float(__float2half_rn(tile_a[q][y * 8 + i])),"),
        ("operands rounded as TF32", "next_a[n] = use_a ? v0 : 0.0f",
         "next_a[n] = use_a ? __int_as_float(__float_as_int(v0) & 0xffffe000) : 0.0f"),
    ),
    *_of(
        "matmul_half",
        ("sums in half",
         "fmaf(tile_a[q][y * 8 + i], tile_b[q][x * 4 + j], sums[i][j]);",
         "__half2float(__float2half_rn(sums[i][j] + tile_a[q][y * 8 + i] * "
         "tile_b[q][x * 4 + j]));"),
    ),
    *_of(
        "softmax",
        ("no greatest subtracted", "expf(v7)", "expf(v6)"),
        ("no greatest subtracted in groups", "expf(v11)", "expf(v10)"),
        ("row of groups of another size", "in_x + (i0 * d1 + k1)", "in_x + (i0 * d0 / 4 * 4 + k1)"),
        ("sum over one too few", "k1 < d1", "k1 < d1 - 1"),
        ("greatest from zero", "float s0 = (-INFINITY);", "float s0 = 0.0f;"),
        ("no barrier in the sum", "part[threadIdx.x >> 5] = value;\n  __syncthreads();",
         "part[threadIdx.x >> 5] = value;"),
        ("row stride of another size", "in_x[(i0 * d1 + k0_1)]", "in_x[(i0 * d0 + k0_1)]"),
        ("first warp only", "k1 < d1; k1 += blockDim.x", "k1 < 128; k1 += blockDim.x"),
    ),
    *_of(
        "sum_half",
        ("sum in half", "s0 = (s0 + v0);", "s0 = __half2float(__float2half_rn(s0 + v0));"),
    ),
    *_of(
        "row_sum",
        ("one element left out", "k0 = whole0 + threadIdx.x; k0 < d1",
         "k0 = whole0 + threadIdx.x + 1; k0 < d1"),
        ("one element too many", "k0 < d1; k0 += blockDim.x", "k0 <= d1; k0 += blockDim.x"),
        ("last group left out", "k0 < whole0; k0", "k0 + 4 < whole0; k0"),
        ("one group too many", "k0 < whole0; k0", "k0 <= whole0; k0"),
        ("rows of groups not tested", " | d1 % 4", ""),
        ("more held than is loaded", "Index>(4 * blockDim.x)", "Index>(5 * blockDim.x)"),
        ("a group of what is held left out", "if (k0 < held)", "if (k0 + 4 < held)"),
        ("pointer of groups not tested", "address_of(in_x) % 16 | ", ""),
        ("uninitialized sum", "float s0 = 0.0f;", "float s0;"),
        ("added to what nobody cleared", "if (threadIdx.x == 0) {",
         "atomicAdd(&out[i0], s0);\n    if (d0 < 0) {"),
    ),
    *_of(
        "layer_norm",
        ("variance of one less", "static_cast<float>(d1)", "static_cast<float>(d1 - 1)"),
        ("variance in one pass", "r0 / static_cast<float>(d1)", "r0 / static_cast<float>(d1 + 1)"),
        ("weight of another column", "in_weight[i1]", "in_weight[(i1 + 1) % d1]"),
        ("no barrier after the sum", "  __syncthreads();\n  return value;", "  return value;"),
        ("bias left out", "in_bias[i1]", "(0.0f * in_bias[i1])"),
        ("epsilon forgotten", "1e-05f", "0.0f"),
    ),
    *_of(
        "cumsum",
        ("carry forgotten", "carry = carry + whole;", "carry = whole;"),
        ("own element left out of groups", "total = before + own[e];", "total = before;"),
        ("no barrier in the scan", "before = 0.0f;\n  __syncthreads();", "before = 0.0f;"),
        ("no barrier between tiles", "  __syncthreads();\n  whole = all;", "  whole = all;"),
        ("one lane too few", "if (lane >= step)", "if (lane > step)"),
        ("tail not guarded", "if (i1 < d1) {\n            const float total",
         "if (i1 <= d1) {\n            const float total"),
        ("tail of groups not guarded", "if (first < d1) {\n          Group",
         "if (first <= d1) {\n          Group"),
    ),
    *_of(
        "cumprod_columns",
        ("last part left out", "part < blockIdx.y", "part + 1 < blockIdx.y"),
        ("part of another column", "parts[part * rows + row]", "parts[part * rows]"),
    ),
    *_of(
        "column_mean",
        ("no barrier in the join", "    __syncthreads();\n    for (int slot", "    for (int slot"),
        ("last part left out", "part < count", "part + 1 < count"),
        ("last warp left out", "other < 8", "other < 7"),
        ("rows of groups not tested", " | d1 % 4", ""),
        ("columns not bounded", "if (column < columns)", "if (column <= columns)"),
    ),
    *_of(
        "argmin_column",
        ("last of equals between warps", "place = min(place, there);",
         "place = max(place, there);"),
        ("last of equals of warps",
         "            place = min(place, there);", "            place = place;"),
        ("last of equals of parts", "\n        place = min(place, there);",
         "\n        place = place;"),
    ),
    *_of(
        "argmax",
        ("last of equals", "place = min(place, at);", "place = max(place, at);"),
        ("place of the group", "p0 = k0 + e;", "p0 = k0;"),
        ("NaN passed over", "(v0 > s0 || (v0 != v0 && s0 == s0))", "(v0 > s0)"),
        ("place within the thread", "p0 = k0;", "p0 = k0 / 128;"),
        ("last NaN of a thread", "(v0 != v0 && s0 == s0)", "v0 != v0"),
        ("last NaN of groups", "(v2 != v2 && s0 == s0)", "v2 != v2"),
        ("NaN of any place in a join", "(other != other && value != value)", "false"),
    ),
    *_of(
        "pixel_shuffle",
        ("next row not begun at its first element", "i3 = 0;", "i3 = 1;"),
        ("next row begun too late", "++i3 == (2*d3)", "++i3 == (2*d3) + 1"),
        ("next row not counted", "++i2 == (2*d2)", "i2 == (2*d2)"),
        ("elements behind the tiles left out", "Index i = tiles * 512", "Index i = tiles * 516"),
        ("one tile too many", " / 512 : 0;", " / 512 + 1 : 0;"),
        ("plane of another row", "(i2 % (2))) * 2", "(i1 % (2))) * 2"),
    ),
    *_of(
        "concat_pad",
        ("first of the second tensor from the first", "< d1);", "<= d1);"),
        ("padding forgotten", "v0 ? v5 : (-1.0f)", "v5"),
        ("row of the group's first element", "++i0;", ""),
        ("groups not tested", "address_of(out0) % 16", "address_of(out0) % 4"),
    ),
    # Rows of which each thread holds a part.
    *_of(
        "variance",
        ("first groups held for all", "= held0[turn];", "= held0[0];"),
        ("groups that are held read again", "= held + threadIdx.x", "= threadIdx.x"),
        ("held of the row before", "group_at<float, 4>(in_x + (i0 * d1 + k))",
         "group_at<float, 4>(in_x + ((i0 > 0 ? i0 - 1 : 0) * d1 + k))"),
    ),
    *_of(
        "l2_norm_rows",
        ("groups beyond what is held left out", "= held + threadIdx.x",
         "= held + (blockDim.x + threadIdx.x)"),
    ),
    *_of(
        "transpose",
        ("not transposed", "in_x[(i1 * d1 + i0)]", "in_x[(i0 * d0 + i1)]"),
        ("sizes swapped", "in_x[(i1 * d1 + i0)]", "in_x[(i1 * d0 + i0)]"),
        ("tail forgotten", "i0 < d1 && i1 < d0", "i0 < d1 / 32 * 32 && i1 < d0"),
        ("tail not bounded", "i0 < d1 && i1 < d0", "i0 < d1"),
        ("no barrier in a tile", "    __syncthreads();\n    // Along", "    // Along"),
        ("lines of a tile forgotten", "line < 32;", "line < 24;"),
    ),
    *_of(
        "gelu_bias",
        ("bias of the row", "in_bias[i1]", "in_bias[i0]"),
        ("approximate by tanh", "erff(v4)", "tanhf(1.1283791671f * v4)"),
        ("one element too many", "i < count;", "i <= count;"),
        ("one tile too many", "tile < tiles;", "tile <= tiles;"),
        ("second turn forgotten", "turn < 2;", "turn < 1;"),
        ("first turn twice", "g0[turn].at[e]", "g0[0].at[e]"),
        ("too few threads for indices of 64 bits",
         "<long long><<<blocks_for(d0*d1, 1024), 128", "<long long><<<blocks_for(d0*d1, 1024), 64"),
        ("bias of another group", "in_bias + start", "in_bias + start / 8 * 4"),
        ("one of a group left out", "for (int e = 0; e < 4; ++e)", "for (int e = 0; e < 3; ++e)"),
        ("input overwritten", "out[i] = static_cast<float>(v7);",
         "out[i] = static_cast<float>(v7); const_cast<float*>(in_x)[i] = 0.0f;"),
        ("four at once, unaligned", "const float v1 = in_x[(i0 * d1 + i1)];",
         "const float4 w = reinterpret_cast<const float4*>(in_x)[(i0 * d1 + i1) / 4];\n"
         "    const int l = (i0 * d1 + i1) % 4;\n"
         "    const float v1 = l == 0 ? w.x : l == 1 ? w.y : l == 2 ? w.z : w.w;"),
    ),
    *_of(
        "embedding",
        ("row off by one", "in_table[(v0 * d1 + i2)]", "in_table[((v0 + 1) * d1 + i2)]"),
        ("sizes hard-coded", "in_table[(v0 * d1 + i2)]", "in_table[(v0 * 19 + i2)]"),
    ),
)  # fmt: skip
"""All mutants."""
