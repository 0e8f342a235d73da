"""The runtime's headers go one way. (Of Python modules and folders, `lint-imports` holds it.)

A folder's headers include those of its own folder and of the folders before it, so that they can be
read in this order. Sources may include any: in a machine everything acts on everything.
"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "src" / "warploom" / "emulator" / "runtime"
ORDER = (
    "base", "metering", "schedule", "report", "host", "memory", "order", "machine",
    "cuda", "kernels", "access", "nccl", "network", "timing", "behavior", "mpi",
)  # fmt: skip
_INCLUDE = re.compile(r'^#include "([\w/]+\.h)"', re.MULTILINE)
HEADERS = {str(path.relative_to(RUNTIME)): path for path in RUNTIME.rglob("*.h")}
INCLUDED = {name: _INCLUDE.findall(path.read_text()) for name, path in HEADERS.items()}


def test_headers_form_no_ring() -> None:
    assert len(INCLUDED) > 100
    assert all(name in HEADERS for names in INCLUDED.values() for name in names)
    TopologicalSorter(INCLUDED).prepare()  # a CycleError names the ring


def test_folders_have_an_order() -> None:
    assert {path.name for path in RUNTIME.iterdir() if path.is_dir()} == set(ORDER)
    place = {folder: at for at, folder in enumerate(ORDER)}
    upward = [
        f"{name} includes {other}"
        for name, names in INCLUDED.items()
        for other in names
        if place[other.partition("/")[0]] > place[name.partition("/")[0]]
    ]
    assert upward == []
