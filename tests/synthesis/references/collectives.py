"""References of several ranks that the rules have kernels for."""

import torch
import torch.distributed as dist


def all_reduce(x):
    total = x.clone()
    dist.all_reduce(total)
    return total


def all_reduce_max(x):
    top = x.clone()
    dist.all_reduce(top, op=dist.ReduceOp.MAX)
    return top


def all_gather(x):
    out = torch.empty(dist.get_world_size() * x.shape[0], x.shape[1], dtype=x.dtype)
    dist.all_gather_into_tensor(out, x)
    return out


def all_gather_list(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts, 1)


def reduce_scatter(x):
    out = torch.empty(x.shape[0] // dist.get_world_size(), x.shape[1], dtype=x.dtype)
    dist.reduce_scatter_tensor(out, x)
    return out


def all_to_all(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)
    return out


def broadcast(x):
    copy = x.clone()
    dist.broadcast(copy, src=1)
    return copy


def averaged(x):
    total = torch.relu(x) * 2
    dist.all_reduce(total)
    return total / dist.get_world_size() + x


def half_sum(x):
    total = x.half()
    dist.all_reduce(total)
    return total


def example_inputs(seed, rank, ranks):
    g = torch.Generator().manual_seed(seed * ranks + rank)
    return (torch.randn(16, 21, generator=g),)
