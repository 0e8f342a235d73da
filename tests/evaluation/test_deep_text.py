"""Text that nests without end, or that never ends, is refused: the judge does not fall over it."""

import time
from pathlib import Path

import pytest
from test_legality_classes import added

from warploom.core.errors import SourceError
from warploom.core.records import BuildSpec
from warploom.emulator.building.build import build
from warploom.evaluation.legality.tokens import scan


@pytest.mark.parametrize("value", ["!" * 4000 + "1", "(" * 3000 + "1" + ")" * 3000])
def test_deep_conditions(value: str) -> None:
    assert added(f"#if {value}\n#endif")


def test_deep_expressions(tmp_path: Path) -> None:
    source = tmp_path / "deep.cu"
    chain = " + ".join(["x"] * 3000)
    source.write_text(f"__device__ inline int deep(int x) {{ return {chain}; }}\nint main() {{}}\n")
    with pytest.raises(SourceError, match="less deeply"):
        build(BuildSpec(source, timed=True))


def test_raw_strings_that_never_end() -> None:
    started = time.monotonic()
    seen = scan("int a;\n#if 0\n" + 'R"a(\n' * 20_000 + "#endif\n")
    assert len(seen.tricks) == 1
    assert time.monotonic() - started < 5
