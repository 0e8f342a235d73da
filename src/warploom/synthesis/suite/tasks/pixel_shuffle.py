"""Blocks of channels become blocks of pixels."""

import torch


def reference(x):
    return torch.nn.functional.pixel_shuffle(x, 2)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(2, 8, 5, 7, generator=g),)
