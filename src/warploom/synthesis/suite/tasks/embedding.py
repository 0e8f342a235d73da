"""Rows of a table."""

import torch


def reference(table, index):
    return torch.nn.functional.embedding(index, table)


def example_inputs(seed):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn(37, 19, generator=g),
        torch.randint(
            0,
            37,
            (
                5,
                7,
            ),
            generator=g,
        ),
    )
