"""The wheel holds what an installed warploom needs, and nothing else."""

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_holds_the_package_and_its_data(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = ROOT / "src" / "warploom"
    expected = {
        f"warploom/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    pages = {f"warploom/findings/{path.name}" for path in (ROOT / "docs/findings").glob("*.md")}
    assert inside == expected | pages
    for needed in (
        "emulator/runtime/machine/main.cpp",
        "emulator/include/nccl.h",
        "findings/missing_wait.md",
        "py.typed",
    ):
        assert f"warploom/{needed}" in inside
