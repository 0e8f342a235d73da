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
