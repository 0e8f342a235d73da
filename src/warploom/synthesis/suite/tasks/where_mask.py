"""Values where a mask holds, else a tenth of them."""

import torch


def reference(x, mask):
    return torch.where(mask, x, x * 0.1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(23, 31, generator=g), torch.randn(23, 31, generator=g) > 0)
