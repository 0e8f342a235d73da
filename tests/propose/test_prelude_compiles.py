"""The real compiler takes the code that transformed programs carry."""

import os
from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError
from warploom.core.records import Api, BuildSpec
from warploom.propose.rules.prelude import CREATIONS, LAUNCHERS, MEMORY, PreludeSpec, render
from warploom.toolchain.nccl import find_nccl
from warploom.toolchain.nvcc import compile_gate, find_nvcc


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
            api, frozenset(LAUNCHERS), memory=frozenset(MEMORY), creations=frozenset(CREATIONS),
            many_devices=True, threads=True, captures=True, scales=True,
        )
    )  # fmt: skip
    program.write_text(text + "int main() { return 0; }\n")
    result = compile_gate(BuildSpec(program), version)
    assert result.ok, result
