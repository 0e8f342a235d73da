"""Rows of a table, summed for each bag."""

import torch


def reference(table, index):
    return torch.nn.functional.embedding(index, table).sum(1)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn(37, 19, generator=g),
        torch.randint(
            0,
            37,
            (
                11,
                6,
            ),
            generator=g,
        ),
    )
