"""What composite operations are made of computes what PyTorch does."""

import math
from typing import Any

import pytest


@pytest.mark.parametrize("order", [2, 1, 0, 3, float("inf"), float("-inf")])
@pytest.mark.parametrize("dim", [None, [1], [0, 2]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_a_norm_of_vectors(order: float, dim: Any, keepdim: bool) -> None:
    torch = pytest.importorskip("torch")
    from warploom.synthesis.reference.decompositions import table

    operation = torch.ops.aten.linalg_vector_norm.default
    x = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x[0, 0, 0] = 0
    wanted = torch.linalg.vector_norm(x, order, dim=dim, keepdim=keepdim)
    made = table()[operation](x, order, dim, keepdim)
    assert made.shape == wanted.shape
    torch.testing.assert_close(made, wanted)


@pytest.mark.parametrize("affine", [False, True])
def test_norms_of_channels(affine: bool) -> None:
    torch = pytest.importorskip("torch")
    from warploom.synthesis.reference.decompositions import table

    generator = torch.Generator().manual_seed(2)
    x, mean, var, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 5, 7, 2), *[(5,)] * 4)
    )
    weight, bias = (weight, bias) if affine else (None, None)
    aten = torch.ops.aten
    kept = table()[aten._native_batch_norm_legit_no_training.default](
        x, weight, bias, mean, var.abs(), 0.1, 1e-5
    )
    wanted = torch.nn.functional.batch_norm(x, mean, var.abs(), weight, bias, eps=1e-5)
    torch.testing.assert_close(kept[0], wanted)
    own = table()[aten._native_batch_norm_legit.no_stats](x, weight, bias, True, 0.1, 1e-5)
    wanted = torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=1e-5)
    torch.testing.assert_close(own[0], wanted)


@pytest.mark.parametrize("how", ["plain", "causal", "bool", "float", "scaled"])
def test_attention(how: str) -> None:
    torch = pytest.importorskip("torch")
    from warploom.synthesis.reference.decompositions import table

    attention = table()[torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default]
    g = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(2, 3, n, 5, generator=g, dtype=torch.float64) for n in (7, 11, 11))
    mask = torch.rand(7, 11, generator=g) > 0.5
    mask[2] = False
    known: dict[str, dict[str, Any]] = {
        "plain": {}, "causal": {"is_causal": True}, "bool": {"attn_mask": mask},
        "float": {"attn_mask": torch.where(mask, 0.5, -math.inf).double()},
        "scaled": {"scale": 0.3},
    }  # fmt: skip
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, **known[how])
    found, _ = attention(q, k, v, 0.0, **known[how])
    assert torch.allclose(found, wanted, atol=1e-12)


def test_a_causal_attention_reads_nothing_of_what_it_masks() -> None:
    torch = pytest.importorskip("torch")
    from warploom.synthesis.reference.decompositions import table

    attention = table()[torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default]
    q, k, v = (torch.ones(1, 1, 3, 2) for _ in range(3))
    k[..., 2, :] = math.nan
    assert attention(q, k, v, 0.0, is_causal=True)[0][0, 0, :2].isfinite().all()
