"""What a program passes for a handle is looked up before anything at its address is touched."""

import re
from functools import cache
from pathlib import Path

import pytest

import warploom.emulator
from warploom.core.records import BuildSpec
from warploom.emulator import EmulatorBuild, EmulatorRun, RunOptions, build, run

_PROGRAM = Path(__file__).with_name("programs") / "handles.cu"
_HEADERS = Path(warploom.emulator.__file__).with_name("include")

# By the type that a handle points to; `registration` is the void* of ncclCommRegister.
_TABLES = (
    "CUstream_st",
    "CUevent_st",
    "CUmemPoolHandle_st",
    "CUgraph_st",
    "CUgraphNode_st",
    "CUgraphExec_st",
    "CUuserObject_st",
    "cudaArray",
    "warploom_mpi_request",
    "registration",
)
_LISTED = ("ncclComm", "ncclWindow_vidmem")  # lists of their own, and errors that NCCL documents
_FOLLOWED_NOWHERE = {
    "CUctx_st": "its number is the device's, and compared",
    "curandDiscreteDistribution_st": "no call takes it",
    "nvtxDomainRegistration_st": "nobody reads it",
    "nvtxStringRegistration_st": "nobody reads it",
}

_REFUSED_AT_CALLS = {
    "cublasLt.h", "cublasXt.h", "curand.h", "cusolverDn.h", "cusolverSp.h", "cusparse.h",
}  # fmt: skip
"""Headers of libraries that are not emulated: whoever calls one of their functions is stopped."""


@cache
def _built() -> EmulatorBuild:
    return build(BuildSpec(_PROGRAM))


def _run(argument: str, ranks: int) -> EmulatorRun:
    return run(_built(), RunOptions(ranks=ranks, args=(argument,)))


def _kinds(outcome: EmulatorRun) -> set[str]:
    return {found.kind for found in outcome.findings}


def test_each_type_of_handle_is_here() -> None:
    text = "\n".join(
        re.sub(r"//.*", "", path.read_text())
        for path in _HEADERS.rglob("*")
        if path.is_file() and path.name not in _REFUSED_AT_CALLS
    )
    defined = set(re.findall(r"\b(?:struct|class|union)\s+(\w+)\s*(?:final\s*)?[:{]", text))
    named = re.findall(r"\btypedef\s+(?:struct\s+)?(\w+)\s*\*\s*\w+\s*;", text)
    named += re.findall(r"\busing\s+\w+\s*=\s*(?:struct\s+)?(\w+)\s*\*\s*;", text)
    declared = set(re.findall(r"\bstruct\s+(\w+)\s*[;*]", text))
    handles = (set(named) & declared) - defined
    assert handles == {*_TABLES, *_LISTED, *_FOLLOWED_NOWHERE} - {"registration"}


@pytest.mark.parametrize("what", _TABLES)
def test_a_forged_handle_is_not_followed(what: str) -> None:
    outcome = _run(f"forged.{what}", 1)
    assert outcome.state == "stopped" and _kinds(outcome) == {"emulator_access"}, outcome
    assert what not in outcome.stdout


@pytest.mark.parametrize("what", _TABLES)
def test_a_destroyed_handle_is_told(what: str) -> None:
    assert "use_after_destroy" in _kinds(_run(f"destroyed.{what}", 1))


@pytest.mark.parametrize("what", [*_TABLES, "ncclComm"])
def test_a_handle_is_its_process_s(what: str) -> None:
    outcome = _run(f"foreign.{what}", 2)
    assert outcome.state == "stopped" and "foreign_memory" in _kinds(outcome), outcome


@pytest.mark.parametrize("what", _LISTED)
def test_a_forged_handle_of_nccl_is_an_error(what: str) -> None:
    outcome = _run(f"forged.{what}", 1)
    assert outcome.state == "finished" and outcome.exit_codes == {0: 0}, outcome


@pytest.mark.parametrize("ranks", [1, 2])
def test_handles_as_they_are_used(ranks: int) -> None:
    outcome = _run("good", ranks)
    assert outcome.state == "finished" and set(outcome.exit_codes.values()) == {0}, outcome
    assert _kinds(outcome) == set(), outcome.findings
