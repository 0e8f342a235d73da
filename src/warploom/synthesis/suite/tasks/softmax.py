"""The softmax of each row."""

import torch


def reference(x):
    return torch.softmax(x, dim=-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(31, 97, generator=g),)
