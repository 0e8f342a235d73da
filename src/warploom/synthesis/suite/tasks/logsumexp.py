"""The logarithm of the sum of powers of each row."""

import torch


def reference(x):
    return torch.logsumexp(x, dim=-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(25, 63, generator=g),)
