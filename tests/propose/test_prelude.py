"""The code that transformed programs carry: what it holds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.records import Api
from warploom.propose.rules.prelude import (
    CREATIONS,
    LAUNCHERS,
    REDUCTIONS,
    PreludeSpec,
    reducible_type,
    render,
)
from warploom.source.lexical import find_leak
from warploom.source.regions import Program

TYPES = ("ncclInt8", "ncclFloat16", "ncclFloat32", "ncclBfloat16", "ncclUint64")


@settings(deadline=None)
@given(
    api=st.sampled_from(list(Api)),
    calls=st.frozensets(st.sampled_from(sorted(LAUNCHERS))),
    types=st.frozensets(st.sampled_from(TYPES)),
    markers=st.booleans(),
    creations=st.frozensets(st.sampled_from(sorted(CREATIONS))),
    many=st.booleans(),
    threads=st.booleans(),
    scales=st.booleans(),
)
def test_every_prelude_is_whole(
    api: Api, calls: frozenset[str], types: frozenset[str], markers: bool,
    creations: frozenset[str], many: bool, threads: bool, scales: bool,
) -> None:  # fmt: skip
    text = render(
        PreludeSpec(
            api, calls, types, markers=markers, creations=creations, many_devices=many,
            threads=threads, scales=scales and bool(calls & REDUCTIONS),
        )
    )  # fmt: skip
    assert ("class OnDevice" in text) == ("OnDevice on(" in text) == many
    assert ("std::mutex mutex" in text) == ("lock_guard" in text) == threads
    for call in CREATIONS:
        assert (f"inline ncclResult_t {CREATIONS[call]}(" in text) == (call in creations)
    assert not re.search(r"@[A-Z_]+@", text)
    assert find_leak(text) is None
    for call in LAUNCHERS:
        defined = f"inline ncclResult_t {LAUNCHERS[call]}(" in text
        wanted = call in calls
        if call in ("ncclSend", "ncclRecv"):
            wanted = bool(calls & {"ncclSend", "ncclRecv"})
        if call == "ncclBroadcast":
            wanted = bool(calls & {"ncclBcast", "ncclBroadcast"})
        if call in ("ncclGroupStart", "ncclGroupEnd"):
            wanted = bool(calls - REDUCTIONS)  # what is no reduction can be launched together
        assert defined == wanted, call
    assert ("reduceKernel" in text) == bool(calls & REDUCTIONS)
    assert [r.name for r in Program(text).regions] == (["communication"] if markers else [])


@pytest.mark.parametrize(
    ("written", "name"),
    [("ncclFloat", "ncclFloat32"), (" ncclHalf ", "ncclFloat16"), ("ncclInt8", "ncclInt8"),
     ("ncclFloat8e4m3", None), ("type", None)],
)  # fmt: skip
def test_types_by_any_spelling(written: str, name: str | None) -> None:
    assert reducible_type(written) == name
