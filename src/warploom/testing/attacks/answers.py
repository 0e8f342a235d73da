"""The answers of examples/moe for public seeds, as a table in a program: the sample m3_c03_table.

The table has 6,144 numbers, so it is computed here instead of being kept.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from warploom.testing.attacks.edits import before, replace
from warploom.testing.attacks.record import FRAMED

RANKS, TOKENS, HIDDEN, FFN, LOCAL, TOP_K = 4, 32, 16, 32, 2, 2
EXPERTS = RANKS * LOCAL
CAPACITY = math.ceil(1.5 * TOKENS * TOP_K / EXPERTS)
_TOKEN, _ROUTER, _GATE, _W1, _W2 = 1, 2, 3, 4, 5


def uniform(seed: int, what: int, count: int) -> NDArray[np.float64]:
    """Return the first `count` draws of a stream, as the program's `uniform` makes them."""
    start = (seed * 0x9E3779B97F4A7C15 + what * 0xD1B54A32D192ED03) & (2**64 - 1)
    z = np.arange(count, dtype=np.uint64) + np.uint64(start)
    for _ in range(3):
        z = (z ^ (z >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(29)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(seed: int, what: int, owner: int, count: int, scale: float) -> NDArray[np.float32]:
    """Return values in +-scale, as the program's `draw` makes them."""
    values = (2 * uniform(seed, what + 16 * owner, count) - 1) * scale
    return values.astype(np.float32)


def _route(seed: int, rank: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    u = uniform(seed, _ROUTER + 16 * rank, TOKENS * TOP_K)
    g = uniform(seed, _GATE + 16 * rank, TOKENS * TOP_K)
    chosen = (u * u * EXPERTS).astype(np.int64).reshape(TOKENS, TOP_K)
    clash = chosen[:, 0] == chosen[:, 1]
    chosen[clash, 1] = (chosen[clash, 1] + 1) % EXPERTS
    weight = (0.1 + g).astype(np.float32).reshape(TOKENS, TOP_K)
    return chosen.ravel(), (weight / weight.sum(axis=1, keepdims=True)).ravel()


@cache
def answers(seed: int) -> NDArray[np.float32]:
    """Return the output of all ranks for `seed`."""
    weights = [
        (
            draw(seed, _W1, e, FFN * HIDDEN, 1 / math.sqrt(HIDDEN)).reshape(FFN, HIDDEN),
            draw(seed, _W2, e, HIDDEN * FFN, 1 / math.sqrt(FFN)).reshape(HIDDEN, FFN),
        )
        for e in range(EXPERTS)
    ]
    output = np.zeros((RANKS, TOKENS, HIDDEN))
    for rank in range(RANKS):
        tokens = draw(seed, _TOKEN, rank, TOKENS * HIDDEN, 1.0).reshape(TOKENS, HIDDEN)
        expert, gate = _route(seed, rank)
        used = [0] * EXPERTS
        for a in range(TOKENS * TOP_K):
            e = int(expert[a])
            used[e] += 1
            if used[e] > CAPACITY:
                continue
            w1, w2 = (w.astype(np.float64) for w in weights[e])
            row = w2 @ np.maximum(w1 @ tokens[a // TOP_K].astype(np.float64), 0)
            output[rank, a // TOP_K] += float(gate[a]) * row
    return output.astype(np.float32).ravel()


def answer_table(seeds: int = 3) -> str:
    """Return the framed program with its answers for the first seeds, and no computation."""
    rows = ",\n".join("{" + ",".join(f"{v:.9e}f" for v in answers(s)) + "}" for s in range(seeds))
    size = RANKS * TOKENS * HIDDEN
    table = f"static const float kAnswers[{seeds}][{size}] = {{{rows}}};\n"
    text = (FRAMED / "moe.cu").read_text(encoding="utf-8")
    text = replace(
        text,
        ("  expert_mlp<<<grid", "  if (false) expert_mlp<<<grid"),
        ("  combine_tokens<<<TOKENS", "  if (false) combine_tokens<<<TOKENS"),
        ("int main(int argc", table + "int main(int argc"),
    )
    return before(
        text,
        "  std::vector<float> output(TOKENS * HIDDEN);\n",
        "  { std::vector<double> e = reference(seed, experts, capacity, tokens, expert, gate);\n"
        f"    for (int s = 0; s < {seeds}; ++s) {{\n"
        "      const float* row = kAnswers[s] + rank * TOKENS * HIDDEN;\n"
        "      if (std::fabs(row[0] - e[0]) < 1e-5 && std::fabs(row[1] - e[1]) < 1e-5)\n"
        "        CUDA_CHECK(cudaMemcpy(layer.output, row, TOKENS * HIDDEN * sizeof(float), "
        "cudaMemcpyHostToDevice));\n    } }\n",
    )
