"""The place of the greatest of each row."""

import torch


def reference(x):
    return x.argmax(-1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(23, 77, generator=g),)
