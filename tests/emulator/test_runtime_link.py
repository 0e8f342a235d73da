"""The runtime has a C++ library of its own, or is not built."""

from pathlib import Path

import pytest

from warploom.core.errors import MissingToolError, ToolFailedError
from warploom.core.process import ProcessResult
from warploom.emulator.building import runtime_build
from warploom.toolchain.compilers import Compiler

LINKER = Compiler(("g++",), "gcc", 12, "gcc 12")


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("/usr/bin/ld: cannot find -lstdc++: No such file or directory", MissingToolError),
        ("ld.lld: error: unable to find library -lstdc++", MissingToolError),
        ("/usr/bin/ld: undefined reference to `x'", ToolFailedError),
    ],
)
def test_a_failed_link_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: str, error: type[Exception]
):
    calls: list[list[str]] = []

    def link(compiler: Compiler, arguments: list[str], *rest: object) -> ProcessResult:
        calls.append([str(argument) for argument in arguments])
        return ProcessResult(1, None, b"", log.encode(), False, None, 0.1, 1, 1)

    monkeypatch.setattr(runtime_build, "run_compiler", link)
    with pytest.raises(error) as caught:
        runtime_build._link(LINKER, [], tmp_path)
    assert len(calls) == 1 and "-static-libstdc++" in calls[0]
    if error is MissingToolError:
        assert "libstdc++-static" in caught.value.hint
