"""Numbers of 8 bits times the scale of their row."""

import torch


def reference(x, scale):
    return x.to(torch.float32) * scale


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(-127, 128, (17, 53), generator=g, dtype=torch.int8),
        torch.rand(17, 1, generator=g) + 0.1,
    )
