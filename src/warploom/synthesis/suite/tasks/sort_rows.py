"""Rows in order (beyond the rules: a sort)."""

import torch


def reference(x):
    return torch.sort(x, dim=-1).values


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(11, 23, generator=g),)
