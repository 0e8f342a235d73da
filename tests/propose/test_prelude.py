"""The code that transformed programs carry: what it holds, and that the real compiler takes it."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core.errors import MissingToolError
from warploom.core.records import Api, BuildSpec
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
from warploom.toolchain.nccl import find_nccl
from warploom.toolchain.nvcc import compile_gate, find_nvcc

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
)
def test_every_prelude_is_whole(
    api: Api, calls: frozenset[str], types: frozenset[str], markers: bool,
    creations: frozenset[str], many: bool, threads: bool,
) -> None:  # fmt: skip
    text = render(
        PreludeSpec(
            api, calls, types, markers=markers, creations=creations, many_devices=many,
            threads=threads,
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


def nccl_versions() -> list[str]:
    """The newest headers at hand; all of them where WARPLOOM_TEST_ALL_NCCL is set."""
    found = [headers.version for headers in find_nccl()]
    return found if os.environ.get("WARPLOOM_TEST_ALL_NCCL") else found[:1]


@pytest.mark.nvcc
@pytest.mark.parametrize("version", nccl_versions() or ["none"])
@pytest.mark.parametrize("api", list(Api))
def test_the_real_compiler_takes_every_launcher(api: Api, version: str, tmp_path: Path) -> None:
    try:
        find_nvcc()
    except MissingToolError as error:
        pytest.skip(error.message)
    if version == "none":
        pytest.skip("no NCCL headers; name some in WARPLOOM_NCCL_HOME")
    program = tmp_path / "prelude.cu"
    text = render(
        PreludeSpec(
            api, frozenset(LAUNCHERS), nccl_memory=True, creations=frozenset(CREATIONS),
            many_devices=True, threads=True,
        )
    )  # fmt: skip
    program.write_text(text + "int main() { return 0; }\n")
    result = compile_gate(BuildSpec(program), version)
    assert result.ok, result
