"""What a transform is asked to do: limits, and which API is chosen and why."""

from pathlib import Path

import pytest

from warploom.core.errors import BadInputError
from warploom.core.records import Api
from warploom.transform import TransformConfig
from warploom.transform.config import choose_api
from warploom.workload.run_shape import RunShape
from warploom.workload.workload import Workload


def workload(lsa_size: int | None = None, api: tuple[Api, ...] = (Api.GIN, Api.LSA)) -> Workload:
    return Workload("w", Path(), Path("w.cu"), shape=RunShape(lsa_size=lsa_size), api=api)


@pytest.mark.parametrize(
    ("asked", "lsa_size", "allowed", "chosen", "why"),
    [
        ("auto", 4, (Api.GIN, Api.LSA), Api.LSA, "all 4 ranks share memory"),
        ("auto", 2, (Api.GIN, Api.LSA), Api.GIN, "only 2 of 4"),
        ("auto", None, (Api.GIN, Api.LSA), Api.GIN, "does not say"),
        ("auto", None, (Api.LSA,), Api.LSA, "no other"),
        ("auto", 4, (Api.GIN,), Api.GIN, ""),
        ("gin", 4, (Api.GIN, Api.LSA), Api.GIN, "asked for"),
        ("lsa", None, (Api.GIN, Api.LSA), Api.LSA, "asked for"),
    ],
)
def test_api(
    asked: str, lsa_size: int | None, allowed: tuple[Api, ...], chosen: Api, why: str
) -> None:
    api, reason = choose_api(asked, workload(lsa_size, allowed))
    assert api is chosen
    assert why in reason


def test_apis_that_cannot_be() -> None:
    with pytest.raises(BadInputError, match="lsa_size is 2"):
        choose_api("lsa", workload(2))
    with pytest.raises(BadInputError, match="allows only"):
        choose_api("lsa", workload(4, (Api.GIN,)))
    with pytest.raises(BadInputError, match="lsa_size is 2"):
        choose_api("auto", workload(2, (Api.LSA,)))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("api_type", "ib", "gin, lsa, auto"),
        ("max_iterations", 0, "at least 1"),
        ("stage_b_iterations", -1, "got -1"),
        ("timings", (), "at least one"),
        ("proposer", "oracle", "one of auto, rules, llm"),
        ("proposer", "llm", "needs a model"),
    ],
)
def test_rules_are_told(field: str, value: object, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        TransformConfig(**{field: value})  # type: ignore[arg-type]
