"""References of several ranks that are refused, and why."""

import torch
import torch.distributed as dist


def two(x):
    y = x.clone()
    dist.all_reduce(y)
    dist.all_reduce(y)  # line 10
    return y


def grouped(x):
    y = x.clone()
    dist.all_reduce(y, group=dist.group.WORLD)  # line 16
    return y


def in_the_background(x):
    y = x.clone()
    dist.all_reduce(y, async_op=True)  # line 22
    return y


def to_one(x):
    dist.send(x, 1 - dist.get_rank())  # line 27
    return x


def multiplied(x):
    y = x.clone()
    dist.all_reduce(y, op=dist.ReduceOp.PRODUCT)  # line 33
    return y


def alone(x):
    return x + 1


def of_its_rank(x):
    y = x * (dist.get_rank() + 1)
    dist.all_reduce(y)
    return y


def in_place(x):
    dist.all_reduce(x)
    return x


def example_inputs(seed, rank, ranks):
    g = torch.Generator().manual_seed(seed * ranks + rank)
    return (torch.randn(6, 5, generator=g),)
