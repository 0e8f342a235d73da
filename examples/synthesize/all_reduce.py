"""All-reduce: every rank gets the sum of what all ranks have. For `--ranks 2` to 8."""

import torch
import torch.distributed as dist


def reference(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total


def example_inputs(seed: int, rank: int, ranks: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed * ranks + rank)
    return (torch.randn(33, 257, generator=g),)
