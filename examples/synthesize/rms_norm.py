"""RMSNorm: each row divided by the root of its mean square, times a weight."""

import torch


def reference(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    mean = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(mean + 1e-6)).to(x.dtype) * weight


def example_inputs(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(33, 257, generator=g).half(), torch.rand(257, generator=g).half() + 0.5
