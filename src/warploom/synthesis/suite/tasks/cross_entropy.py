"""The loss of each row for its class."""

import torch


def reference(x, target):
    return -torch.log_softmax(x, -1).gather(1, target[:, None]).squeeze(1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(21, 37, generator=g), torch.randint(0, 37, (21,), generator=g))
