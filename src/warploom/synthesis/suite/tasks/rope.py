"""Rotary position embedding of pairs of halves."""

import torch


def reference(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn(2, 7, 5, 16, generator=g),
        torch.randn(7, 1, 16, generator=g),
        torch.randn(7, 1, 16, generator=g),
    )
