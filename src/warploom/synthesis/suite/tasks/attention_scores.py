"""Scaled scores of queries and keys, softmax."""

import torch


def reference(q, k):
    return torch.softmax(q @ k.transpose(-1, -2) * 0.25, dim=-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, 11, 16, generator=g), torch.randn(2, 13, 16, generator=g))
