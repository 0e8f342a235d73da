"""Every second column, from the end."""

import torch


def reference(x):
    return torch.flip(x[:, 1::2], (1,)).contiguous()


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(19, 33, generator=g),)
