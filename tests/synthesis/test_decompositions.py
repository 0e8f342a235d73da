"""What composite operations are made of computes what PyTorch does."""

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
