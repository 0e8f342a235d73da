"""The three greatest of each row and their places."""

import torch


def reference(x):
    return torch.topk(x, 3, dim=-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(21, 45, generator=g),)
