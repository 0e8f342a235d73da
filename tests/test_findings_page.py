"""docs/findings.md has every kind of finding that the emulator reports."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KIND = re.compile(r'(?:\.kind = |kind = |return \{)"([a-z_]{3,})"')


def test_every_kind_is_documented() -> None:
    runtime = ROOT / "src" / "warploom" / "emulator" / "runtime"
    kinds = {kind for path in runtime.glob("*.cpp") for kind in KIND.findall(path.read_text())}
    assert {"missing_wait", "deadlock", "collective_mismatch"} <= kinds
    page = (ROOT / "docs" / "findings.md").read_text()
    assert sorted(kind for kind in kinds if f"`{kind}`" not in page) == []
