"""Weights of the two best experts of a token."""

import torch


def reference(logits):
    best, place = torch.topk(torch.softmax(logits, dim=-1), 2, dim=-1)
    return best / best.sum(-1, keepdim=True), place


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(23, 8, generator=g),)
