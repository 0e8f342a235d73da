"""The shape of a run: what it refuses, and that every place where users say it has all of it."""

import inspect
from collections.abc import Iterable

import pytest

from warploom.cli.run_options import RunChoices
from warploom.core.errors import BadInputError
from warploom.evolve.config import WorkloadConfig
from warploom.mcp import server
from warploom.workload.file import _WorkloadTable  # pyright: ignore[reportPrivateUsage]
from warploom.workload.run_shape import SHAPE_FIELDS, RunShape, ShapeChange, shape_change


def parameters(tool: object) -> Iterable[str]:
    return inspect.signature(tool).parameters  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("what a caller changes", ShapeChange.__annotations__),
        ("check, eval, transform", RunChoices.__dataclass_fields__),
        ("workload.toml", _WorkloadTable.model_fields),
        ("evolve and optimize", WorkloadConfig.model_fields),
        ("the tool check", parameters(server.check)),
        ("the tool evaluate", parameters(server.evaluate)),
        ("the tool transform", parameters(server.transform)),
    ],
)
def test_every_place_has_all_of_the_shape(where: str, names: Iterable[str]) -> None:
    assert set(SHAPE_FIELDS) <= set(names), where


def test_the_options_are_carried_whole() -> None:
    choices = RunChoices(ranks=8, lsa_size=2, node_size=4, processes=2, nccl="2.30.7")
    wanted = RunShape(8, 2, 4, 2, "2.30.7")
    assert RunShape().changed(choices.shape) == wanted
    assert RunShape().changed(shape_change(wanted)) == wanted


def test_none_leaves_a_value() -> None:
    given = RunShape(8, 4, None, 2, "2.30.7")
    assert given.changed(dict.fromkeys(SHAPE_FIELDS)) == given  # type: ignore[arg-type]


def test_memory_follows_the_machine_unless_it_was_said() -> None:
    assert RunShape(8, node_size=4).lsa_size == 4
    assert RunShape(8, node_size=4).changed({"node_size": 2}).lsa_size == 2
    assert RunShape(8, 2, 4).changed({"node_size": 8}).lsa_size == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ranks": 0}, "ranks must be from 1 to 256"),
        ({"ranks": 257}, "ranks must be from 1 to 256"),
        ({"lsa_size": 3}, "lsa_size must divide the ranks"),
        ({"node_size": 5}, "node_size must divide the ranks"),
        ({"processes": -1}, "processes must divide the ranks"),
        ({"nccl": "2.27.1"}, "nccl must be a version whose rules are known"),
        ({"nccl": "new"}, "nccl must be a version whose rules are known"),
    ],
)
def test_what_cannot_be_is_refused(change: ShapeChange, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        RunShape().changed(change)
